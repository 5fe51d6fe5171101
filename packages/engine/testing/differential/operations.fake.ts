/**
 * Random operations for the comparison of engine and model. They name things by small numbers that
 * are resolved when they run, so that a sequence stays meaningful while it is being shortened.
 */
import fc from 'fast-check';
import type { AckStatus } from '../../base/commands/commands.js';
import type { Start } from './state.fake.js';

export interface AckWord {
  /** Which message: so many behind the group's cursor. */
  readonly ahead: number;
  readonly status: AckStatus;
}

export interface AckTarget {
  /** Among the leases granted, the newest first; `none`: lease-less; `foreign`: no lease. */
  readonly lease: number | 'none' | 'foreign';
  /** Among all partitions, counted round; null: where the lease was granted. */
  readonly partition: number | null;
  readonly group: string;
  readonly words: readonly AckWord[];
}

export interface Place {
  readonly queue: string;
  readonly partition: string;
}

export type Operation =
  /** What may come from different clients at once, and is planned in one turn. */
  | { readonly kind: 'together'; readonly parts: readonly Part[] }
  | Part
  | {
      readonly kind: 'pop';
      readonly queue: string;
      readonly partition: string | null;
      readonly group: string;
      readonly start: Start;
      readonly batch: number;
      readonly partitions: number;
      readonly autoAck: boolean;
      readonly leaseSeconds: number | null;
    }
  | {
      readonly kind: 'seek';
      readonly queue: string;
      readonly partition: string | null;
      readonly group: string;
      /** Just before the append of this message, counted round; null: the end. */
      readonly before: number | null;
    }
  | {
      readonly kind: 'delete-group';
      readonly queue: string | null;
      readonly group: string;
      readonly deleteMetadata: boolean;
    }
  | {
      readonly kind: 'configure';
      readonly queue: string;
      readonly changes: Readonly<Record<string, number | boolean>>;
    }
  | { readonly kind: 'delete-queue'; readonly queue: string }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'restart' };

export type Part =
  | { readonly kind: 'push'; readonly items: readonly (Place & { readonly id: string | null })[] }
  | { readonly kind: 'ack'; readonly target: AckTarget }
  | { readonly kind: 'extend'; readonly lease: number; readonly seconds: number }
  | {
      readonly kind: 'transaction';
      readonly acks: readonly AckTarget[];
      readonly items: readonly (Place & { readonly id: string | null })[];
      readonly positions: readonly (Place & {
        readonly group: string;
        readonly offset: number | null;
      })[];
    };

const queue = fc.constantFrom('q0', 'q0', 'q1');
const partition = fc.constantFrom('p0', 'p0', 'p1');
const group = fc.constantFrom('g', 'g', 'last', '__QUEUE_MODE__');
const id = fc.option(fc.constantFrom('t0', 't1', 't2', 't3', 't4', ''), { freq: 4, nil: null });
const items = fc.array(fc.record({ queue, partition, id }), { minLength: 1, maxLength: 4 });
const status = fc.constantFrom<AckStatus>('completed', 'completed', 'failed', 'retry', 'dlq');
const ahead = fc.integer({ min: -2, max: 4 });
const target: fc.Arbitrary<AckTarget> = fc.record({
  partition: fc.oneof(
    { weight: 8, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.nat(4) },
  ),
  group,
  lease: fc.oneof(
    { weight: 6, arbitrary: fc.nat(3) },
    { weight: 2, arbitrary: fc.constant<'none'>('none') },
    { weight: 1, arbitrary: fc.constant<'foreign'>('foreign') },
  ),
  words: fc.array(fc.record({ ahead, status }), { minLength: 1, maxLength: 4 }),
});

/** One that can be carried out more often than not. */
const promising: fc.Arbitrary<AckTarget> = fc.record({
  lease: fc.nat(2),
  partition: fc.constant(null),
  group,
  words: fc.array(
    fc.record({
      ahead: fc.nat(1),
      status: fc.constantFrom<AckStatus>('completed', 'completed', 'completed', 'dlq'),
    }),
    { minLength: 1, maxLength: 2 },
  ),
});

type Weighted<Value> = fc.WeightedArbitrary<Value>;

const parts: readonly Weighted<Part>[] = [
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('push' as const), items }) },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('ack' as const),
      target: fc.oneof(promising, target, target),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('extend' as const),
      lease: fc.nat(3),
      seconds: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('transaction' as const),
      acks: fc.array(fc.oneof(promising, promising, target), { maxLength: 3 }),
      items: fc.array(fc.record({ queue, partition, id }), { maxLength: 2 }),
      positions: fc.array(
        fc.record({
          queue,
          partition,
          group,
          offset: fc.option(fc.nat(9), { freq: 3, nil: null }),
        }),
        { maxLength: 2 },
      ),
    }),
  },
];

const pop: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constant('pop' as const),
  queue,
  partition: fc.option(partition, { freq: 3, nil: null }),
  group,
  start: fc.constantFrom<Start>('all', 'all', 'new'),
  batch: fc.integer({ min: 1, max: 4 }),
  partitions: fc.integer({ min: 1, max: 3 }),
  autoAck: fc.constantFrom(false, false, false, true),
  leaseSeconds: fc.option(fc.integer({ min: 1, max: 5 }), { freq: 4, nil: null }),
});

const changes = fc.record(
  {
    leaseTime: fc.constantFrom(0, 2, 60),
    retryLimit: fc.constantFrom(-1, 0, 1, 2),
    deadLetterQueue: fc.boolean(),
    dlqAfterMaxRetries: fc.boolean(),
    dedupWindowSeconds: fc.constantFrom(0, 2, 3600),
    delayedProcessing: fc.constantFrom(0, 0, 2),
    windowBuffer: fc.constantFrom(0, 0, 1),
    retryBackoffMs: fc.constantFrom(0, 2000, 2000),
    retryBackoffMaxMs: fc.constantFrom(3000, 3_600_000),
    deliveryLimit: fc.constantFrom(0, 1, 2, 2, 3, 5),
  },
  { requiredKeys: [] },
);

const operation: fc.Arbitrary<Operation> = fc.oneof(
  ...parts.map(({ weight, arbitrary }): Weighted<Operation> => ({ weight: 2 * weight, arbitrary })),
  { weight: 18, arbitrary: pop },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('together' as const),
      parts: fc.array(fc.oneof(...parts), { minLength: 2, maxLength: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('seek' as const),
      queue,
      partition: fc.option(partition),
      group,
      before: fc.option(fc.nat(9)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('delete-group' as const),
      queue: fc.option(queue),
      group,
      deleteMetadata: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('configure' as const), queue, changes }) },
  {
    weight: 2,
    arbitrary: fc.constant<Operation>({
      kind: 'configure',
      queue: 'q0',
      changes: { retryBackoffMs: 2000, delayedProcessing: 0, windowBuffer: 0 },
    }),
  },
  {
    weight: 2,
    arbitrary: fc.constant<Operation>({
      kind: 'configure',
      queue: 'q0',
      changes: { deliveryLimit: 2, leaseTime: 2, delayedProcessing: 0, windowBuffer: 0 },
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete-queue' as const), queue }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.constantFrom(1, 400, 999, 1000, 1001, 2500, 6000, 70_000),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Operation>({ kind: 'checkpoint' }) },
  { weight: 4, arbitrary: fc.constant<Operation>({ kind: 'restart' }) },
);

/** Workers that die with what they were given, one after the other. */
const deaths: fc.Arbitrary<Operation[]> = fc
  .tuple(pop, fc.integer({ min: 2, max: 5 }))
  .map(([one, times]) =>
    Array(times)
      .fill([one, { kind: 'advance', ms: 6000 }])
      .flat(),
  );

/** Sequences of up to `most` operations, or series of them. */
export function operations(most: number): fc.Arbitrary<Operation[]> {
  const next = fc.oneof(
    { weight: 15, arbitrary: operation.map((one) => [one]) },
    { weight: 1, arbitrary: deaths },
  );
  return fc
    .array(next, { minLength: 1, maxLength: most, size: 'max' })
    .map((series) => series.flat());
}
