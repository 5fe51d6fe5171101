/** What the stream routes ask of the leader (streams 2, 4), and its verdicts. */

import { STREAM_CONFIG_HASH_BYTES_MAX } from '@svc/wire';
import { type ChoiceOf, choice, kind } from '../fields/choice.js';
import { count, flag, nullable, textTo, uuid } from '../fields/field.js';
import { utf8Length } from '../utf8.js';
import type { PushCommand, PushedOutcome, Tenant } from './commands.js';
import { name, namesFit, tenant } from './names.js';

export const streamCommands = {
  'register-stream': kind(
    19,
    {
      tenant,
      /** No text but the sink is empty. */
      name,
      sourceQueue: name,
      sinkQueue: nullable(name),
      configHash: textTo(STREAM_CONFIG_HASH_BYTES_MAX),
      reset: flag,
    },
    (it) => [it.name, it.sourceQueue, it.sinkQueue ?? ''].every((one) => namesFit(one, '', '')),
  ),
};
export type RegisterStreamCommand = ChoiceOf<'kind', typeof streamCommands>;

const registration = choice('result', {
  registered: kind(0, { queryId: uuid, fresh: flag, reset: flag }),
  mismatch: kind(1, { queryId: uuid }),
  /** `quota`: the most queries that the tenant may have; null: streams are not granted to it. */
  denied: kind(2, { quota: nullable(count) }),
});

export const streamOutcomes = { 'stream-registered': kind(18, { verdict: registration }) };
export type StreamRegisteredOutcome = ChoiceOf<'kind', typeof streamOutcomes>;

/** State operations in columns, in the order of the request; an array each, of one length. */
export interface StateColumns {
  readonly keys: readonly string[];
  /** Places in the body of the JSON text; of a null that was not spelled both are 0. */
  readonly valueStart: readonly number[];
  readonly valueEnd: readonly number[];
  readonly isDelete: readonly boolean[];
  /** The member `windowEnd` of the value, if it is an integer. */
  readonly windowEnds: readonly (number | null)[];
}

/** Speaks of the batch that is leased on the partition, and of no message. */
export interface StreamAck {
  readonly leaseId: string;
  /** False: the whole batch comes again. */
  readonly completed: boolean;
  /** >= 0. */
  readonly count: number;
}

export interface StreamCycleCommand {
  readonly kind: 'stream-cycle';
  readonly tenant: Tenant;
  readonly queryId: string;
  /** Digits or a UUID; anything else is no partition. */
  readonly partitionId: string;
  readonly consumerGroup: string;
  /** Owned by the command; that of `pushes` is the same. */
  readonly body: Uint8Array;
  readonly state: StateColumns;
  /** null: it pushes nothing. */
  readonly pushes: PushCommand | null;
  readonly ack: StreamAck | null;
  readonly releaseLease: boolean;
}

export type CycleRefusal = 'bad_lease' | 'duplicate' | 'too_large';

export interface StreamCycledOutcome {
  readonly kind: 'stream-cycled';
  readonly verdict: /** The tenant has no such query, or no such partition. */
    | { readonly result: 'missing' }
    | { readonly result: 'refused'; readonly reason: CycleRefusal; readonly error: string }
    | {
        readonly result: 'committed';
        readonly partition: number;
        readonly queue: string;
        /** null: none was asked for. */
        readonly ack: { readonly count: number; readonly released: boolean } | null;
        readonly pushed: PushedOutcome | null;
      };
}

/** It adds to what is stored: deletions and acknowledgements alone do not. */
export function cycleGrows({ pushes, state }: StreamCycleCommand): boolean {
  return pushes !== null || state.isDelete.includes(false);
}

/** Bytes of an entry that a change of state takes at most, beside its value. */
export function opBytes(key: string): number {
  return utf8Length(key) + 16;
}
