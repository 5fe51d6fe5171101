// Key/value, locks, timers, ephemeral queues, and the commands that walk a whole queue.

import { setTimeout as sleep } from 'node:timers/promises';
import { requestBytes } from '../../rig/http-connection.js';
import { flood, stay } from '../flood.js';
import {
  fillCalls,
  fillItems,
  get,
  item,
  partitionItems,
  payloadOf,
  pop,
  post,
  push,
} from '../requests.js';
import type { AttackContext, Scenario } from '../scenario.js';

const KIND = 'surfaces';
const BOTH = ['node', 'cluster'] as const;
/** The rates of key/value calls are lifted where the attack is not about them. */
const NO_RATES = {
  SVC_KV_READ_RATE: '1000000',
  SVC_KV_READ_BURST: '1000000',
  SVC_KV_WRITE_RATE: '1000000',
  SVC_KV_WRITE_BURST: '1000000',
};

function puts(client: number, count: number, valueBytes: number): string {
  const value = payloadOf(valueBytes);
  const operations = Array.from(
    { length: count },
    (_, index) =>
      `{"op":"put","ns":"abuse","key":"k${client}-${index}","value":${value},"forever":true}`,
  );
  return `[${operations.join(',')}]`;
}

const TIMERS = 100_000;
const TIMERS_PER_CALL = 250;
const TIMERS_DUE_MS = 2000;

/** All come due at one instant, some seconds after the attack began. */
async function timersDue(context: AttackContext): Promise<void> {
  const beganMs = performance.now();
  await flood(context, {
    clients: 8,
    request: (client, round) => {
      if (round * 8 >= TIMERS / TIMERS_PER_CALL) return null;
      const delayMs = Math.max(0, TIMERS_DUE_MS - (performance.now() - beganMs));
      const operations = Array.from({ length: TIMERS_PER_CALL }, (_, index) => {
        const name = `${client}-${round}-${index}`;
        return (
          `{"op":"schedule","queue":"rung","partition":"p${index}","timerKey":"${name}",` +
          `"delayMs":${Math.round(delayMs)},"txn":"${name}","payload":"e30="}`
        );
      });
      return post('/api/v1/timers', `[${operations.join(',')}]`);
    },
  });
  await stay(context);
}

const FAN = 'batch=1000&wait=true&timeout=30000&autoAck=true';
const LOCK_OPS = 64;

function acquires(client: number, round: number): string {
  const operations = Array.from({ length: LOCK_OPS }, (_, index) => {
    const name = `l${(round * LOCK_OPS + index) % 5000}`;
    return `{"op":"acquire","name":"${name}","owner":"w${client}","ttlSeconds":5}`;
  });
  return `[${operations.join(',')}]`;
}

function ephemeralPush(client: number, round: number): Buffer {
  const messages = Array.from({ length: 100 }, () => `{"payload":${payloadOf(10_000)}}`);
  const place = `"queue":"e${client}-${round % 500}","partition":"p${round}"`;
  return post('/api/v1/ephemeral/push', `{${place},"messages":[${messages.join(',')}]}`);
}

export const SURFACES: readonly Scenario[] = [
  {
    name: 'kv-large',
    does: 'puts 64 values of 64 KiB a call from 32 clients, with the rates lifted',
    kind: KIND,
    against: BOTH,
    environment: NO_RATES,
    attack: (context) => {
      const requests = Array.from({ length: 32 }, (_, client) =>
        post('/api/v1/kv', puts(client, 64, 65_000)),
      );
      return flood(context, { clients: 32, request: (client) => requests[client] ?? null });
    },
  },
  {
    name: 'kv-rates',
    does: 'puts and reads small values from 64 clients, at the rates of a default node',
    kind: KIND,
    against: ['node'],
    attack: (context) =>
      flood(context, {
        clients: 64,
        request: (client, round) =>
          round % 2 === 0
            ? post('/api/v1/kv', puts(client, 10, 100))
            : get(`/api/v1/kv/abuse/k${client}-1`),
      }),
  },
  {
    name: 'prefix-reads',
    does: 'reads pages of large values by prefix from 60 clients, with the rates lifted',
    kind: KIND,
    against: ['node'],
    environment: NO_RATES,
    fill: (context) =>
      fillCalls(context, 16, (index) => ['POST', '/api/v1/kv', puts(index, 64, 65_000)]),
    attack: (context) => {
      const read = post(
        '/api/v1/kv',
        '[{"op":"getPrefix","ns":"abuse","prefix":"k","limit":1000}]',
      );
      return flood(context, { clients: 60, request: () => read });
    },
  },
  {
    name: 'locks-storm',
    does: 'acquires 64 locks a call from 32 clients, with the rates lifted',
    kind: KIND,
    against: BOTH,
    environment: NO_RATES,
    attack: (context) =>
      flood(context, {
        clients: 32,
        request: (client, round) => post('/api/v1/locks', acquires(client, round)),
      }),
  },
  {
    name: 'timers-due',
    does: `lets ${TIMERS.toLocaleString('en-US')} timers come due at one instant`,
    kind: KIND,
    against: BOTH,
    environment: NO_RATES,
    seconds: 15,
    attack: timersDue,
  },
  {
    name: 'ephemeral-flood',
    does: 'pushes 1 MB a call to ephemeral queues, new ones all the time, from 16 clients',
    kind: KIND,
    against: ['node', 'cluster'],
    attack: (context) => flood(context, { clients: 16, request: ephemeralPush }),
  },
  {
    name: 'ephemeral-parked',
    does: 'parks pops of 500 groups on an ephemeral queue and pushes 1 MB to it again and again',
    kind: KIND,
    against: ['node'],
    attack: async (context) => {
      const pops = flood(context, {
        clients: 500,
        request: (client) => get(`/api/v1/ephemeral/pop?queue=fan&group=g${client}&${FAN}`),
      });
      await sleep(1000);
      const messages = Array.from({ length: 100 }, () => `{"payload":${payloadOf(10_000)}}`);
      const request = post(
        '/api/v1/ephemeral/push',
        `{"queue":"fan","messages":[${messages.join(',')}]}`,
      );
      await flood(context, { clients: 1, pauseMs: 200, request: () => request });
      await pops;
    },
  },
  {
    name: 'wildcard-pops',
    does: 'pops any queue of a namespace with 100,000 partitions from 50 clients',
    kind: KIND,
    against: ['node'],
    fill: async (context) => {
      const body = '{"queue":"any","options":{"namespace":"all"}}';
      await context.ask('POST', '/api/v1/configure', body);
      await fillItems(context, partitionItems('any', 'p', 100_000));
    },
    attack: (context) =>
      flood(context, {
        clients: 50,
        request: (client, round) =>
          get(`/api/v1/pop?namespace=all&consumerGroup=c${client}-${round % 3}&batch=100`),
      }),
  },
  {
    name: 'seek-storm',
    does: 'seeks a group over 100,000 partitions to the end and back from four clients',
    kind: KIND,
    against: BOTH,
    fill: (context) => fillItems(context, partitionItems('sought', 'p', 100_000)),
    attack: (context) =>
      flood(context, {
        clients: 4,
        request: (client, round) =>
          post(
            `/api/v1/consumer-groups/s${client}/queues/sought/seek`,
            round % 2 === 0 ? '{"toEnd":true}' : '{"timestamp":"2020-01-01T00:00:00Z"}',
          ),
      }),
  },
  {
    name: 'queue-deletes',
    does: 'makes queues of 5,000 partitions and deletes them from four clients',
    kind: KIND,
    against: BOTH,
    attack: (context) =>
      flood(context, {
        clients: 4,
        request: (client, round) =>
          round % 2 === 0
            ? push(partitionItems(`deleted${client}`, 'p', 5000))
            : requestBytes('DELETE', `/api/v1/resources/queues/deleted${client}`),
      }),
  },
  {
    name: 'retention',
    does: 'lets one second of retention end for 100,000 appends of one partition',
    kind: KIND,
    against: ['node'],
    seconds: 15,
    fill: (context) =>
      fillCalls(
        context,
        100_000,
        () => ['POST', '/api/v1/push', `{"items":[${item('kept', 'p', '0')}]}`],
        64,
      ),
    attack: async (context) => {
      const options = '{"retentionEnabled":true,"retentionSeconds":1}';
      const body = `{"queue":"kept","options":${options}}`;
      const { status } = await context.once(post('/api/v1/configure', body));
      context.check('configure', status === 200 || status === 201, `${status}`);
      await stay(context);
    },
  },
  {
    name: 'groups-by-partitions',
    does: 'lets 1,000 consumer groups pop from 1,000 partitions, 64 at a time',
    kind: KIND,
    against: ['node'],
    seconds: 12,
    fill: (context) => fillItems(context, partitionItems('grid', 'p', 1000)),
    attack: (context) =>
      flood(context, {
        clients: 64,
        request: (client, round) =>
          pop('grid', `g${(client * 16 + round) % 1000}`, '&batch=100&partitions=100&autoAck=true'),
      }),
  },
  {
    name: 'dedup-window',
    does: 'pushes 10,000 new transaction ids a call from eight clients',
    kind: KIND,
    against: BOTH,
    attack: (context) =>
      flood(context, {
        clients: 8,
        request: (client, round) =>
          push(
            Array.from({ length: 10_000 }, (_, index) => {
              const id = `${client}-${round}-${index}`;
              return `{"queue":"ids","partition":"p${client}","transactionId":"${id}","payload":0}`;
            }),
          ),
      }),
  },
];
