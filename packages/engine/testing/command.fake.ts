/** Random commands and outcomes, as the HTTP front and the planner make them. */
import { GRANT_KINDS, GRANT_LIMITS, messageId } from '@svc/wire';
import type {
  AckItem,
  AckItemOutcome,
  AckStatus,
  Claim,
  Command,
  OptionChanges,
  Outcome,
  PopScope,
  PushCommand,
  PushedOutcome,
  Subscription,
} from '../base/commands/commands.js';
import { REPLAY_RESULTS } from '../base/commands/dead-letters.js';
import { kvJson } from '../base/commands/kv.js';
import type { TransactedOutcome, TransactionCommand } from '../base/commands/transaction.js';
import type { DeliveryTerms } from '../base/delivery-terms.js';
import type { GrantRow } from '../base/grants.js';
import { CONFIGURE_DEFAULTS } from '../base/queue-options.js';
import { SWITCH_NAMES } from '../base/switches.js';
import { TENANT } from './engine.fake.js';
import { randomGroupChanged, randomGroupCommand } from './group-command.fake.js';
import { randomKvCall, randomKvOutcome } from './kv.fake.js';
import type { SeededRandom } from './random.fake.js';
import { randomStreamCommand, randomStreamOutcome } from './stream-command.fake.js';
import { randomTimerCall, randomTimersOutcome } from './timer-call.fake.js';

const TEXTS = ['', 'a', 'orders.eu', 'grüße ✓', '\u{1F680}'.repeat(9), '\u0000', 'x'.repeat(200)];
const ID = '01a2b3c4-0000-7000-8000-000000000001';

function oneOf<T>(random: SeededRandom, values: readonly T[]): T {
  return values[random.below(values.length)] as T;
}

function some<T>(random: SeededRandom, most: number, make: (i: number) => T): T[] {
  return Array.from({ length: random.below(most + 1) }, (_, i) => make(i));
}

export function randomCommand(random: SeededRandom, nowMs: number): Command {
  const text = () => oneOf(random, TEXTS);
  const tenant = TENANT;
  switch (random.below(14)) {
    case 13:
      return randomKvCall(random, TENANT, () => random.below(9));
    case 12:
      return randomSurfaceCommand(random);
    case 11:
      return randomTimerCall(random);
    case 10:
      return randomStreamCommand(random, withMessageIds(random, randomPush(random)));
    case 9:
      return randomRecordCommand(random);
    case 8:
      return randomTransaction(random);
    case 7:
      return randomGroupCommand(random);
    case 0:
      return randomPush(random);
    case 1:
      return {
        kind: 'pop',
        tenant,
        scope: randomScope(random),
        consumerGroup: text(),
        batch: 1 + random.below(10_000),
        partitions: 1 + random.below(64),
        autoAck: random.below(2) === 0,
        wait: random.below(2) === 0,
        deadlineMs: nowMs + 1 + random.below(60_000),
        leaseSeconds: random.below(2) === 0 ? null : 1 + random.below(9999),
        subscription: randomSubscription(random),
        conflation: oneOf(random, [null, false, true]),
        autopilot: oneOf(random, [null, { partitions: true, batch: random.below(2) === 0 }]),
      };
    case 2:
      return {
        kind: 'give-back',
        tenant,
        consumerGroup: text(),
        leaseId: ID,
        partitionNumbers: some(random, 64, () => random.below(2 ** 32)),
      };
    case 3:
      return {
        kind: 'ack',
        tenant,
        consumerGroup: text(),
        items: some(random, 20, () => randomAckItem(random)),
      };
    case 4:
      return { kind: 'extend', tenant, leaseId: text(), seconds: 1 + random.below(1000) };
    case 5:
      return {
        kind: 'configure',
        tenant,
        queue: text(),
        replace: random.below(2) === 0,
        changes: randomChanges(random),
      };
    default:
      return { kind: 'delete-queue', tenant, queue: text() };
  }
}

/** As a cycle that names the ids of what it emits. */
function withMessageIds(random: SeededRandom, push: PushCommand): PushCommand {
  if (random.below(2) === 0) return push;
  return { ...push, messageIds: push.itemGroup.map(() => oneOf(random, [null, ID])) };
}

function randomSurfaceCommand(random: SeededRandom): Command {
  const tenant = TENANT;
  const flag = () => random.below(2) === 0;
  if (flag()) {
    const named = SWITCH_NAMES.filter(flag).map((name) => [name, flag()] as const);
    return { kind: 'set-switches', tenant, changes: Object.fromEntries(named) };
  }
  if (flag()) return { kind: 'purge-tenant', tenant };
  const limits = GRANT_LIMITS.map((name) => [name, flag() ? null : random.below(2 ** 53)] as const);
  const grant = { enabled: flag(), ...Object.fromEntries(limits) } as GrantRow;
  return { kind: 'set-grant', tenant, surface: oneOf(random, GRANT_KINDS), grant };
}

function randomRecordCommand(random: SeededRandom): Command {
  const text = () => oneOf(random, TEXTS);
  const textOrNull = () => (random.below(2) === 0 ? null : text());
  const tenant = TENANT;
  const address = { kind: 'address', partitionId: text(), transactionId: text() } as const;
  switch (random.below(4)) {
    case 3: {
      const place = { after: oneOf(random, ['', ID]), endUs: random.below(2 ** 40) };
      const range = { fromUs: random.below(2 ** 40), place: oneOf(random, [null, place]) };
      const limit = 1 + random.below(200);
      return { kind: 'redrive', tenant, queue: text(), group: textOrNull(), ...range, limit };
    }
    case 0: {
      const queue = { kind: 'queue', queue: text(), group: textOrNull() } as const;
      return { kind: 'drop-dead-letters', tenant, target: oneOf(random, [address, queue]) };
    }
    case 1: {
      const letter = oneOf(random, [address, { kind: 'id', id: text() } as const]);
      return { kind: 'replay', tenant, letter, queue: textOrNull(), partition: textOrNull() };
    }
    default:
      return {
        kind: 'trace',
        tenant,
        transactionId: oneOf(random, ['t', 'grüße', 'x'.repeat(447)]),
        partitionId: textOrNull(),
        names: some(random, 3, (i) => `n${i}`),
        eventType: text(),
        data: Uint8Array.from({ length: random.below(50) }, () => random.below(256)),
        consumerGroup: textOrNull(),
        worker: textOrNull(),
        messageId: oneOf(random, [null, ID]),
        traceId: oneOf(random, [null, ID]),
      };
  }
}

function randomRecordOutcome(random: SeededRandom): Outcome {
  const text = () => oneOf(random, TEXTS);
  switch (random.below(4)) {
    case 3: {
      const counts = { moved: random.below(200), duplicates: 1, refused: random.below(2) };
      const next = oneOf(random, [null, { after: ID, endUs: random.below(2 ** 40) }]);
      return { kind: 'redriven', ...counts, next };
    }
    case 0: {
      const isDone = random.below(2) === 0;
      return { kind: 'dead-letters-dropped', deleted: random.below(2 ** 40), isDone };
    }
    case 1: {
      const replay = {
        result: oneOf(random, REPLAY_RESULTS),
        queue: text(),
        partition: text(),
        group: text(),
        deadLetterId: ID,
        transactionId: text(),
        messageId: oneOf(random, ['', ID]),
      };
      return { kind: 'replayed', replay: oneOf(random, [null, replay]) };
    }
    default:
      return { kind: 'traced', traceId: oneOf(random, [null, ID]) };
  }
}

function randomTerms(random: SeededRandom): DeliveryTerms {
  const sizes = { partitions: 1 + random.below(64), batch: 1 + random.below(1000) };
  return {
    conflation: true,
    conflationConflict: random.below(2) === 0,
    autopilot: oneOf(random, [null, sizes]),
  };
}

function randomTransaction(random: SeededRandom): TransactionCommand {
  const text = () => oneOf(random, TEXTS);
  const pushes = oneOf(random, [null, randomPush(random)]);
  const traceId = () => (random.below(2) === 0 ? null : ID);
  const hasTraces = pushes !== null && random.below(2) === 0;
  return {
    kind: 'transaction',
    tenant: TENANT,
    acks: some(random, 9, () => ({ consumerGroup: text(), ...randomAckItem(random) })),
    pushes,
    traceIds: hasTraces ? pushes.itemGroup.map(traceId) : null,
    positions: some(random, 5, () => ({
      queue: text(),
      consumerGroup: text(),
      partition: '',
      offset: random.below(3) === 0 ? null : random.below(2 ** 53),
      metadata: random.below(2) === 0 ? null : text(),
      subscription: randomSubscription(random),
    })),
    kv: oneOf(random, [null, randomKvCall(random, TENANT, () => random.below(9))]),
    timers: oneOf(random, [null, randomTimerCall(random)]),
    flaw: oneOf(random, [null, { reason: 'too_large', error: text() }]),
  };
}

function randomTransacted(random: SeededRandom): TransactedOutcome {
  const pushed = oneOf(random, [null, randomPushed(random)]);
  const filed = some(random, 5, (i) => i * (1 + random.below(1000)));
  const lost = { index: 3, loss: 'exists', version: 9, value: kvJson('"ü"') } as const;
  const rollback = {
    reason: 'rejected_ack',
    error: oneOf(random, TEXTS),
    ...(random.below(2) === 0 ? {} : { kv: lost }),
  } as const;
  return {
    kind: 'transacted',
    rollback: oneOf(random, [null, rollback]),
    filed: filed.sort((a, b) => a - b),
    pushed,
    kv: oneOf(random, [null, randomKvOutcome(random)]),
    timers: oneOf(random, [null, randomTimersOutcome(random)]),
  };
}

function randomPush(random: SeededRandom): PushCommand {
  const body = Uint8Array.from({ length: random.below(300) }, () => random.below(256));
  const groups = some(random, 5, () => ({
    queue: oneOf(random, TEXTS),
    partition: oneOf(random, TEXTS),
  }));
  const items = groups.length === 0 ? 0 : random.below(12);
  const column = <T>(make: () => T) => Array.from({ length: items }, make);
  const payloadStart = column(() => random.below(body.length + 1));
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: random.below(2) === 0 ? null : oneOf(random, TEXTS),
    body,
    groups,
    itemGroup: column(() => random.below(groups.length)),
    transactionIds: column(() => (random.below(2) === 0 ? null : oneOf(random, TEXTS))),
    payloadStart,
    payloadEnd: payloadStart.map((start) => start + random.below(body.length - start + 1)),
  };
}

function randomScope(random: SeededRandom): PopScope {
  const text = () => oneOf(random, TEXTS);
  switch (random.below(3)) {
    case 0:
      return { kind: 'queue', queue: text() };
    case 1:
      return { kind: 'partition', queue: text(), partition: text() };
    default:
      return { kind: 'discovery', namespace: random.below(2) === 0 ? null : text(), task: 'a' };
  }
}

function randomSubscription(random: SeededRandom): Subscription {
  const mode = oneOf(random, ['all', 'new', 'timestamp'] as const);
  return mode === 'timestamp' ? { mode, atUs: random.below(2 ** 50) } : { mode };
}

function randomAckItem(random: SeededRandom): AckItem {
  return {
    transactionId: oneOf(random, TEXTS),
    partitionId: oneOf(random, ['1', '007', 'seven']),
    leaseId: oneOf(random, ['', ID]),
    status: oneOf<AckStatus>(random, ['completed', 'failed', 'retry', 'dlq']),
    error: random.below(2) === 0 ? null : oneOf(random, TEXTS),
  };
}

function randomChanges(random: SeededRandom): OptionChanges {
  const changes: Record<string, string | number | boolean | null> = {};
  for (const [name, value] of Object.entries(CONFIGURE_DEFAULTS)) {
    if (random.below(2) === 0) continue;
    if (random.below(4) === 0) changes[name] = null;
    else if (typeof value === 'number') changes[name] = random.below(2 ** 32) - 2 ** 31;
    else if (typeof value === 'boolean') changes[name] = random.below(2) === 0;
    else changes[name] = oneOf(random, TEXTS);
  }
  return changes;
}

export function randomOutcome(random: SeededRandom): Outcome {
  const text = () => oneOf(random, TEXTS);
  switch (random.below(14)) {
    case 13:
      return randomKvOutcome(random);
    case 12:
      return randomTimersOutcome(random);
    case 11:
      return randomStreamOutcome(random, randomPushed(random));
    case 10:
      return randomRecordOutcome(random);
    case 9:
      return randomTransacted(random);
    case 8:
      return randomGroupChanged(random);
    case 0:
      return randomPushed(random);
    case 1:
      return {
        kind: 'popped',
        queue: text(),
        consumerGroup: text(),
        leaseId: oneOf(random, ['', ID]),
        claims: some(random, 4, () => randomClaim(random)),
        terms: oneOf(random, [null, randomTerms(random)]),
      };
    case 2:
      return { kind: 'acked', items: randomAcked(random) };
    case 3: {
      const expiresAtUs = random.below(2) === 0 ? null : random.below(2 ** 51);
      return { kind: 'extended', renewed: random.below(65), expiresAtUs };
    }
    case 4: {
      const options = { ...CONFIGURE_DEFAULTS, namespace: text(), retryLimit: -1 };
      return { kind: 'configured', queueId: ID, queue: text(), options };
    }
    case 5:
      return { kind: 'deleted', existed: random.below(2) === 0 };
    case 6:
      return randomRefused(random);
    default:
      return { kind: 'none' };
  }
}

/** Runs of neighbours, and items that have nothing to do with each other. */
function randomPushed(random: SeededRandom): PushedOutcome {
  const messageIds: string[] = [];
  const status: number[] = [];
  for (let runs = random.below(6); runs > 0; runs--) {
    const at = {
      stampUs: random.below(2 ** 50),
      partition: random.below(2 ** 32),
      implicit: random.below(2) === 0,
      offset: random.below(2 ** 41 - 10),
    };
    const same = random.below(4);
    for (let i = random.below(9); i >= 0; i--) {
      const offset = at.offset + (random.below(9) === 0 ? 0 : i);
      messageIds.push(messageId(at.stampUs, at.partition, at.implicit, offset));
      status.push(random.below(9) === 0 ? random.below(4) : same);
    }
    if (random.below(3) === 0) {
      messageIds.push('00000000-0000-0000-0000-000000000000');
      status.push(2);
    }
  }
  return { kind: 'pushed', status: Uint8Array.from(status), messageIds };
}

function randomClaim(random: SeededRandom): Claim {
  return {
    queue: oneOf(random, TEXTS),
    partition: oneOf(random, TEXTS),
    partitionNumber: random.below(2 ** 32),
    deliveryAttempt: random.below(9),
    skipped: random.below(9),
    slices: some(random, 9, () => {
      const baseOffset = random.below(2 ** 40);
      const first = baseOffset + random.below(100);
      return {
        index: random.below(2 ** 50),
        position: random.below(2 ** 30),
        length: random.below(2 ** 30),
        baseOffset,
        stampUs: random.below(2 ** 50),
        first,
        last: first + random.below(100),
      };
    }),
  };
}

function randomAcked(random: SeededRandom): AckItemOutcome[] {
  const kinds = some(random, 3, () => ({
    success: random.below(2) === 0,
    error: random.below(2) === 0 ? null : oneOf(random, TEXTS),
    leaseReleased: random.below(2) === 0,
    dlq: random.below(2) === 0,
    noop: random.below(2) === 0,
  }));
  return kinds.flatMap((kind) => some(random, 30, () => kind));
}

function randomRefused(random: SeededRandom): Outcome {
  const refusal = { reason: 'retry', error: oneOf(random, TEXTS) } as const;
  if (random.below(2) === 0) return { kind: 'refused', refusal };
  return { kind: 'refused', refusal: { ...refusal, leader: random.below(100) } };
}
