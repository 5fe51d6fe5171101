// `npm run bench -- --prices`: what the units of work cost on this machine (the table of prices is
// packages/engine/base/work-prices.ts). A planner plans commands of one kind, and their entries are
// applied to a checkpoint over LMDB, in one thread and without a log or HTTP: the time that
// nothing else on a node gets. Each figure is the least of three rounds, in microseconds of the
// processor (a busy machine shows the same ones) for one of the things that are counted, and stands
// beside its price.

import { join } from 'node:path';
import {
  type AckCommand,
  type Command,
  type KvOp,
  kvJson,
  PRICES,
  type PushCommand,
} from '@svc/engine';
import { Scratch } from '../rig/scratch.js';
import { DELIVERY_CASES, SURFACE_CASES } from './delivery-prices.js';
import { BODY, type Case, numbers, PriceEngine, pushOf, TENANT } from './price-engine.js';

const ROUNDS = 3;
const COUNT = 20_000;
const POSITIONS = 16_384;
const VALUES = 64;
const VALUE_BYTES = 65_536;
const DAY_US = 86_400_000_000;

const { append, newPartition, newQueue, item, itemId, duplicate, position, positionRows } = PRICES;
const COMMAND_CASES: readonly Case[] = [
  {
    what: 'message in a new partition',
    price: item + append + newPartition,
    count: COUNT,
    commands: (round) => [wide((i) => ['wide', `${round}-${i}`])],
  },
  {
    what: 'message in a known partition',
    price: item + append,
    count: COUNT,
    commands: (round) => [wide((i) => ['wide', `${round}-${i}`])],
  },
  {
    what: 'message in a new queue',
    price: item + append + newPartition + newQueue,
    count: COUNT,
    commands: (round) => [wide((i) => [`${round}-${i}`, 'p'])],
  },
  {
    what: 'message without an id',
    price: item,
    count: COUNT,
    commands: () => [deep(() => null)],
  },
  {
    what: 'message with an id',
    price: item + itemId,
    count: COUNT,
    commands: (round) => [deep((i) => `${round}-${i}`)],
  },
  {
    what: 'message that is there already',
    price: item + itemId + duplicate,
    count: COUNT,
    commands: (round) => [deep((i) => `${round}-${i}`)],
  },
  {
    what: 'message that is there, each elsewhere',
    price: append + item + itemId + duplicate,
    count: COUNT,
    commands: () => [repeated()],
  },
  {
    what: 'acknowledgement of an unknown partition',
    price: PRICES.ackTarget + PRICES.ackItem,
    count: COUNT,
    commands: () => [acks((i) => String(2_000_000_000 + i))],
  },
  {
    what: 'acknowledgement, one partition',
    price: PRICES.ackItem,
    count: COUNT,
    commands: () => [acks(() => '1')],
  },
  {
    what: 'position in a known partition',
    price: position + positionRows,
    count: POSITIONS,
    commands: (round) => [positions((i) => `${round}-${i}`)],
  },
  {
    what: 'key that is put, 64 bytes',
    price: PRICES.key,
    count: COUNT,
    commands: (round) => [puts(COUNT, 62, (i) => `${round}-${i}`)],
  },
  {
    what: 'kibibyte of values that are put',
    price: PRICES.kibibyte,
    count: (VALUES * VALUE_BYTES) / 1024,
    commands: (round) => [puts(VALUES, VALUE_BYTES - 2, (i) => `long-${round}-${i}`)],
  },
  {
    what: 'kibibyte of values that are replaced',
    price: PRICES.kibibyte,
    count: (VALUES * VALUE_BYTES) / 1024,
    commands: (round) => [puts(VALUES, VALUE_BYTES - 2, (i) => `long-${round}-${i}`)],
  },
  {
    what: 'kibibyte of values that are read',
    price: PRICES.kibibyte,
    count: (VALUES * VALUE_BYTES) / 1024,
    commands: (round) => [gets((i) => `long-${round}-${i}`)],
  },
  {
    what: 'timer that is scheduled',
    price: PRICES.timer,
    count: COUNT,
    commands: (round) => [schedules((i) => `${round}-${i}`)],
  },
];

export async function runPrices(): Promise<void> {
  const CASES = [...COMMAND_CASES, ...DELIVERY_CASES, ...SURFACE_CASES];
  const scratch = new Scratch();
  scratch.endOnSignals();
  try {
    const engine = new PriceEngine(join(scratch.directory('prices'), 'state'));
    const least = CASES.map(() => Number.POSITIVE_INFINITY);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [at, { count, commands, afterMs = 0 }] of CASES.entries()) {
        const tookUs = engine.run(commands(round, engine), afterMs) / count;
        least[at] = Math.min(least[at] ?? tookUs, tookUs);
        await engine.checkpoint();
      }
    }
    await engine.close();
    for (const [at, { what, price }] of CASES.entries()) {
      const us = (least[at] ?? 0).toFixed(1).padStart(8);
      process.stdout.write(`${what.padEnd(42)}${us} us, price ${price}\n`);
    }
  } finally {
    scratch.close();
  }
}

/** A message for each of so many partitions. */
function wide(place: (i: number) => readonly [string, string]): PushCommand {
  const all = numbers(COUNT);
  const groups = all.map((i) => {
    const [queue, partition] = place(i);
    return { queue, partition };
  });
  return pushOf(
    groups,
    all,
    all.map(() => null),
  );
}

/** A message for each of so many partitions, and in every round the same ones. */
function repeated(): PushCommand {
  const { groups, itemGroup } = wide((i) => ['repeated', String(i)]);
  return pushOf(groups, itemGroup, itemGroup.map(String));
}

/** So many messages for one partition. */
function deep(id: (i: number) => string | null): PushCommand {
  const all = numbers(COUNT);
  return pushOf(
    [{ queue: 'deep', partition: 'p' }],
    all.map(() => 0),
    all.map(id),
  );
}

function acks(partition: (i: number) => string): AckCommand {
  const items = numbers(COUNT).map((i) => ({
    transactionId: `0-${i}`,
    partitionId: partition(i),
    leaseId: '',
    status: 'completed' as const,
    error: null,
  }));
  return { kind: 'ack', tenant: TENANT, consumerGroup: 'g', items };
}

function puts(count: number, chars: number, key: (i: number) => string): Command {
  const value = kvJson(`"${'x'.repeat(chars)}"`);
  const more = { ttlSeconds: null, expect: null, required: false };
  const ops = Array.from({ length: count }, (_, i): KvOp => {
    return { op: 'put', namespace: 'n', key: key(i), value, ...more };
  });
  return { kind: 'kv', tenant: TENANT, ops };
}

/** Beside one that writes, so that the planner reads them. */
function gets(key: (i: number) => string): Command {
  const ops = Array.from({ length: VALUES }, (_, i): KvOp => {
    return { op: 'get', namespace: 'n', key: key(i) };
  });
  const count = { min: null, max: null, ttlSeconds: null, required: false };
  ops.push({ op: 'incr', namespace: 'n', key: 'reads', delta: '1', ...count });
  return { kind: 'kv', tenant: TENANT, ops };
}

function schedules(name: (i: number) => string): Command {
  const ops = numbers(COUNT).map((i) => ({
    op: 'schedule' as const,
    queue: 'rung',
    partition: 'p',
    timerKey: name(i),
    delayUs: DAY_US,
    txn: name(i),
    payload: BODY,
    isJson: true,
    encrypted: false,
  }));
  return { kind: 'timers', tenant: TENANT, producerSub: null, ops };
}

function positions(partition: (i: number) => string): Command {
  return {
    kind: 'transaction',
    tenant: TENANT,
    acks: [],
    pushes: null,
    traceIds: null,
    positions: numbers(POSITIONS).map((i) => ({
      queue: 'wide',
      consumerGroup: 'g',
      partition: partition(i),
      offset: 1,
      metadata: null,
      subscription: { mode: 'all' },
    })),
    kv: null,
    timers: null,
    flaw: null,
  };
}
