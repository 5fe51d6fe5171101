// `npm run bench -- --prices`: what the units of work cost on this machine (the table of prices is
// packages/engine/work-prices.ts). A planner plans commands of one kind, and their entries are
// applied to a checkpoint over LMDB, in one thread and without a log or HTTP: the time that
// nothing else on a node gets. Each figure is the least of three rounds, in microseconds of the
// processor (a busy machine shows the same ones) for one of the things that are counted, and stands
// beside its price.

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  type AckCommand,
  applyEntry,
  type Command,
  type KvOp,
  kvJson,
  LOCAL_TABLES,
  type Outcome,
  Planner,
  PRICES,
  type PushCommand,
  TABLES,
  TransactionIndex,
} from '@svc/engine';
import { Checkpoint, openLmdb, RealDisk } from '@svc/storage';
import { uuidV7 } from '@svc/wire';
import { Scratch } from './scratch.js';

const TENANT = '00000000-0000-0000-0000-000000000001';
const ROUNDS = 3;
const COUNT = 20_000;
const POSITIONS = 16_384;
const VALUES = 64;
const VALUE_BYTES = 65_536;
const US_PER_MS = 1000;
const DAY_US = 86_400_000_000;
const BODY = new TextEncoder().encode('{"n":1234567890,"text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}');

interface Case {
  readonly what: string;
  readonly price: number;
  readonly count: number;
  readonly command: (round: number) => Command;
}

const { append, newPartition, newQueue, item, itemId, duplicate, position } = PRICES;
const CASES: readonly Case[] = [
  {
    what: 'message in a new partition',
    price: item + append + newPartition,
    count: COUNT,
    command: (round) => wide((i) => ['wide', `${round}-${i}`]),
  },
  {
    what: 'message in a known partition',
    price: item + append,
    count: COUNT,
    command: (round) => wide((i) => ['wide', `${round}-${i}`]),
  },
  {
    what: 'message in a new queue',
    price: item + append + newPartition + newQueue,
    count: COUNT,
    command: (round) => wide((i) => [`${round}-${i}`, 'p']),
  },
  {
    what: 'message without an id',
    price: item,
    count: COUNT,
    command: () => deep(() => null),
  },
  {
    what: 'message with an id',
    price: item + itemId,
    count: COUNT,
    command: (round) => deep((i) => `${round}-${i}`),
  },
  {
    what: 'message that is there already',
    price: item + itemId + duplicate,
    count: COUNT,
    command: (round) => deep((i) => `${round}-${i}`),
  },
  {
    what: 'message that is there, each elsewhere',
    price: append + item + itemId + duplicate,
    count: COUNT,
    command: () => repeated(),
  },
  {
    what: 'acknowledgement of an unknown partition',
    price: PRICES.ackTarget + PRICES.ackItem,
    count: COUNT,
    command: () => acks((i) => String(2_000_000_000 + i)),
  },
  {
    what: 'acknowledgement, one partition',
    price: PRICES.ackItem,
    count: COUNT,
    command: () => acks(() => '1'),
  },
  {
    what: 'position in a known partition',
    price: position,
    count: POSITIONS,
    command: (round) => positions((i) => `${round}-${i}`),
  },
  {
    what: 'key that is put, 64 bytes',
    price: PRICES.key,
    count: COUNT,
    command: (round) => puts(COUNT, 62, (i) => `${round}-${i}`),
  },
  {
    what: 'kibibyte of values that are put',
    price: PRICES.kibibyte,
    count: (VALUES * VALUE_BYTES) / 1024,
    command: (round) => puts(VALUES, VALUE_BYTES - 2, (i) => `long-${round}-${i}`),
  },
  {
    what: 'kibibyte of values that are replaced',
    price: PRICES.kibibyte,
    count: (VALUES * VALUE_BYTES) / 1024,
    command: (round) => puts(VALUES, VALUE_BYTES - 2, (i) => `long-${round}-${i}`),
  },
  {
    what: 'kibibyte of values that are read',
    price: PRICES.kibibyte,
    count: (VALUES * VALUE_BYTES) / 1024,
    command: (round) => gets((i) => `long-${round}-${i}`),
  },
  {
    what: 'timer that is scheduled',
    price: PRICES.timer,
    count: COUNT,
    command: (round) => schedules((i) => `${round}-${i}`),
  },
];

export async function runPricesBench(): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  try {
    const engine = new Engine(join(scratch.directory('prices'), 'state'));
    const least = CASES.map(() => Number.POSITIVE_INFINITY);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [at, { count, command }] of CASES.entries()) {
        const tookUs = engine.run(command(round)) / count;
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

class Engine {
  readonly #backing: ReturnType<typeof openLmdb>;
  readonly #state: Checkpoint;
  readonly #transactions: TransactionIndex;
  readonly #planner: Planner;
  readonly #entries = new Map<number, Uint8Array>();
  #index = 0;

  constructor(directory: string) {
    const disk = new RealDisk();
    const identity = new Uint8Array(16);
    this.#backing = openLmdb({ disk, directory, identity, localTables: LOCAL_TABLES });
    const onFailure = (error: Error): void => {
      throw error;
    };
    this.#state = new Checkpoint({ backing: this.#backing, tables: TABLES, onFailure });
    this.#transactions = TransactionIndex.load(this.#state);
    const word = () => Math.floor(Math.random() * 2 ** 32);
    this.#planner = new Planner(this.#state, this.#transactions, {
      nodeId: 1,
      checksum: crc32,
      newUuid: (us) => uuidV7(Math.floor(us / US_PER_MS), word(), word(), word()),
      readLog: ({ index, position: at, length }) =>
        (this.#entries.get(index) ?? BODY).subarray(at, at + length),
      cipher: null,
    });
  }

  /** Microseconds of the processor for planning the command and applying what it does. */
  run(command: Command): number {
    const ticket = {};
    let outcome: Outcome | null = null;
    const began = process.cpuUsage();
    this.#planner.enqueue(command, ticket);
    while (this.#planner.waiting > 0) {
      const index = this.#index + 1;
      const at = { index, wallUs: Date.now() * US_PER_MS, nowMs: performance.now() };
      const { body, answers } = this.#planner.turn(at);
      outcome = answers.find((each) => each.ticket === ticket)?.outcome ?? outcome;
      if (body === null) continue;
      this.#index = index;
      this.#entries.set(index, body);
      applyEntry(this.#state, this.#transactions, index, body, { appended: () => {} });
      this.#planner.applied(index);
    }
    const { user, system } = process.cpuUsage(began);
    if (outcome === null || outcome.kind === 'refused') throw new Error(`refused: ${command.kind}`);
    return user + system;
  }

  /** Rows are read from the store from now on, as those of a node that runs for long are. */
  async checkpoint(): Promise<void> {
    this.#transactions.flush();
    await new Promise<void>((resolve) => {
      this.#state.checkpoint(this.#index, 1, this.#index, () => resolve());
    });
  }

  async close(): Promise<void> {
    await this.#backing.close();
  }
}

function pushOf(
  groups: PushCommand['groups'],
  itemGroup: readonly number[],
  ids: readonly (string | null)[],
): PushCommand {
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: null,
    body: BODY,
    groups,
    itemGroup,
    transactionIds: ids,
    payloadStart: itemGroup.map(() => 0),
    payloadEnd: itemGroup.map(() => BODY.length),
  };
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => i);
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
