/** The parts with which a cluster follows another one, and the way between them. */
import type { SeededRandom } from '../seeded-random.js';
import type { Cluster } from './cluster.js';
import type { SimulatedLoop } from './simulated-loop.js';
import { SourceNetwork } from './source-network.js';

const TOKEN = 'simulated';

export const SOURCE_ENVIRONMENT = { SVC_LINK_TOKEN: TOKEN, SVC_LINK_HOLD_DISK_PCT: '100' };

/** `machines`: of the source. */
export function standbyEnvironment(machines: number, random: SeededRandom) {
  const nodes = Array.from({ length: machines }, (_, i) => `node-${i + 1}:7400`);
  return {
    SVC_LINK_SOURCE: nodes.join(','),
    SVC_LINK_SOURCE_TOKEN: TOKEN,
    SVC_LINK_STANDBY: 'true',
    SVC_LINK_PIPELINE: `${random.pick([1, 2, 3, 64])}`,
  };
}

/** The clusters are asked for later: each is made with its side of the way. */
export function wayBetween(
  loop: SimulatedLoop,
  random: SeededRandom,
  source: () => Cluster,
  standby: () => Cluster,
): SourceNetwork {
  return new SourceNetwork({
    loop,
    random,
    source: {
      enter: (machine, work) => source().machine(machine).enter(work),
      machineAt: (address) => Number(/^node-(\d+):/.exec(address)?.[1] ?? 0),
      read: (machine, request, sink) => {
        const reads = source().machine(machine).node?.parts.sourceReads ?? null;
        return reads === null ? null : reads.read(request, sink);
      },
    },
    standby: { enter: (machine, work) => standby().machine(machine).enter(work) },
  });
}

/** Every node of the source knows of a reader. */
export function isHeld({ voters, machines }: Cluster): boolean {
  return voters.every((number) => {
    const readers = machines[number - 1]?.node?.parts.holds?.readers();
    return readers !== undefined && readers.length > 0;
  });
}

/** The status of the leader of a standby, at this position. */
export function followerOf({ operator }: Cluster, position: number) {
  const { node } = operator?.leader ?? {};
  return node?.parts.follower?.view({ index: position, stampUs: 0 }) ?? null;
}
