// What a push costs more at a node that has to forward it: the median at a follower less the median
// at the leader, in turn.

import { sideBySide } from '../load/side-by-side.js';
import { atMost, type Figure, figure } from '../report/figure.js';
import type { ClusterRun } from './cluster-run.js';
import { steadyPushes } from './latency.js';

/** Code that has not run often is several times slower. */
const WARM_UP_SECONDS = 15;

export async function measureDistance(run: ClusterRun): Promise<readonly Figure[]> {
  const { rounds, seconds, ratePerSecond } = run.options;
  return run.withGroup(async (group) => {
    const leader = await group.leader();
    const [follower = leader] = await group.followers();
    const contestants = [
      steadyPushes('leader', leader, 'distance', ratePerSecond),
      steadyPushes('follower', follower, 'distance', ratePerSecond),
    ];
    const plan = { rounds, seconds, warmUpSeconds: WARM_UP_SECONDS };
    const tallies = await sideBySide(run.program, contestants, plan);
    const note = `${ratePerSecond} single pushes/s, from the moment each was due`;
    const [atLeader = [], atFollower = []] = tallies.map((tally) => tally.rounds);
    const more = atFollower.map(
      ({ latency }, i) => latency.p50Ms - (atLeader[i]?.latency.p50Ms ?? 0),
    );
    return [
      ...tallies.flatMap(({ name, rounds: all }) => [
        figure(
          `push p50 at the ${name}`,
          'ms',
          all.map(({ latency }) => latency.p50Ms),
          note,
        ),
        figure(
          `push p99 at the ${name}`,
          'ms',
          all.map(({ latency }) => latency.p99Ms),
          note,
        ),
      ]),
      figure('push p50, follower less leader', 'ms', more, note, atMost(1)),
    ];
  });
}
