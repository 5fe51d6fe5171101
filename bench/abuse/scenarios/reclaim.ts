// Reclaiming the log: old unread messages in many partitions lie behind a large queue that goes.
// Traffic hides the fault, so nobody else is at work.

import { stay } from '../flood.js';
import { fillItems, item, partitionItems, payloadOf, pushText } from '../requests.js';
import type { AttackContext, Scenario } from '../scenario.js';

const UNREAD = 30_000;
const LARGE_BYTES = 30 * 1024 * 1024;
const LARGE_MESSAGES = 12;

async function fillLog(context: AttackContext): Promise<void> {
  await fillItems(context, partitionItems('unread', 'p', UNREAD), 100);
  const body = pushText([item('large', 'p', payloadOf(LARGE_BYTES))]);
  for (let index = 0; index < LARGE_MESSAGES; index += 1) {
    await context.ask('POST', '/api/v1/push', body);
  }
}

async function deleteLarge(context: AttackContext): Promise<void> {
  await context.ask('DELETE', '/api/v1/resources/queues/large');
  await stay(context);
  const depth = await context.ask('GET', '/api/v1/resources/queues/unread');
  context.check('unread messages stay', depth.status === 200, `${depth.status}`);
}

export const RECLAIM: readonly Scenario[] = [
  {
    name: 'quiet-reclaim',
    does: 'deletes 360 MiB behind 30,000 unread messages of as many partitions, in silence',
    kind: 'reclaiming the log',
    against: ['node', 'cluster'],
    isQuiet: true,
    seconds: 40,
    fill: fillLog,
    attack: deleteLarge,
  },
];
