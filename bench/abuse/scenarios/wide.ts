// Calls that are as wide as the limits table allows: many partitions, many positions, one item as
// long as a body.

import { flood } from '../flood.js';
import { fillItems, item, partitionItems, payloadOf, post, push, pushText } from '../requests.js';
import type { AttackContext, Scenario } from '../scenario.js';

const KIND = 'wide calls';
const BOTH = ['node', 'cluster'] as const;
const POSITIONS = 16_384;

/** The same wide push several times: the first makes its partitions, the others meet them. */
async function widePushes(context: AttackContext, count: number): Promise<void> {
  const request = push(partitionItems('wide', 'p', count));
  while (!context.isOver()) {
    const { status, ms } = await context.once(request);
    context.say(`${count} items: ${status} after ${Math.round(ms)} ms`);
    context.check('wide push', status === 201, `${status} after ${Math.round(ms)} ms`);
  }
}

function wide(count: number): Scenario {
  return {
    name: `wide-push-${count}`,
    does: `pushes ${count.toLocaleString('en-US')} items in as many partitions, again and again`,
    kind: KIND,
    against: BOTH,
    attack: (context) => widePushes(context, count),
  };
}

function positionsBody(offset: number): string {
  const positions = Array.from(
    { length: POSITIONS },
    (_, index) =>
      `{"queue":"placed","partition":"p${index}","consumerGroup":"reader","offset":${offset}}`,
  );
  return `{"positions":[${positions.join(',')}]}`;
}

/** Pushes, keys, positions and timers in one call, each list near its bound. */
function maximalTransaction(client: number): Buffer {
  const items = Array.from({ length: 10_000 }, (_, index) =>
    item('maximal', `p${index % 500}`, `{"client":${client}}`),
  );
  const value = payloadOf(30_000);
  const kv = Array.from({ length: 64 }, (_, index) => {
    const key = `k${client}-${index}`;
    return `{"op":"put","ns":"maximal","key":"${key}","value":${value},"forever":true}`;
  });
  const operations = `[{"type":"push","items":[${items.join(',')}]}]`;
  return post('/api/v1/transaction', `{"operations":${operations},"kv":[${kv.join(',')}]}`);
}

export const WIDE: readonly Scenario[] = [
  wide(20_000),
  wide(40_000),
  {
    name: 'wide-positions',
    does: 'sets 16,384 positions a transaction, one after the other',
    kind: KIND,
    against: BOTH,
    fill: (context) => fillItems(context, partitionItems('placed', 'p', POSITIONS)),
    attack: async (context) => {
      const requests = [0, 1].map((offset) => post('/api/v1/transaction', positionsBody(offset)));
      for (let round = 0; !context.isOver(); round += 1) {
        const { status, start } = await context.once(requests[round % 2] ?? '');
        const held = status === 200 && start.includes('"success":true');
        context.check('positions', held, `${status} ${start.slice(0, 100)}`);
      }
    },
  },
  {
    name: 'one-large-item',
    does: 'pushes one item of 60 MB a call, one call after the other',
    kind: KIND,
    against: BOTH,
    attack: async (context) => {
      const request = push([item('large', 'p', payloadOf(60_000_000))]);
      while (!context.isOver()) {
        const { status, ms } = await context.once(request);
        context.check('large item', status === 201, `${status} after ${Math.round(ms)} ms`);
      }
    },
  },
  {
    name: 'large-bodies',
    does: 'pushes bodies of 64 MiB from 16 clients at once',
    kind: KIND,
    against: BOTH,
    attack: (context) => {
      const frame = pushText([item('bodies', 'p', '""')]).length;
      const request = push([item('bodies', 'p', payloadOf(64 * 1024 * 1024 - frame))]);
      return flood(context, { clients: 16, request: () => request });
    },
  },
  {
    name: 'many-items',
    does: 'pushes 100,000 small items of one partition a call from four clients',
    kind: KIND,
    against: BOTH,
    attack: (context) => {
      const request = push(Array.from({ length: 100_000 }, () => item('items', 'p', '0')));
      return flood(context, { clients: 4, request: () => request });
    },
  },
  {
    name: 'maximal-transactions',
    does: 'sends transactions with 10,000 items and 64 keys of 30 KB from eight clients',
    kind: KIND,
    against: BOTH,
    attack: (context) => {
      const requests = Array.from({ length: 8 }, (_, client) => maximalTransaction(client));
      return flood(context, { clients: 8, request: (client) => requests[client] ?? null });
    },
  },
  {
    name: 'deep-json',
    does: 'pushes bodies of 30 MB that are nothing but brackets, and of numbers, from four clients',
    kind: KIND,
    against: ['node'],
    attack: (context) => {
      const deep = post('/api/v1/push', '['.repeat(30_000_000));
      const numbers = post('/api/v1/push', `{"items":[${'0,'.repeat(15_000_000)}0]}`);
      return flood(context, {
        clients: 4,
        request: (client) => (client % 2 === 0 ? deep : numbers),
      });
    },
  },
];
