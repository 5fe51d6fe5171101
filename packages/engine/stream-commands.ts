/**
 * What the stream routes ask of the leader (streams 2, 4), its verdicts, and their forms between
 * nodes:
 *
 *     register := name | source | sink or none | hash | reset
 *     cycle    := query | partition | group | ack or none | release | ops | push or body length
 *
 * The body of a cycle stands last, as that of a push does; its state values are places in it.
 */
import {
  formatUuid,
  NAME_BYTES_MAX,
  STREAM_CONFIG_HASH_BYTES_MAX,
  STREAM_KEY_BYTES_MAX,
} from '@svc/wire';
import type { ByteWriter } from './bytes.js';
import { checkNames } from './command-names.js';
import type { PushCommand, PushedOutcome, Tenant } from './commands.js';
import type { GuardedReader } from './guarded-reader.js';
import { COMMAND_ITEMS_MAX, readPush, writePush } from './push-ack-codec.js';
import { readWindowEnd, writeWindowEnd } from './stream-tables.js';
import { utf8Length } from './utf8.js';

export interface RegisterStreamCommand {
  readonly kind: 'register-stream';
  readonly tenant: Tenant;
  /** None of the texts but the sink is empty. */
  readonly name: string;
  readonly sourceQueue: string;
  readonly sinkQueue: string | null;
  readonly configHash: string;
  readonly reset: boolean;
}

export interface StreamRegisteredOutcome {
  readonly kind: 'stream-registered';
  readonly verdict:
    | {
        readonly result: 'registered';
        readonly queryId: string;
        readonly fresh: boolean;
        readonly reset: boolean;
      }
    | { readonly result: 'mismatch'; readonly queryId: string }
    /** `quota`: the most queries that the tenant may have; null: streams are not granted to it. */
    | { readonly result: 'denied'; readonly quota: number | null };
}

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

// --- between nodes -----------------------------------------------------------------------------

const UUID_BYTES = 16;
/** A partition's name here is digits or a UUID, and whatever else is no partition. */
const PARTITION_TEXT_BYTES_MAX = 2 ** 31;
const LEASE_TEXT_BYTES_MAX = 2 ** 31;
/** A key, and what is done with it. */
const OP_BYTES_MIN = 2;

export function writeRegisterStream(w: ByteWriter, command: RegisterStreamCommand): void {
  w.text(command.name);
  w.text(command.sourceQueue);
  w.optionalText(command.sinkQueue);
  w.text(command.configHash);
  w.flag(command.reset);
}

export function readRegisterStream(r: GuardedReader, tenant: Tenant): RegisterStreamCommand {
  const name = r.text(NAME_BYTES_MAX);
  const sourceQueue = r.text(NAME_BYTES_MAX);
  const sinkQueue = r.optionalText(NAME_BYTES_MAX);
  for (const one of [name, sourceQueue, sinkQueue ?? '']) checkNames(r, one, '', '');
  const configHash = r.text(STREAM_CONFIG_HASH_BYTES_MAX);
  const names = { name, sourceQueue, sinkQueue, configHash };
  return { kind: 'register-stream', tenant, ...names, reset: r.flag() };
}

export function writeCycle(w: ByteWriter, command: StreamCycleCommand): void {
  const { ack, pushes, state } = command;
  w.uuid(command.queryId);
  w.text(command.partitionId);
  w.text(command.consumerGroup);
  w.flag(ack !== null);
  if (ack !== null) {
    w.text(ack.leaseId);
    w.flag(ack.completed);
    w.varint(ack.count);
  }
  w.flag(command.releaseLease);
  w.varint(state.keys.length);
  state.keys.forEach((key, i) => {
    const isDelete = state.isDelete[i] === true;
    w.text(key);
    w.flag(isDelete);
    if (isDelete) return;
    const start = state.valueStart[i] ?? 0;
    w.varint(start);
    w.varint((state.valueEnd[i] ?? 0) - start);
    writeWindowEnd(w, state.windowEnds[i] ?? null);
  });
  w.flag(pushes !== null);
  if (pushes !== null) writePush(w, pushes);
  else w.varint(cycleGrows(command) ? command.body.length : 0);
}

export function readCycle(r: GuardedReader, tenant: Tenant): StreamCycleCommand {
  const id = r.view(UUID_BYTES);
  const queryId = r.refused ? '' : formatUuid(id);
  const partitionId = r.text(PARTITION_TEXT_BYTES_MAX);
  const consumerGroup = r.text(NAME_BYTES_MAX);
  checkNames(r, '', consumerGroup, '');
  const ack = r.flag() ? readAck(r) : null;
  const releaseLease = r.flag();
  const state = readState(r);
  const pushes = r.flag() ? readPush(r, tenant) : null;
  const body = pushes === null ? r.view(r.varint()) : pushes.body;
  if (state.valueEnd.some((end) => end > body.length)) r.refuse();
  const scope = { tenant, queryId, partitionId, consumerGroup };
  return { kind: 'stream-cycle', ...scope, body, state, pushes, ack, releaseLease };
}

function readAck(r: GuardedReader): StreamAck {
  return { leaseId: r.text(LEASE_TEXT_BYTES_MAX), completed: r.flag(), count: r.varint() };
}

function readState(r: GuardedReader): StateColumns {
  const keys: string[] = [];
  const valueStart: number[] = [];
  const valueEnd: number[] = [];
  const isDelete: boolean[] = [];
  const windowEnds: (number | null)[] = [];
  for (let left = r.count(OP_BYTES_MIN, COMMAND_ITEMS_MAX); left > 0 && !r.refused; left--) {
    keys.push(r.text(STREAM_KEY_BYTES_MAX));
    const deletes = r.flag();
    isDelete.push(deletes);
    const start = deletes ? 0 : r.varint();
    valueStart.push(start);
    valueEnd.push(deletes ? 0 : start + r.varint());
    windowEnds.push(deletes ? null : readWindowEnd(r));
  }
  return { keys, valueStart, valueEnd, isDelete, windowEnds };
}

const REGISTERED = 0;
const MISMATCH = 1;
const DENIED = 2;

export function writeRegistered(w: ByteWriter, { verdict }: StreamRegisteredOutcome): void {
  switch (verdict.result) {
    case 'registered':
      w.u8(REGISTERED);
      w.uuid(verdict.queryId);
      w.flag(verdict.fresh);
      w.flag(verdict.reset);
      break;
    case 'mismatch':
      w.u8(MISMATCH);
      w.uuid(verdict.queryId);
      break;
    case 'denied':
      w.u8(DENIED);
      w.flag(verdict.quota !== null);
      if (verdict.quota !== null) w.varint(verdict.quota);
      break;
  }
}

export function readRegistered(r: GuardedReader): StreamRegisteredOutcome {
  const kind = 'stream-registered';
  switch (r.u8()) {
    case REGISTERED: {
      const queryId = readUuid(r);
      const verdict = { result: 'registered', queryId, fresh: r.flag(), reset: r.flag() } as const;
      return { kind, verdict };
    }
    case MISMATCH:
      return { kind, verdict: { result: 'mismatch', queryId: readUuid(r) } };
    case DENIED:
      return { kind, verdict: { result: 'denied', quota: r.flag() ? r.varint() : null } };
    default:
      r.refuse();
      return { kind, verdict: { result: 'denied', quota: null } };
  }
}

const MISSING = 0;
const REFUSED = 1;
const COMMITTED = 2;
const REASONS = ['bad_lease', 'duplicate', 'too_large'] as const;
const ERROR_BYTES_MAX = 2 ** 31;

/** What was pushed, if anything, follows: outcomes of pushes have a form of their own. */
export function writeCycled(
  w: ByteWriter,
  { verdict }: StreamCycledOutcome,
  pushed: (outcome: PushedOutcome) => void,
): void {
  switch (verdict.result) {
    case 'missing':
      w.u8(MISSING);
      break;
    case 'refused':
      w.u8(REFUSED);
      w.u8(REASONS.indexOf(verdict.reason));
      w.text(verdict.error);
      break;
    case 'committed':
      w.u8(COMMITTED);
      w.u32(verdict.partition);
      w.text(verdict.queue);
      w.flag(verdict.ack !== null);
      if (verdict.ack !== null) {
        w.varint(verdict.ack.count);
        w.flag(verdict.ack.released);
      }
      w.flag(verdict.pushed !== null);
      if (verdict.pushed !== null) pushed(verdict.pushed);
      break;
  }
}

export function readCycled(r: GuardedReader, pushed: () => PushedOutcome): StreamCycledOutcome {
  const kind = 'stream-cycled';
  switch (r.u8()) {
    case MISSING:
      return { kind, verdict: { result: 'missing' } };
    case REFUSED: {
      const reason = r.oneOf(REASONS);
      return { kind, verdict: { result: 'refused', reason, error: r.text(ERROR_BYTES_MAX) } };
    }
    case COMMITTED: {
      const [partition, queue] = [r.u32(), r.text(NAME_BYTES_MAX)];
      const ack = r.flag() ? { count: r.varint(), released: r.flag() } : null;
      const verdict = { partition, queue, ack, pushed: r.flag() ? pushed() : null };
      return { kind, verdict: { result: 'committed', ...verdict } };
    }
    default:
      r.refuse();
      return { kind, verdict: { result: 'missing' } };
  }
}

function readUuid(r: GuardedReader): string {
  const bytes = r.view(UUID_BYTES);
  return r.refused ? '' : formatUuid(bytes);
}

/** Bytes of an entry that a change of state takes at most, beside its value. */
export function opBytes(key: string): number {
  return utf8Length(key) + 16;
}
