// The loads that a system gets. `push` is one push of a batch to one of the partitions in turn;
// `consume` pushes, pops and acknowledges at the same time, half of the connections on each side;
// `joined` is the same, and each acknowledgement of ours comes with the next pop, in one request;
// `latency` is single pushes at a steady rate, each timed from the moment it was due to leave.

import type { Load, LoadTarget } from '../native/load-program.js';
import { requestBytes } from '../rig/http-connection.js';
import type { LoadOptions } from './options.js';
import { partitionName, payloadTexts, pushRequests } from './push-requests.js';

export const WORKS = [
  'push',
  'consume',
  'joined',
  'latency',
  'kv',
  'transactions',
  'timers',
] as const;
export type Work = (typeof WORKS)[number];

/** What other systems can do as well. */
export const SHARED_WORKS = [
  'push',
  'consume',
  'joined',
  'latency',
] as const satisfies readonly Work[];

/** What leaves nothing behind on a node that is not ours. */
export const REMOTE_WORKS = [...SHARED_WORKS, 'kv', 'transactions'] as const satisfies Work[];

export const WORK_TEXTS: { readonly [work in Work]: string } = {
  push: 'push',
  consume: 'push, pop, ack',
  joined: 'push, ack with pop',
  latency: 'push at a steady rate',
  kv: 'keys put',
  transactions: 'transactions',
  timers: 'timers scheduled',
};

/** One load of a run. */
export interface Cell {
  readonly work: Work;
  readonly payloadBytes: number;
  /** Messages of a push, a pop and an acknowledgement; operations of a call. */
  readonly batch: number;
}

/** Small and large payloads alternate: a disk takes a burst faster than it goes on. */
export function cellsOf({ works, batches, payloads }: LoadOptions): readonly Cell[] {
  return works.flatMap((work) => {
    const all = work === 'latency' || work === 'transactions' ? [1] : batches;
    return all.flatMap((batch) => payloads.map((payloadBytes) => ({ work, payloadBytes, batch })));
  });
}

export function loadOf(target: LoadTarget, cell: Cell, options: LoadOptions): Load {
  const { connections, partitions, ratePerSecond } = options;
  const { work, payloadBytes, batch } = cell;
  const base = { ...target, connections, batch };
  switch (work) {
    case 'push':
    case 'consume':
    case 'joined':
    case 'latency': {
      const items =
        target.protocol === 'http'
          ? pushRequests(target.queue, partitions, batch, payloadBytes, target.token)
          : payloadTexts(100, payloadBytes).map((text) => Buffer.from(text));
      if (work === 'consume') return { ...base, work, items };
      if (work === 'joined') {
        // The others consume as they do in `consume`: they have no second way.
        const kind = target.protocol === 'http' ? 'joined' : target.kind;
        return { ...base, work: 'consume', kind, items };
      }
      const rate = work === 'latency' ? { ratePerSecond } : {};
      return { ...base, work: 'publish', items, ...rate };
    }
    case 'kv':
    case 'transactions':
    case 'timers':
      return { ...base, work: 'publish', kind: 'calls', items: callsOf(target, cell, partitions) };
  }
}

/** Distinct keys and timers: each was written before the second time round. */
const NAMES = 16_000;
/** Keys of a node that is not ours go by themselves. */
const KEY_TTL_SECONDS = 60;
const TIMER_DELAY_MS = 3_600_000;

type CallWork = 'kv' | 'transactions' | 'timers';

function callsOf(
  { queue, token }: LoadTarget,
  { work, payloadBytes, batch }: Cell,
  partitions: number,
): readonly Buffer[] {
  const [value = ''] = payloadTexts(1, payloadBytes);
  const bytes = Buffer.from(value).toString('base64');
  const put = (n: number) =>
    `{"op":"put","ns":"${queue}","key":"key-${n}","ttlSeconds":${KEY_TTL_SECONDS},` +
    `"value":${value}}`;
  const push = (n: number) =>
    `{"queue":"${queue}","partition":"${partitionName(n % partitions)}","payload":${value}}`;
  const schedule = (n: number) =>
    `{"op":"schedule","queue":"${queue}","timerKey":"timer-${n}","delayMs":${TIMER_DELAY_MS},` +
    `"txn":"txn-${n}","payload":"${bytes}"}`;
  const paths = { kv: '/api/v1/kv', transactions: '/api/v1/transaction', timers: '/api/v1/timers' };
  const several = (first: number, one: (n: number) => string) =>
    `[${Array.from({ length: batch }, (_, i) => one(first + i)).join(',')}]`;
  // A transaction stores a message in each of two partitions.
  const bodies: { readonly [work in CallWork]: (first: number) => string } = {
    kv: (first) => several(first, put),
    transactions: (first) =>
      `{"operations":[{"type":"push","items":[${push(first)},${push(first + 1)}]}]}`,
    timers: (first) => several(first, schedule),
  };
  const call = work as CallWork;
  return Array.from({ length: Math.ceil(NAMES / batch) }, (_, i) =>
    requestBytes('POST', paths[call], bodies[call](i * batch), token),
  );
}
