/**
 * Calls on timers and what came of them, as bytes between nodes:
 *
 *     call:    subject or none | count, each: flags u8 | queue | timer key | schedule or cancel
 *     schedule:= partition | delay | txn | payload
 *     cancel  := txn or none
 *     outcome: flaw or none | count, each: status u8 | [id, instant] or [txn]
 */
import {
  formatUuid,
  NAME_BYTES_MAX,
  TIMER_DELAY_US_MAX,
  TIMER_OPS_MAX,
  TRANSACTION_ID_BYTES_MAX,
} from '@svc/wire';
import type { ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import { checkNames } from '../base/commands/names.js';
import type { TimerCall, TimerOp, TimerResult, TimersOutcome } from '../base/commands/timers.js';
import type { GuardedReader } from '../base/guarded-reader.js';

const IS_SCHEDULE = 1;
const IS_JSON = 2;
const IS_ENCRYPTED = 4;
const FLAGS_MAX = IS_SCHEDULE | IS_JSON | IS_ENCRYPTED;
/** Flags, two lengths, a key of one byte, none. */
const OP_BYTES_MIN = 5;
const TEXT_BYTES_MAX = 2 ** 31;
const UUID_BYTES = 16;
const STATUSES = ['scheduled', 'rescheduled', 'cancelled', 'absent'] as const;

export function writeTimerCall(w: ByteWriter, { producerSub, ops }: TimerCall): void {
  w.optionalText(producerSub);
  w.varint(ops.length);
  for (const op of ops) writeOp(w, op);
}

function writeOp(w: ByteWriter, op: TimerOp): void {
  if (op.op === 'schedule') {
    w.u8(IS_SCHEDULE | (op.isJson ? IS_JSON : 0) | (op.encrypted ? IS_ENCRYPTED : 0));
  } else w.u8(0);
  w.text(op.queue);
  w.text(op.timerKey);
  if (op.op === 'cancel') {
    w.optionalText(op.txn);
    return;
  }
  w.text(op.partition);
  w.varint(op.delayUs);
  w.text(op.txn);
  w.blob(op.payload);
}

export function readTimerCall(r: GuardedReader, tenant: Tenant): TimerCall {
  const producerSub = r.optionalText(TEXT_BYTES_MAX);
  const ops: TimerOp[] = [];
  const names = new Set<string>();
  for (let left = r.count(OP_BYTES_MIN, TIMER_OPS_MAX); left > 0 && !r.refused; left--) {
    const op = readOp(r);
    ops.push(op);
    names.add(`${op.queue}\0${op.timerKey}`);
  }
  if (names.size < ops.length) r.refuse();
  return { kind: 'timers', tenant, producerSub, ops };
}

function readOp(r: GuardedReader): TimerOp {
  const flags = r.u8();
  if (flags > FLAGS_MAX) r.refuse();
  const queue = r.text(NAME_BYTES_MAX);
  const timerKey = r.text(NAME_BYTES_MAX);
  checkNames(r, queue, '', timerKey);
  // A NUL ends a queue's name in a key.
  if (timerKey === '' || `${queue}${timerKey}`.includes('\0')) r.refuse();
  if ((flags & IS_SCHEDULE) === 0) {
    return { op: 'cancel', queue, timerKey, txn: r.optionalText(TRANSACTION_ID_BYTES_MAX) };
  }
  const partition = r.text(NAME_BYTES_MAX);
  checkNames(r, queue, '', partition);
  return {
    op: 'schedule',
    queue,
    timerKey,
    partition,
    delayUs: r.within(0, TIMER_DELAY_US_MAX),
    txn: r.text(TRANSACTION_ID_BYTES_MAX),
    payload: r.view(r.varint()),
    isJson: (flags & IS_JSON) !== 0,
    encrypted: (flags & IS_ENCRYPTED) !== 0,
  };
}

export function writeTimersOutcome(w: ByteWriter, { flaw, results }: TimersOutcome): void {
  w.flag(flaw !== null);
  if (flaw !== null) w.varint(flaw.index);
  w.varint(results.length);
  for (const result of results) {
    w.u8(STATUSES.indexOf(result.status));
    if (result.status === 'cancelled') w.text(result.txn);
    else if (result.status !== 'absent') {
      w.uuid(result.messageId);
      w.varint(result.deliverAtUs);
    }
  }
}

export function readTimersOutcome(r: GuardedReader): TimersOutcome {
  const flaw = r.flag()
    ? ({ reason: 'timers_encrypted_conflict', index: r.within(0, TIMER_OPS_MAX) } as const)
    : null;
  const results: TimerResult[] = [];
  for (let left = r.count(1, TIMER_OPS_MAX); left > 0 && !r.refused; left--) {
    results.push(readResult(r));
  }
  return { kind: 'timers', flaw, results };
}

function readResult(r: GuardedReader): TimerResult {
  const status = r.oneOf(STATUSES);
  if (status === 'absent') return { status };
  if (status === 'cancelled') return { status, txn: r.text(TRANSACTION_ID_BYTES_MAX) };
  const id = r.view(UUID_BYTES);
  return { status, messageId: r.refused ? '' : formatUuid(id), deliverAtUs: r.varint() };
}
