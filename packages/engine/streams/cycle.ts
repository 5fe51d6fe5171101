/**
 * Planning a cycle (streams 4): changes of state, pushes to sinks and the acknowledgement of the
 * batch that they were made of, all in one entry or none of them.
 *
 * What must hold:
 * - First everything is judged, then everything is written, and nothing fails in between: an
 *   emitted effect cannot be taken back. What was refused has left nothing, not even a queue.
 * - The acknowledgement fences the whole: unless the caller holds the lease of this partition and
 *   group now, nothing is done. So of two workers that were given one batch, one after the other's
 *   lease ran out, one commits; and a cycle that is sent again after it was committed finds its
 *   lease gone or, kept by a partial acknowledgement, does again what its sender asks for.
 * - A sink item whose transaction id is known refuses the whole, and so do two items of one id for
 *   one partition: the pushes stand or fall with the rest.
 *
 * The pushes are only placed here, like those of a transaction (transaction-plan.ts); their appends
 * are written at the end of the turn, into the same entry, before any pop is served.
 */

import { assert } from '../base/assert.js';
import type { PushCommand, RefusedOutcome } from '../base/commands/commands.js';
import {
  type CycleRefusal,
  opBytes,
  type StreamAck,
  type StreamCycleCommand,
  type StreamCycledOutcome,
} from '../base/commands/streams.js';
import type { Refusal } from '../base/refusals.js';
import type { CursorRow, LeaseState, PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { ATOMIC_UNITS_MAX, PRICES, tooMuchWork } from '../base/work-prices.js';
import type { Subject } from '../delivery/ack-dead-letters.js';
import { fenceOf, subjectOf, type TargetChange, writeTarget } from '../delivery/ack-target.js';
import { heldUntil } from '../delivery/backoff.js';
import type { DeliveryMemory } from '../delivery/memory.js';
import type { Draft } from '../draft/draft.js';
import type { PushPlan } from '../push/push.js';
import { findNamedPartition } from '../state/catalog.js';
import type { StreamChange } from '../state/streams/apply.js';
import { stateKey, streamStates } from '../state/streams/tables.js';
import { signalledUpTo } from '../state/subscription.js';
import { findQuery } from './register.js';

/** A cycle that has its verdict. */
export interface PlacedCycle {
  /** To be asked for when the pushes of the turn are written. */
  outcome(): StreamCycledOutcome | RefusedOutcome;
}

type Verdict = StreamCycledOutcome['verdict'];

export function planCycle(
  draft: Draft,
  memory: DeliveryMemory,
  entryBytesMax: number,
  command: StreamCycleCommand,
  pushes: PushPlan,
): PlacedCycle {
  const { tenant, partitionId, queryId } = command;
  const query = findQuery(draft.state, tenant, queryId);
  const found = findNamedPartition(draft.state, tenant, partitionId);
  if (query === undefined || found === undefined) return settled({ result: 'missing' });
  const { queue, partition } = found;
  const ack = judgeAck(draft, memory, command, partition);
  if (ack === 'bad_lease') return settled(refused(ack, BAD_LEASE));
  const size: CycleSize = {
    units: command.state.keys.length * PRICES.streamKey,
    refusal: null,
  };
  const flaw = judgeWrites(command, pushes, entryBytesMax, size);
  if (size.units > ATOMIC_UNITS_MAX) {
    const refusal = tooMuchWork('cycle', size.units);
    return { outcome: () => ({ kind: 'refused', refusal }) };
  }
  const { refusal } = size;
  if (refusal !== null) return { outcome: () => ({ kind: 'refused', refusal }) };
  if (flaw !== null) return settled(flaw);
  draft.spend(command.state.keys.length * PRICES.streamKey);
  const { store } = query;
  const changes = changesOf(draft.state, command, store, partition.number);
  if (changes.length > 0) {
    draft.emit({ kind: 'stream-state', store, partition: partition.number, changes });
  }
  if (ack?.change) writeTarget(draft, memory, ack.change);
  const placed = command.pushes === null ? null : pushes.placeAll(command.pushes, null);
  const result = 'committed';
  const done = ack === null ? null : { count: ack.count, released: ack.released };
  return {
    outcome: () => {
      const pushed = placed === null ? null : placed.outcome();
      const where = { partition: partition.number, queue: queue.name };
      return { kind: 'stream-cycled', verdict: { result, ...where, ack: done, pushed } };
    },
  };
}

function settled(verdict: Verdict): PlacedCycle {
  return { outcome: () => ({ kind: 'stream-cycled', verdict }) };
}

function refused(reason: CycleRefusal, error: string): Verdict {
  return { result: 'refused', reason, error };
}

// --- the acknowledgement -------------------------------------------------------------------------

const BAD_LEASE = 'the lease is not the current one of this partition and group, or it has expired';

interface JudgedAck {
  /** null: the cursor stays as it is. */
  readonly change: TargetChange | null;
  readonly count: number;
  readonly released: boolean;
}

/** null: nothing is acknowledged, and nothing is fenced. */
function judgeAck(
  draft: Draft,
  memory: DeliveryMemory,
  { tenant, consumerGroup, ack, releaseLease }: StreamCycleCommand,
  { number }: PartitionRow,
): JudgedAck | 'bad_lease' | null {
  if (ack === null) return null;
  const subject = subjectOf(draft, tenant, number, consumerGroup);
  if (subject === 'no-partition' || subject === 'no-cursor') return 'bad_lease';
  if (fenceOf(draft, memory, subject, ack.leaseId) !== 'held') return 'bad_lease';
  const { lease } = subject.cursor;
  assert(lease !== null, `lease ${ack.leaseId} is held, but on no record`);
  const moved = moveBy(draft.nowUs, subject, lease, ack, releaseLease);
  const { row, count } = moved;
  if (row === null) return { change: null, count, released: false };
  const released = row.lease === null;
  return { change: { subject, letters: [], row, released }, count, released };
}

interface Moved {
  /** null: as it is. */
  readonly row: CursorRow | null;
  readonly count: number;
}

function moveBy(
  nowUs: number,
  { queue, partition, cursor }: Subject,
  lease: LeaseState,
  { completed, count }: StreamAck,
  releaseLease: boolean,
): Moved {
  const first = Math.max(cursor.committed + 1, partition.logStart);
  if (!completed) {
    const heldUntilUs = heldUntil(nowUs, queue.options, cursor.attempt);
    return { row: { ...redelivered(cursor, lease, first), heldUntilUs }, count: 0 };
  }
  if (releaseLease) {
    const { id: leaseId, batchEnd: last } = lease;
    const row: CursorRow = {
      ...passed(cursor, last, count),
      lease: null,
      settled: { leaseId, first: cursor.attemptOffset, last },
      retries: 0,
    };
    return { row, count };
  }
  // A lease on last values spans what it passes over, but only its last message was delivered.
  const leased = lease.conflation ? 1 : lease.batchEnd - first + 1;
  const done = Math.max(0, Math.min(count, leased));
  if (done === 0) return { row: null, count: 0 };
  const committed = lease.conflation ? lease.batchEnd : first + done - 1;
  const row = passed(cursor, committed, done);
  // A redelivery from the next message is one more of the batch.
  return { row: { ...row, attemptOffset: committed + 1 }, count: done };
}

/** Everything up to `committed` is done. */
function passed(cursor: CursorRow, committed: number, count: number): CursorRow {
  return {
    ...cursor,
    committed,
    // What a client says that it has consumed, whatever it says, is a number that a row can hold.
    totalConsumed: Math.min(cursor.totalConsumed + count, Number.MAX_SAFE_INTEGER),
    signalled: signalledUpTo(cursor),
    metadata: null,
  };
}

/** The batch comes again, and no attempt is charged, as after a `retry` of its first message. */
function redelivered(cursor: CursorRow, lease: LeaseState, first: number): CursorRow {
  const last = lease.batchEnd;
  const signalled = { first: lease.conflation ? last : Math.min(first, last), last };
  return { ...cursor, lease: null, signalled };
}

// --- state and pushes ----------------------------------------------------------------------------

/** Bytes in an entry: a cursor row beside its texts, and the heads of the effects. */
const CYCLE_BYTES = 1024;

/** Units of work of the whole, as far as it was judged (work-prices.ts). */
interface CycleSize {
  units: number;
  /** It makes more names than there may be. */
  refusal: Refusal | null;
}

function judgeWrites(
  command: StreamCycleCommand,
  plan: PushPlan,
  entryBytesMax: number,
  size: CycleSize,
): Verdict | null {
  const { state, pushes, consumerGroup } = command;
  if (size.units > ATOMIC_UNITS_MAX) return null;
  let bytes = CYCLE_BYTES + consumerGroup.length * 3;
  state.keys.forEach((key, i) => {
    bytes += opBytes(key) + (state.valueEnd[i] ?? 0) - (state.valueStart[i] ?? 0);
  });
  if (pushes !== null) {
    const twice = firstRepeat(pushes);
    if (twice !== null) return refused('duplicate', `${twice}; nothing was applied`);
    const verdict = plan.judge(pushes, ATOMIC_UNITS_MAX - size.units);
    if (verdict.kind === 'too-much') {
      size.units += verdict.units;
      return null;
    }
    if (verdict.kind === 'no-names') {
      size.refusal = verdict.refusal;
      return null;
    }
    if (verdict.kind === 'duplicate') {
      const { group, offset } = verdict;
      const what = `a pushed message to ${group.queue}/${group.partition} is a duplicate`;
      return refused('duplicate', `${what} (original offset ${offset}); nothing was applied`);
    }
    bytes += verdict.bytes;
  }
  if (bytes <= entryBytesMax) return null;
  const what = `the cycle takes ${bytes} bytes, an entry holds ${entryBytesMax}`;
  return refused('too_large', `${what}; nothing was applied`);
}

/** null: no two items of one partition have the same id. */
function firstRepeat({ groups, itemGroup, transactionIds }: PushCommand): string | null {
  const ids = groups.map(() => new Set<string>());
  for (const [item, at] of itemGroup.entries()) {
    const id = transactionIds[item] ?? null;
    if (id === null) continue;
    if (ids[at]?.has(id)) {
      const { queue = '', partition = '' } = groups[at] ?? {};
      return `two messages to ${queue}/${partition} have the transaction id ${id}`;
    }
    ids[at]?.add(id);
  }
  return null;
}

/** `null`. */
const NULL_TEXT = new Uint8Array([0x6e, 0x75, 0x6c, 0x6c]);

/** What the operations come to: of each key the last one, unless it deletes what is not there. */
function changesOf(
  state: State,
  { state: ops, body }: StreamCycleCommand,
  store: number,
  partition: number,
): StreamChange[] {
  const last = new Map<string, number>();
  ops.keys.forEach((key, i) => {
    last.set(key, i);
  });
  const changes: StreamChange[] = [];
  for (const [key, i] of last) {
    const before = state.get(streamStates, stateKey(store, partition, key));
    const replacedBytes = before?.valueBytes ?? null;
    if (ops.isDelete[i]) {
      if (before === undefined) continue;
      changes.push({ key, value: null, windowEnd: null, replacedBytes });
      continue;
    }
    const [start, end] = [ops.valueStart[i] ?? 0, ops.valueEnd[i] ?? 0];
    // A copy, or a row of some bytes would keep the whole body.
    const value = end > start ? new Uint8Array(body.subarray(start, end)) : NULL_TEXT;
    changes.push({ key, value, windowEnd: ops.windowEnds[i] ?? null, replacedBytes });
  }
  return changes;
}
