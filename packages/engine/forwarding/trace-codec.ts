/** The form of the command that writes a trace, between nodes. */
import { formatUuid, TRACE_KEY_TEXT_BYTES_MAX, TRACE_NAMES_MAX } from '@svc/wire';
import type { ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import type { TraceCommand } from '../base/commands/traces.js';
import type { GuardedReader } from '../base/guarded-reader.js';

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
