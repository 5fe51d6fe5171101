// The cases of `npm run bench -- --prices` that need something done before them: what was pushed is
// popped and filed, timers come due, a stream has its state. What prepares a case is not measured.

import {
  type AckCommand,
  type Command,
  type KvOp,
  type PopCommand,
  PRICES,
  type PushCommand,
  type StreamCycleCommand,
} from '@svc/engine';
import { BODY, type Case, numbers, type PriceEngine, pushOf, TENANT } from './price-engine.js';

const COUNT = 20_000;
/** The most that a pop takes from, and what it claims of each. */
const PARTITIONS = 64;
const DEAD_PARTITIONS = 20;
const DEAD_IN_EACH = 500;
const PAGE = 1000;
const SECOND_US = 1_000_000;
const { command, pop, claim, ackItem, deadLetter, append, item, itemId } = PRICES;

export const DELIVERY_CASES: readonly Case[] = [
  {
    what: 'pop that finds nothing',
    price: command + pop,
    count: COUNT,
    commands: (round, engine) => {
      const one = popOf(`idle-${round}`, { queue: 'idle', autoAck: true });
      engine.run([pushed('idle', 1, 1)]);
      engine.run([one]);
      return numbers(COUNT).map(() => one);
    },
  },
  {
    what: 'partition that a pop claims',
    price: claim + (command + pop) / PARTITIONS,
    count: PARTITIONS * 200,
    commands: (round, engine) => {
      if (round === 0) engine.run([pushed('claimed', PARTITIONS * 200, 1)]);
      const group = `claims-${round}`;
      // A group is registered, and loaded, with its first pop.
      engine.run([popOf(group, { queue: 'claimed', batch: 1 })]);
      const one = popOf(group, { queue: 'claimed', batch: PARTITIONS, partitions: PARTITIONS });
      return numbers(200).map(() => one);
    },
  },
  {
    what: 'message that is filed as a dead letter',
    price: ackItem + deadLetter,
    count: DEAD_PARTITIONS * DEAD_IN_EACH,
    commands: (round, engine) => {
      if (round === 0) engine.run([pushed('dead', DEAD_PARTITIONS, DEAD_IN_EACH)]);
      const batch = DEAD_PARTITIONS * DEAD_IN_EACH;
      const group = `dead-${round}`;
      engine.run([popOf(group, { queue: 'dead', batch, partitions: DEAD_PARTITIONS })]);
      const [popped] = engine.outcomes;
      if (popped?.kind !== 'popped') throw new Error('nothing was popped');
      return popped.claims.map((one) => filed(group, one.partitionNumber, popped.leaseId));
    },
  },
];

export const SURFACE_CASES: readonly Case[] = [
  {
    what: 'timer that fires into a known partition',
    // Some fifty partitions get an append each from the timers of a turn.
    price: PRICES.timer + item + itemId + append / 4,
    count: COUNT,
    commands: (round, engine) => {
      engine.run([scheduled(round)]);
      return [];
    },
    afterMs: 10_000,
  },
  {
    what: "key of a stream's state that is put",
    price: PRICES.streamKey,
    count: COUNT,
    commands: (round, engine) => [cycle(round, engine)],
  },
  {
    what: 'key of a page of keys',
    price: PRICES.listedKey,
    count: COUNT,
    commands: (round) => [pages(round)],
  },
];

interface PopWish {
  readonly queue: string;
  readonly batch?: number;
  readonly partitions?: number;
  readonly autoAck?: boolean;
}

function popOf(consumerGroup: string, { queue, ...wish }: PopWish): PopCommand {
  return {
    kind: 'pop',
    tenant: TENANT,
    scope: { kind: 'queue', queue },
    consumerGroup,
    batch: 1,
    partitions: 1,
    autoAck: false,
    wait: false,
    deadlineMs: Number.MAX_SAFE_INTEGER,
    leaseSeconds: 3600,
    subscription: { mode: 'all' },
    conflation: null,
    autopilot: null,
    ...wish,
  };
}

/** So many messages, with ids, in each of so many partitions. */
function pushed(queue: string, partitions: number, each: number): PushCommand {
  const groups = numbers(partitions).map((i) => ({ queue, partition: `p${i}` }));
  const places = numbers(partitions * each).map((i) => Math.floor(i / each));
  return pushOf(
    groups,
    places,
    places.map((_, i) => `t${i % each}`),
  );
}

function filed(consumerGroup: string, partition: number, leaseId: string): AckCommand {
  const items = numbers(DEAD_IN_EACH).map((i) => ({
    transactionId: `t${i}`,
    partitionId: String(partition),
    leaseId,
    status: 'dlq' as const,
    error: null,
  }));
  return { kind: 'ack', tenant: TENANT, consumerGroup, items };
}

function scheduled(round: number): Command {
  const ops = numbers(COUNT).map((i) => ({
    op: 'schedule' as const,
    queue: 'fired',
    partition: `p${i % 50}`,
    timerKey: `${round}-${i}`,
    delayUs: SECOND_US,
    txn: `${round}-${i}`,
    payload: BODY,
    isJson: true,
    encrypted: false,
  }));
  return { kind: 'timers', tenant: TENANT, producerSub: null, ops };
}

function cycle(round: number, engine: PriceEngine): StreamCycleCommand {
  engine.run([
    pushed('source', 1, 1),
    {
      kind: 'register-stream',
      tenant: TENANT,
      name: 'fold',
      sourceQueue: 'source',
      sinkQueue: null,
      configHash: 'h',
      reset: false,
    },
  ]);
  const registered = engine.outcomes[1];
  if (registered?.kind !== 'stream-registered' || registered.verdict.result !== 'registered') {
    throw new Error('the stream was not registered');
  }
  const all = numbers(COUNT);
  return {
    kind: 'stream-cycle',
    tenant: TENANT,
    queryId: registered.verdict.queryId,
    partitionId: '1',
    consumerGroup: 'g',
    body: BODY,
    state: {
      keys: all.map((i) => `${round}-${i}`),
      valueStart: all.map(() => 0),
      valueEnd: all.map(() => BODY.length),
      isDelete: all.map(() => false),
      windowEnds: all.map(() => null),
    },
    pushes: null,
    ack: null,
    releaseLease: false,
  };
}

/** Beside one that writes, so that the planner reads them. */
function pages(round: number): Command {
  const place = { namespace: 'n', key: 'pages' };
  const count = { min: null, max: null, ttlSeconds: null, required: false };
  const ops: KvOp[] = [{ op: 'incr', ...place, delta: '1', ...count }];
  for (let page = 0; page < COUNT / PAGE; page++) {
    const which = { namespace: 'n', prefix: `${round}-`, after: '' };
    ops.push({ op: 'getPrefix', ...which, limit: PAGE, keysOnly: false });
  }
  return { kind: 'kv', tenant: TENANT, ops };
}
