/**
 * Transactions as bytes between nodes:
 *
 *     acks     := count, each: group | ack
 *     positions:= count, each: queue | group | partition | offset or none | metadata or none | mode
 *     command  := acks | positions | kv or none | timers or none | flaw or none
 *                | | trace ids or none | push or none
 *
 * The push stands last, for its body does.
 */
import { formatUuid, NAME_BYTES_MAX, POSITION_METADATA_BYTES_MAX, POSITIONS_MAX } from '@svc/wire';
import type { ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import { checkNames } from '../base/commands/names.js';
import type {
  Position,
  Rollback,
  RollbackReason,
  TransactionAck,
  TransactionCommand,
} from '../base/commands/transaction.js';
import type { GuardedReader } from '../base/guarded-reader.js';
import { subscription } from '../base/rows.js';
import { readKvCall, readKvFailure, writeKvCall, writeKvFailure } from './kv-codec.js';
import {
  ACK_BYTES_MIN,
  COMMAND_ITEMS_MAX,
  readAckItem,
  readPush,
  writeAckItem,
  writePush,
} from './push-ack-codec.js';
import { readTimerCall, writeTimerCall } from './timer-codec.js';

const REASONS: readonly [RollbackReason, ...RollbackReason[]] = [
  'rejected_ack',
  'duplicate',
  'queue_not_found',
  'unavailable',
  'too_large',
  'name_too_long',
  'kv_precondition',
  'kv_disabled',
  'kv_check_needs_cluster_version_5',
  'timers_disabled',
  'timers_encrypted_conflict',
];
const UUID_BYTES = 16;
const TEXT_BYTES_MAX = 2 ** 31;
/** Three names, two flags and a mode. */
const POSITION_BYTES_MIN = 6;

export function writeTransaction(w: ByteWriter, command: TransactionCommand): void {
  const { acks, pushes, traceIds, positions, kv, timers, flaw } = command;
  w.varint(acks.length);
  for (const ack of acks) {
    w.text(ack.consumerGroup);
    writeAckItem(w, ack);
  }
  w.varint(positions.length);
  for (const position of positions) writePosition(w, position);
  w.flag(kv !== null);
  if (kv !== null) writeKvCall(w, kv);
  w.flag(timers !== null);
  if (timers !== null) writeTimerCall(w, timers);
  writeRollback(w, flaw);
  w.flag(traceIds !== null);
  if (traceIds !== null) writeTraceIds(w, traceIds);
  w.flag(pushes !== null);
  if (pushes !== null) writePush(w, pushes);
}

function writePosition(w: ByteWriter, position: Position): void {
  w.text(position.queue);
  w.text(position.consumerGroup);
  w.text(position.partition);
  w.flag(position.offset !== null);
  if (position.offset !== null) w.varint(position.offset);
  w.optionalText(position.metadata);
  subscription.write(w, position.subscription);
}

function writeTraceIds(w: ByteWriter, traceIds: readonly (string | null)[]): void {
  w.varint(traceIds.length);
  for (const id of traceIds) {
    w.flag(id !== null);
    if (id !== null) w.uuid(id);
  }
}

/** A flag stands before it: null is no rollback. */
export function writeRollback(w: ByteWriter, rollback: Rollback | null): void {
  w.flag(rollback !== null);
  if (rollback === null) return;
  w.u8(REASONS.indexOf(rollback.reason));
  w.text(rollback.error);
  w.flag(rollback.kv !== undefined);
  if (rollback.kv !== undefined) writeKvFailure(w, rollback.kv);
}

export function readTransaction(r: GuardedReader, tenant: Tenant): TransactionCommand {
  const acks: TransactionAck[] = [];
  for (let left = r.count(ACK_BYTES_MIN + 1, COMMAND_ITEMS_MAX); left > 0 && !r.refused; left--) {
    const consumerGroup = r.text(NAME_BYTES_MAX);
    checkNames(r, '', consumerGroup, '');
    acks.push({ consumerGroup, ...readAckItem(r) });
  }
  const positions: Position[] = [];
  for (let left = r.count(POSITION_BYTES_MIN, POSITIONS_MAX); left > 0 && !r.refused; left--) {
    positions.push(readPosition(r));
  }
  const kv = r.flag() ? readKvCall(r, tenant) : null;
  const timers = r.flag() ? readTimerCall(r, tenant) : null;
  const flaw = readRollback(r);
  const traceIds = r.flag() ? readTraceIds(r) : null;
  const pushes = r.flag() ? readPush(r, tenant) : null;
  if (traceIds !== null && traceIds.length !== pushes?.itemGroup.length) r.refuse();
  return { kind: 'transaction', tenant, acks, pushes, traceIds, positions, kv, timers, flaw };
}

function readPosition(r: GuardedReader): Position {
  const queue = r.text(NAME_BYTES_MAX);
  const consumerGroup = r.text(NAME_BYTES_MAX);
  const partition = r.text(NAME_BYTES_MAX);
  checkNames(r, queue, consumerGroup, partition);
  return {
    queue,
    consumerGroup,
    partition,
    offset: r.flag() ? r.varint() : null,
    metadata: r.optionalText(POSITION_METADATA_BYTES_MAX),
    subscription: subscription.read(r),
  };
}

function readTraceIds(r: GuardedReader): (string | null)[] {
  const ids: (string | null)[] = [];
  for (let left = r.count(1, COMMAND_ITEMS_MAX); left > 0 && !r.refused; left--) {
    if (!r.flag()) ids.push(null);
    else {
      const bytes = r.view(UUID_BYTES);
      ids.push(r.refused ? null : formatUuid(bytes));
    }
  }
  return ids;
}

export function readRollback(r: GuardedReader): Rollback | null {
  if (!r.flag()) return null;
  const rollback = { reason: r.oneOf(REASONS), error: r.text(TEXT_BYTES_MAX) };
  return r.flag() ? { ...rollback, kv: readKvFailure(r) } : rollback;
}
