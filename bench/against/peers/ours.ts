// Our own node, or three of them, as a system among the others.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutRoot } from '../../checkout.js';
import { NodeGroup } from '../../cluster/node-group.js';
import { HttpExchange } from '../../http-exchange.js';
import { QUEUE, type RunningSystem, type SystemPlan } from './system.js';

export async function startOurs(
  { scratch, nodes }: SystemPlan,
  entry: string | undefined,
): Promise<RunningSystem> {
  const group = await NodeGroup.start(scratch, nodes, entry);
  const leader = await group.leader();
  return {
    contender: {
      system: 'ours',
      setting: 'durable',
      nodes,
      version: ownVersion(),
      label: 'one queue; a pop and an ack for each batch; acknowledged = synced by a majority',
    },
    target: {
      protocol: 'http',
      ports: group.nodes.map((node) => node.process.plan.port),
      queue: QUEUE,
      kind: '',
    },
    pids: group.nodes.map((node) => node.process.pid),
    create: async () => undefined,
    remove: async () => {
      const exchange = new HttpExchange(leader.process.address);
      try {
        const path = `/api/v1/resources/queues/${QUEUE}`;
        const { status, body } = await exchange.request('DELETE', path, undefined, 60_000);
        if (status !== 200) throw new Error(`DELETE ${path}: ${status} ${body.toString('utf8')}`);
      } finally {
        exchange.close();
      }
    },
    stop: () => group.end(),
  };
}

function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(checkoutRoot(), 'package.json'), 'utf8'));
  const version =
    manifest !== null && typeof manifest === 'object' && Reflect.get(manifest, 'version');
  return typeof version === 'string' ? version : 'unknown';
}
