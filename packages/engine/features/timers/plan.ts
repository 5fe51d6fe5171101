/**
 * Planning a call on timers (state-surfaces 3.2): judged as a whole, then written. A transaction
 * does the same in two steps, with its other parts in between.
 */

import type { Tenant } from '../../base/commands/commands.js';
import type {
  CancelTimer,
  ScheduleTimer,
  TimerCall,
  TimerFlaw,
  TimerOp,
  TimerResult,
} from '../../base/commands/timers.js';
import type { Key } from '../../base/state.js';
import { utf8Length } from '../../base/utf8.js';
import type { Draft } from '../../draft/draft.js';
import { isEncrypting, sealedBytes } from '../../draft/payload-cipher.js';
import { findQueue } from '../../state/catalog.js';
import { type TimerRow, timerRowKey, timers, timersOfTenant } from '../../state/timers/tables.js';
import { placeKey } from '../../state/traces/tables.js';
import { PURGED_ROWS, type PurgeStep, purgeRange } from '../job.js';
import { jsonPayload, jsonPayloadBytes } from './payload.js';

/** Why nothing of the call can be done; null: all of it can. */
export function judgeTimers(draft: Draft, { tenant, ops }: TimerCall): TimerFlaw | null {
  const index = ops.findIndex((op) => {
    return op.op === 'schedule' && op.encrypted && isSealingQueue(draft, tenant, op.queue);
  });
  return index < 0 ? null : { reason: 'timers_encrypted_conflict', index };
}

function isSealingQueue(draft: Draft, tenant: Tenant, queue: string): boolean {
  if (draft.surroundings.cipher === null) return false;
  return isEncrypting(draft, findQueue(draft.state, tenant, queue));
}

/** Bytes of an operation in its entry beside its texts: a key, numbers, an id. */
const OP_BYTES = 192;

/**
 * What the call adds to its entry, at most; its outcome stands there too, with the transaction ids
 * of what it cancels.
 */
export function timersEntryBytes(draft: Draft, { tenant, producerSub, ops }: TimerCall): number {
  const subjectBytes = utf8Length(producerSub ?? '');
  let bytes = 0;
  for (const op of ops) {
    bytes += OP_BYTES + utf8Length(op.queue) + utf8Length(op.timerKey);
    if (op.op === 'cancel') {
      const row = draft.state.get(timers, timerRowKey(tenant, op.queue, op.timerKey));
      bytes += utf8Length(row?.txn ?? '');
      continue;
    }
    bytes += utf8Length(op.txn) + utf8Length(op.partition) + subjectBytes;
    const { length } = op.payload;
    const isSealed = isSealingQueue(draft, tenant, op.queue);
    bytes += isSealed ? sealedBytes(jsonPayloadBytes(length, op.isJson)) : length;
  }
  return bytes;
}

/** `nowUs`: the time of timers. Nothing fails any more. */
export function writeTimers(draft: Draft, call: TimerCall, nowUs: number): TimerResult[] {
  const cancelled: Key[] = [];
  const results = call.ops.map((op: TimerOp): TimerResult => {
    const key = timerRowKey(call.tenant, op.queue, op.timerKey);
    if (op.op === 'schedule') return schedule(draft, call, op, key, nowUs);
    return cancel(draft, op, key, cancelled);
  });
  if (cancelled.length > 0) draft.emit({ kind: 'remove-timers', keys: cancelled });
  return results;
}

function schedule(
  draft: Draft,
  { tenant, producerSub }: TimerCall,
  op: ScheduleTimer,
  key: Key,
  nowUs: number,
): TimerResult {
  const before = draft.state.get(timers, key);
  const { cipher } = draft.surroundings;
  const isSealed = cipher !== null && isSealingQueue(draft, tenant, op.queue);
  const payload = isSealed ? cipher.seal(jsonPayload(op.payload, op.isJson)) : op.payload;
  const deliverAtUs = nowUs + op.delayUs;
  const row: TimerRow = {
    place: placeKey(draft.nowUs, draft.mintPlace()),
    partition: op.partition,
    deliverAtUs,
    dueUs: deliverAtUs,
    txn: op.txn,
    messageId: draft.surroundings.newUuid(draft.nowUs),
    payloadBytes: payload.length,
    isJson: isSealed || op.isJson,
    encrypted: isSealed || op.encrypted,
    producerSub,
    attempts: 0,
    lastError: null,
    createdAtUs: before?.createdAtUs ?? nowUs,
    updatedAtUs: nowUs,
  };
  draft.emit({ kind: 'timer', key, row, payload });
  const status = before === undefined ? 'scheduled' : 'rescheduled';
  return { status, messageId: row.messageId, deliverAtUs };
}

function cancel(draft: Draft, _op: CancelTimer, key: Key, cancelled: Key[]): TimerResult {
  const row = draft.state.get(timers, key);
  if (row === undefined) return { status: 'absent' };
  cancelled.push(key);
  return { status: 'cancelled', txn: row.txn };
}

export function purgeTimers(step: PurgeStep): string | null {
  return purgeRange(step, timers, timersOfTenant(step.tenant), PURGED_ROWS, (found) => {
    step.draft.emit({ kind: 'remove-timers', keys: found.map(({ key }) => key) });
  });
}
