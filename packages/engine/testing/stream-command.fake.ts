/** Random commands and outcomes of streams, as the HTTP front and the planner make them. */
import type { Command, Outcome, PushCommand, PushedOutcome } from '../base/commands/commands.js';
import type { StateColumns } from '../base/commands/streams.js';
import { TENANT } from './engine.fake.js';
import type { SeededRandom } from './random.fake.js';

const TEXTS = ['a', 'orders.eu', 'grüße ✓', 'a\u001fb', 'x'.repeat(200)];
const ID = '01a2b3c4-0000-7000-8000-000000000001';

function oneOf<T>(random: SeededRandom, values: readonly T[]): T {
  return values[random.below(values.length)] as T;
}

/** `push` may be what it pushes. */
export function randomStreamCommand(random: SeededRandom, push: PushCommand): Command {
  const tenant = TENANT;
  const text = () => oneOf(random, TEXTS);
  const flag = () => random.below(2) === 0;
  if (random.below(3) === 0) {
    const names = { name: text(), sourceQueue: text(), sinkQueue: flag() ? null : text() };
    return { kind: 'register-stream', tenant, ...names, configHash: text(), reset: flag() };
  }
  const pushes = flag() ? null : push;
  const bytes = Uint8Array.from({ length: 60 }, () => random.below(256));
  const state = randomState(random, pushes?.body.length ?? bytes.length);
  const isEmpty = pushes === null && !state.isDelete.includes(false);
  return {
    kind: 'stream-cycle',
    tenant,
    queryId: ID,
    partitionId: oneOf(random, ['17', ID, 'x']),
    consumerGroup: text(),
    body: pushes?.body ?? (isEmpty ? new Uint8Array(0) : bytes),
    state,
    pushes,
    ack: flag()
      ? null
      : { leaseId: oneOf(random, ['', ID]), completed: flag(), count: random.below(2 ** 31) },
    releaseLease: flag(),
  };
}

function randomState(random: SeededRandom, bodyBytes: number): StateColumns {
  const ops = Array.from({ length: random.below(5) }, () => {
    const isDelete = random.below(3) === 0;
    const start = isDelete ? 0 : random.below(bodyBytes + 1);
    const end = isDelete ? 0 : start + random.below(bodyBytes - start + 1);
    const windowEnd = isDelete ? null : oneOf(random, [null, 0, -5, Number.MAX_SAFE_INTEGER]);
    return { key: oneOf(random, ['', ...TEXTS]), isDelete, start, end, windowEnd };
  });
  return {
    keys: ops.map((op) => op.key),
    valueStart: ops.map((op) => op.start),
    valueEnd: ops.map((op) => op.end),
    isDelete: ops.map((op) => op.isDelete),
    windowEnds: ops.map((op) => op.windowEnd),
  };
}

export function randomStreamOutcome(random: SeededRandom, pushed: PushedOutcome): Outcome {
  const text = () => oneOf(random, TEXTS);
  const flag = () => random.below(2) === 0;
  switch (random.below(6)) {
    case 0: {
      const verdict = { result: 'registered', queryId: ID, fresh: flag(), reset: flag() } as const;
      return { kind: 'stream-registered', verdict };
    }
    case 1:
      return { kind: 'stream-registered', verdict: { result: 'mismatch', queryId: ID } };
    case 2: {
      const quota = flag() ? null : random.below(2 ** 40);
      return { kind: 'stream-registered', verdict: { result: 'denied', quota } };
    }
    case 3:
      return { kind: 'stream-cycled', verdict: { result: 'missing' } };
    case 4: {
      const reason = oneOf(random, ['bad_lease', 'duplicate', 'too_large'] as const);
      return { kind: 'stream-cycled', verdict: { result: 'refused', reason, error: text() } };
    }
    default:
      return {
        kind: 'stream-cycled',
        verdict: {
          result: 'committed',
          partition: random.below(2 ** 32),
          queue: text(),
          ack: flag() ? null : { count: random.below(2 ** 40), released: flag() },
          pushed: flag() ? null : pushed,
        },
      };
  }
}
