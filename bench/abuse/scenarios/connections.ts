// Connections: many that say nothing, many that wait, and some that take their time.

import { ATTACKER_HOST } from '../attack-socket.js';
import { flood, openMany, stay } from '../flood.js';
import { get } from '../requests.js';
import type { AttackContext, Scenario } from '../scenario.js';

const KIND = 'connections';
/** Opened in addition to what the limit of open files allows. */
const BEYOND_LIMIT = 400;
/** A machine may allow fewer open files; what it refuses is counted. */
const PARKED = 20_000;

function idle(openFiles: number): Scenario {
  return {
    name: `idle-connections-${openFiles}`,
    does: `opens ${openFiles + BEYOND_LIMIT} silent connections, with ${openFiles} open files`,
    kind: KIND,
    against: ['node'],
    openFiles,
    attack: async (context) => {
      const opened = await openMany(context, openFiles + BEYOND_LIMIT, () => undefined);
      context.count('opened', opened.length);
      await stay(context);
    },
  };
}

async function parkPops(context: AttackContext): Promise<void> {
  const pop = get('/api/v1/pop/queue/nothing?consumerGroup=parked&wait=true&timeout=60000');
  const opened = await openMany(context, PARKED, (socket) => socket.send(pop));
  context.count('opened', opened.length);
  await stay(context);
}

const HALF_HEAD = `GET /health HTTP/1.1\r\nHost: ${ATTACKER_HOST}\r\nX-Slow: `;
const LONG_BODY =
  'POST /api/v1/push HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
  'Content-Length: 67108864\r\n\r\n{"items":[';

/** Connections that send one byte after the other, of what `start` begins. */
async function trickle(context: AttackContext, count: number, start: string): Promise<void> {
  const opened = await openMany(context, count, (socket) => socket.send(start));
  context.count('opened', opened.length);
  while (!context.isOver()) {
    await stay(context, 250);
    for (const socket of opened) socket.send(' ');
  }
  context.count('cut off by the node', opened.filter((socket) => socket.closed).length);
}

export const CONNECTIONS: readonly Scenario[] = [
  idle(256),
  idle(1024),
  {
    name: 'parked-pops',
    does: 'parks pops on 20,000 connections, or as many as the machine allows',
    kind: KIND,
    against: ['node'],
    seconds: 20,
    attack: parkPops,
  },
  {
    name: 'slow-heads',
    does: 'sends the heads of 2,000 requests byte by byte',
    kind: KIND,
    against: ['node'],
    seconds: 12,
    attack: (context) => trickle(context, 2000, HALF_HEAD),
  },
  {
    name: 'slow-bodies',
    does: 'announces 500 bodies of 64 MiB and sends them byte by byte',
    kind: KIND,
    against: ['node'],
    seconds: 12,
    attack: (context) => trickle(context, 500, LONG_BODY),
  },
  {
    name: 'connection-churn',
    does: 'opens a connection for each of its requests, 64 at a time',
    kind: KIND,
    against: ['node'],
    attack: async (context) => {
      const clients = Array.from({ length: 64 }, async () => {
        while (!context.isOver()) await context.once(get('/health'));
      });
      await Promise.all(clients);
    },
  },
  {
    name: 'health-flood',
    does: 'asks /health on 64 connections as fast as it is answered',
    kind: KIND,
    against: ['node'],
    attack: (context) => flood(context, { clients: 64, request: () => get('/health') }),
  },
];
