/**
 * The form of stream cycles and their outcomes between nodes, by hand for the pushes in them:
 *
 *     cycle    := query | partition | group | ack or none | release | ops | push or body length
 *
 * The body of a cycle is last, as that of a push is; its state values are places in it.
 */
import { NAME_BYTES_MAX, STREAM_KEY_BYTES_MAX } from '@svc/wire';
import type { ByteWriter } from '../base/bytes.js';
import type { PushedOutcome, Tenant } from '../base/commands/commands.js';
import { checkNames } from '../base/commands/names.js';
import {
  cycleGrows,
  type StateColumns,
  type StreamAck,
  type StreamCycleCommand,
  type StreamCycledOutcome,
} from '../base/commands/streams.js';
import { uuid } from '../base/fields/field.js';
import type { GuardedReader } from '../base/guarded-reader.js';
import { windowEnd } from '../state/streams/tables.js';
import { COMMAND_ITEMS_MAX, readPush, writePush } from './push-ack-codec.js';

/** A partition's name here is digits or a UUID, and whatever else is no partition. */
const PARTITION_TEXT_BYTES_MAX = 2 ** 31;
const LEASE_TEXT_BYTES_MAX = 2 ** 31;
/** A key, and what is done with it. */
const OP_BYTES_MIN = 2;

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
    windowEnd.write(w, state.windowEnds[i] ?? null);
  });
  w.flag(pushes !== null);
  if (pushes !== null) writePush(w, pushes);
  else w.varint(cycleGrows(command) ? command.body.length : 0);
}

export function readCycle(r: GuardedReader, tenant: Tenant): StreamCycleCommand {
  const queryId = uuid.read(r);
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
    windowEnds.push(deletes ? null : windowEnd.read(r));
  }
  return { keys, valueStart, valueEnd, isDelete, windowEnds };
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
