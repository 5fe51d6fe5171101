// New names: a queue or a partition that is made costs far more than an item of a known one.

import { BULK_LOAD_MS_MAX } from '../bounds.js';
import { flood } from '../flood.js';
import { fillItems, item, partitionItems, pop, post, push, queueItems } from '../requests.js';
import type { AttackContext, Scenario } from '../scenario.js';

const KIND = 'new names';
const BOTH = ['node', 'cluster'] as const;
const MANY = 100_000;

/** One call, answered with success in the time of a bulk load. */
async function bulk(context: AttackContext, request: Uint8Array): Promise<void> {
  const { status, ms, start } = await context.once(request, 2 * BULK_LOAD_MS_MAX);
  const held = (status === 201 || status === 200) && ms <= BULK_LOAD_MS_MAX;
  context.say(`bulk load: ${status} after ${Math.round(ms)} ms`);
  context.check('bulk load', held, `${status} after ${Math.round(ms)} ms ${start.slice(0, 80)}`);
}

/** One call that is either done or refused with a reason; not one that ends in a time limit. */
async function decided(context: AttackContext, path: string, body: string): Promise<void> {
  const { status, ms, start } = await context.once(post(path, body), 2 * BULK_LOAD_MS_MAX);
  const held = status === 200 || status === 201 || status === 413;
  context.say(`${status} after ${Math.round(ms)} ms: ${start.slice(0, 100)}`);
  context.check(path, held, `${status} after ${Math.round(ms)} ms ${start.slice(0, 80)}`);
}

function transaction(items: readonly string[]): string {
  return `{"operations":[{"type":"push","items":[${items.join(',')}]}]}`;
}

interface Registered {
  readonly query_id: string;
}

async function registerStream(context: AttackContext): Promise<void> {
  await context.ask('POST', '/api/v1/push', `{"items":[${item('source', 'p', '0')}]}`);
}

/** Registering again answers the same id, so the attack needs nothing of the filling. */
async function streamCycles(context: AttackContext): Promise<void> {
  const query = '{"name":"fold","source_queue":"source","config_hash":"h"}';
  const registered = await context.ask('POST', '/streams/v1/queries', query);
  const { query_id } = JSON.parse(registered.body.toString('utf8')) as Registered;
  for (let round = 0; !context.isOver(); round += 1) {
    const items = partitionItems('sink', `r${round}-`, 50_000).map((text, index) =>
      text.replace('"payload"', `"transactionId":"t${round}-${index}","payload"`),
    );
    const scope = `"query_id":"${query_id}","partition_id":"1","ack":null`;
    const body = `{${scope},"push_items":[${items.join(',')}]}`;
    await decided(context, '/streams/v1/cycle', body);
  }
}

/** Each under a transaction id and a partition that nobody knows. */
function unknownAcks(prefix: string, count: number): string {
  const acks = Array.from(
    { length: count },
    (_, index) => `{"transactionId":"t${index}","partitionId":"${prefix}${index}"}`,
  );
  return `{"consumerGroup":"nobody","acknowledgments":[${acks.join(',')}]}`;
}

export const NAMES: readonly Scenario[] = [
  {
    name: 'new-partitions',
    does: 'pushes one call of 100,000 items, each in a new partition',
    kind: KIND,
    against: BOTH,
    attack: (context) => bulk(context, push(partitionItems('bulk', 'p', MANY))),
  },
  {
    name: 'new-queues',
    does: 'pushes one call of 100,000 items, each in a new queue',
    kind: KIND,
    against: BOTH,
    attack: (context) => decided(context, '/api/v1/push', `{"items":[${queueItems('q', MANY)}]}`),
  },
  {
    name: 'new-partitions-transaction',
    does: 'sends a transaction that pushes to 100,000 new partitions',
    kind: KIND,
    against: BOTH,
    attack: (context) =>
      decided(context, '/api/v1/transaction', transaction(partitionItems('bulk', 'p', MANY))),
  },
  {
    name: 'stream-cycle-names',
    does: 'sends stream cycles that each push to 50,000 new partitions',
    kind: KIND,
    against: BOTH,
    fill: registerStream,
    attack: streamCycles,
  },
  {
    name: 'unknown-acks',
    does: 'acknowledges messages of 100,000 unknown partitions a call, from two clients',
    kind: KIND,
    against: BOTH,
    attack: (context) => {
      const bodies = ['1', '90'].map((prefix) => unknownAcks(prefix, MANY));
      const requests = bodies.map((body) => post('/api/v1/ack/batch', body));
      return flood(context, { clients: 2, request: (client) => requests[client] ?? null });
    },
  },
  {
    name: 'new-partitions-ten',
    does: 'pushes calls of 5,000 new partitions from ten clients at once, again and again',
    kind: KIND,
    against: BOTH,
    attack: (context) =>
      flood(context, {
        clients: 10,
        request: (client, round) => push(partitionItems('ten', `${client}-${round}-`, 5000)),
      }),
  },
  {
    name: 'new-queues-trickle',
    does: 'pushes one new queue a call from 32 clients',
    kind: KIND,
    against: BOTH,
    attack: (context) =>
      flood(context, {
        clients: 32,
        request: (client, round) => push([item(`trickle-${client}-${round}`, 'p', '0')]),
      }),
  },
  {
    name: 'new-groups',
    does: 'pops under a new consumer group each time over 1,000 partitions, from 32 clients',
    kind: KIND,
    against: BOTH,
    fill: (context) => fillItems(context, partitionItems('many', 'p', 1000)),
    attack: (context) =>
      flood(context, {
        clients: 32,
        request: (client, round) => pop('many', `g${client}-${round}`, '&batch=1'),
      }),
  },
  {
    name: 'configure-flood',
    does: 'configures a new queue a call from 32 clients',
    kind: KIND,
    against: ['node'],
    attack: (context) =>
      flood(context, {
        clients: 32,
        request: (client, round) =>
          post('/api/v1/configure', `{"queue":"c${client}-${round}","options":{"leaseTime":60}}`),
      }),
  },
];
