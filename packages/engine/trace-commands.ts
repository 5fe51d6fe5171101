/** The command that writes a trace (state-surfaces 6.1), and its form between nodes. */
import { formatUuid, TRACE_KEY_TEXT_BYTES_MAX, TRACE_NAMES_MAX } from '@svc/wire';
import type { ByteWriter } from './bytes.js';
import { findNamedPartition } from './catalog.js';
import type { Tenant } from './commands.js';
import type { Draft } from './draft.js';
import type { GuardedReader } from './guarded-reader.js';

export interface TraceCommand {
  readonly kind: 'trace';
  readonly tenant: Tenant;
  /** Not empty, without a NUL. */
  readonly transactionId: string;
  /** Digits or a UUID; null: none is named. */
  readonly partitionId: string | null;
  /** Distinct, without NULs. */
  readonly names: readonly string[];
  readonly eventType: string;
  /** The JSON text. */
  readonly data: Uint8Array;
  readonly consumerGroup: string | null;
  readonly worker: string | null;
  readonly messageId: string | null;
  /** null: the broker mints one. */
  readonly traceId: string | null;
}

export interface TracedOutcome {
  readonly kind: 'traced';
  /** null: there is no such partition, and nothing was stored. */
  readonly traceId: string | null;
}

export function planTrace(draft: Draft, command: TraceCommand): TracedOutcome {
  const { tenant, partitionId, transactionId, names, eventType, data } = command;
  const found = partitionId === null ? null : findNamedPartition(draft.state, tenant, partitionId);
  if (found === undefined) return { kind: 'traced', traceId: null };
  const traceId = command.traceId ?? draft.surroundings.newUuid(draft.nowUs);
  const { consumerGroup, worker, messageId } = command;
  const partition = found?.partition.number ?? 0;
  const place = { tenant, traceId, partition, transactionId };
  const row = { ...place, names, eventType, consumerGroup, worker, messageId };
  draft.emit({ kind: 'trace', number: draft.mintPlace(), row, data });
  return { kind: 'traced', traceId };
}

// --- between nodes -----------------------------------------------------------------------------

/** Texts that no key holds are bounded by the body that they came in. */
const TEXT_BYTES_MAX = 2 ** 31;
const HAS_MESSAGE_ID = 1;
const HAS_TRACE_ID = 2;

export function writeTraceCommand(w: ByteWriter, command: TraceCommand): void {
  const { messageId, traceId } = command;
  w.text(command.transactionId);
  w.optionalText(command.partitionId);
  w.varint(command.names.length);
  for (const name of command.names) w.text(name);
  w.text(command.eventType);
  w.optionalText(command.consumerGroup);
  w.optionalText(command.worker);
  w.u8((messageId === null ? 0 : HAS_MESSAGE_ID) | (traceId === null ? 0 : HAS_TRACE_ID));
  if (messageId !== null) w.uuid(messageId);
  if (traceId !== null) w.uuid(traceId);
  // The data themselves stand last.
  w.varint(command.data.length);
}

export function readTraceCommand(r: GuardedReader, tenant: Tenant): TraceCommand {
  const transactionId = r.text(TRACE_KEY_TEXT_BYTES_MAX);
  const partitionId = r.optionalText(TEXT_BYTES_MAX);
  const names: string[] = [];
  for (let left = r.count(1, TRACE_NAMES_MAX); left > 0 && !r.refused; left--) {
    names.push(r.text(TRACE_KEY_TEXT_BYTES_MAX));
  }
  // A NUL ends a text in a key, and a name that came twice would be counted twice.
  const isSound = [transactionId, ...names].every((text) => !text.includes('\0'));
  if (!isSound || transactionId === '' || new Set(names).size < names.length) r.refuse();
  const eventType = r.text(TRACE_KEY_TEXT_BYTES_MAX);
  const consumerGroup = r.optionalText(TRACE_KEY_TEXT_BYTES_MAX);
  const worker = r.optionalText(TRACE_KEY_TEXT_BYTES_MAX);
  const flags = r.u8();
  if (flags > (HAS_MESSAGE_ID | HAS_TRACE_ID)) r.refuse();
  const messageId = (flags & HAS_MESSAGE_ID) === 0 ? null : readUuid(r);
  const traceId = (flags & HAS_TRACE_ID) === 0 ? null : readUuid(r);
  const data = r.view(r.varint());
  const texts = { transactionId, partitionId, names, eventType, consumerGroup, worker };
  return { kind: 'trace', tenant, ...texts, data, messageId, traceId };
}

function readUuid(r: GuardedReader): string {
  const bytes = r.view(16);
  return r.refused ? '' : formatUuid(bytes);
}
