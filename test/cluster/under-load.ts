/** A scenario: a cluster, the whole load on it, what is done to it meanwhile, the judgement. */
import { SeededRandom } from '../seeded-random.js';
import { type Cluster, type ClusterSettings, withCluster } from './cluster.js';
import { JudgedLoad, type LoadResult } from './judged-load.js';
import { Membership } from './membership.js';

export interface Scenario {
  readonly cluster: Cluster;
  readonly membership: Membership;
  readonly load: JudgedLoad;
  readonly random: SeededRandom;
}

/**
 * `before` happens before the load begins, and `act` under it; it ends with all nodes well that are
 * still there.
 */
export async function underLoad<Prepared>(
  seed: number,
  settings: ClusterSettings,
  act: (scenario: Scenario, prepared: Prepared | null) => Promise<void>,
  before: (cluster: Cluster) => Promise<Prepared> | null = () => null,
): Promise<LoadResult> {
  const random = new SeededRandom(seed);
  let verdict: LoadResult | null = null;
  await withCluster(settings, async (cluster) => {
    await cluster.startAll();
    const prepared = await before(cluster);
    const load = new JudgedLoad(cluster, { random: random.fork() });
    load.start();
    let judged = false;
    try {
      await load.progress();
      await act({ cluster, membership: new Membership(cluster), load, random }, prepared);
      await cluster.ready();
      await load.progress();
      verdict = await load.judge();
      judged = true;
    } finally {
      // The nodes may be in any state; clients whose requests hang end by their own time-outs.
      if (!judged) void load.abandon();
    }
  });
  if (verdict === null) throw new Error('the scenario was not judged');
  return verdict;
}
