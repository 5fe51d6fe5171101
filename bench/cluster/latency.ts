// Single pushes to one node at a steady rate.

import { pushRequests } from '../load/push-requests.js';
import type { Contestant } from '../load/side-by-side.js';
import type { GroupNode } from '../rig/node-group.js';

const CONNECTIONS = 32;
const PARTITIONS = 64;
const PAYLOAD_BYTES = 256;

export function steadyPushes(
  name: string,
  node: GroupNode,
  queue: string,
  ratePerSecond: number,
): Contestant {
  const load = {
    protocol: 'http',
    ports: [node.process.plan.port],
    queue,
    kind: '',
    work: 'publish',
    items: pushRequests(queue, PARTITIONS, 1, PAYLOAD_BYTES),
    connections: CONNECTIONS,
    batch: 1,
    ratePerSecond,
  } as const;
  return { name, loadOf: () => load, pids: [node.process.pid] };
}
