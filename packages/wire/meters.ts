/**
 * What a node counts and times, in one object that every layer is handed (inspection 9). Layers
 * only add to it; `GET /metrics/prometheus`, `GET /metrics`, the status routes and the line of
 * rates in the log read it. Everything is since the start of the process.
 *
 * The job: counting stands on the path of each push, pop and ack. Counters are therefore plain
 * numbers in objects of one shape (`meters.kv.ops.put.applied++`), summaries record without
 * allocating, and nothing is looked up by a name that is put together at run time. A layer that is
 * pure gets the object like any other value: it needs no clock to count, and who times has one.
 *
 * Names of members are those of the labels of the contract.
 */
import { type Counts, counts, each } from './meters-counts.js';
import { newPipelineMeters, type PipelineMeters } from './pipeline-meters.js';
import { QueueMeters } from './queue-meters.js';
import { Summary } from './summary.js';

export const KV_OPS = ['get', 'getMany', 'getPrefix', 'put', 'delete', 'incr', 'check'] as const;
export type KvOpName = (typeof KV_OPS)[number];
export const LOCK_OPS = ['acquire', 'renew', 'release', 'get'] as const;
export type LockOpName = (typeof LOCK_OPS)[number];
/** `rejected`: a guard or a holder said no; `error`: the call as a whole was refused. */
export const OP_RESULTS = ['applied', 'rejected', 'error'] as const;
export type OpResult = (typeof OP_RESULTS)[number];
/** Which step of the ladder refused a call of kv or of locks. */
export const KV_REFUSALS = ['rate_limited', 'quota', 'pool', 'disabled'] as const;
export const TIMER_REFUSALS = [
  'shape',
  'payload_too_large',
  'quota',
  'horizon',
  'gated',
  'rate_limited',
  'unavailable',
  'disabled',
] as const;
export const EPHEMERAL_VERBS = ['pushed', 'popped', 'acked'] as const;
export const EPHEMERAL_DROPS = ['bounds', 'ttl', 'retry'] as const;

/** Calls of clients of this node, and the messages in them (inspection 8.2). */
export interface CallMeters {
  pushRequests: number;
  pushMessages: number;
  popRequests: number;
  popMessages: number;
  ackRequests: number;
  ackMessages: number;
}

/** Operations of one surface: how often with which result, and how long each took. */
export interface OpMeters<Op extends string> {
  readonly ops: { readonly [Each in Op]: Counts<OpResult> };
  /** Microseconds: of the call that brought the operation, divided by its operations. */
  readonly tookUs: { readonly [Each in Op]: Summary };
}

export interface KvMeters extends OpMeters<KvOpName> {
  /** Bytes of values that clients sent and were sent. */
  readonly bytes: Counts<'in' | 'out'>;
  /** Calls of kv and of locks that the ladder refused. */
  readonly refused: Counts<(typeof KV_REFUSALS)[number]>;
}

export interface EphemeralMeters {
  readonly messages: Counts<(typeof EPHEMERAL_VERBS)[number]>;
  readonly dropped: Counts<(typeof EPHEMERAL_DROPS)[number]>;
  /** Calls that this node passed on to the one that holds the ring. */
  forwarded: number;
  /** Rings lost when their place changed. */
  wipes: number;
  /** As they are now; who changes them keeps them. */
  bytes: number;
  queues: number;
}

export interface EncryptionMeters {
  /** Payloads that have the form of an envelope and that this node's key does not open. */
  unopened: number;
}

export interface FrontThreadMeters {
  /** Those that listen now. */
  running: number;
  /** Threads that have ended by themselves, and were started again. */
  restarts: number;
  /** Threads that listen and have said nothing for seconds. */
  silent: number;
}

export interface Meters {
  readonly calls: CallMeters;
  readonly kv: KvMeters;
  readonly locks: OpMeters<LockOpName>;
  /** Schedules that were refused, by why. */
  readonly timersRefused: Counts<(typeof TIMER_REFUSALS)[number]>;
  readonly ephemeral: EphemeralMeters;
  readonly encryption: EncryptionMeters;
  readonly frontThreads: FrontThreadMeters;
  readonly pipeline: PipelineMeters;
  /** By queue, of one bucket of time at a time. */
  readonly queues: QueueMeters;
}

export function newMeters(): Meters {
  return {
    calls: {
      pushRequests: 0,
      pushMessages: 0,
      popRequests: 0,
      popMessages: 0,
      ackRequests: 0,
      ackMessages: 0,
    },
    kv: {
      ...newOps(KV_OPS),
      bytes: counts(['in', 'out']),
      refused: counts(KV_REFUSALS),
    },
    locks: newOps(LOCK_OPS),
    timersRefused: counts(TIMER_REFUSALS),
    ephemeral: {
      messages: counts(EPHEMERAL_VERBS),
      dropped: counts(EPHEMERAL_DROPS),
      forwarded: 0,
      wipes: 0,
      bytes: 0,
      queues: 0,
    },
    encryption: { unopened: 0 },
    frontThreads: { running: 0, restarts: 0, silent: 0 },
    pipeline: newPipelineMeters(),
    queues: new QueueMeters(),
  };
}

function newOps<Op extends string>(names: readonly Op[]): OpMeters<Op> {
  return { ops: each(names, () => counts(OP_RESULTS)), tookUs: each(names, () => new Summary()) };
}

/** Closes the bucket of time that quantiles are taken over; once per flush. */
export function rotateSummaries({ kv, locks, pipeline }: Meters): void {
  for (const summary of Object.values(kv.tookUs)) summary.rotate();
  for (const summary of Object.values(locks.tookUs)) summary.rotate();
  for (const { tookUs } of pipeline.commands.values()) tookUs.rotate();
  for (const part of Object.values(pipeline)) if (part instanceof Summary) part.rotate();
}
