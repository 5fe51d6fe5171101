/**
 * Answers of the key/value routes (state-surfaces 1.6, 1.7). They hold values byte for byte, so
 * they are put together as byte strings: every char code is one byte.
 */
import type { KvFailure, KvJson, KvOp, KvOutcome, KvResult, KvView, Refusal } from '@svc/engine';
import { formatStampUs } from '@svc/wire';
import { errorText, type Status } from './errors.js';
import type { Exchange } from './exchange.js';
import { quotedBytes, quotedBytesOrNull } from './json-text.js';
import type { KvFault } from './kv-op-rules.js';

/** A longer failure is told without what stands in it. */
export const FAILURE_CHARS_MAX = 4096;
const ZERO = 0x30;
const TOO_LARGE: ReadonlySet<string> = new Set(['kv_key_too_large', 'kv_value_too_large']);

/** `{"error","reason","detail"}` (state-surfaces 0.2). */
export function kvErrorText(error: string, reason: string, detail: string): string {
  return JSON.stringify({ error, reason, detail });
}

export function refuseKvFault(exchange: Exchange, fault: KvFault): void {
  const { reason, message } = fault;
  const error = TOO_LARGE.has(reason) ? 'payload_too_large' : 'kv_bad_request';
  exchange.json(kvFaultStatus(fault), kvErrorText(error, reason, message));
}

export function kvFaultStatus({ reason }: KvFault): Status {
  return TOO_LARGE.has(reason) ? '413 Payload Too Large' : '400 Bad Request';
}

/** A refusal of the engine. What the state machine says looks alike on all surfaces (0.2). */
export function refuseKv(exchange: Exchange, refusal: Refusal): void {
  const { reason, error, leader } = refusal;
  switch (reason) {
    case 'overloaded':
      exchange.json('429 Too Many Requests', errorText(error, reason, leader), true);
      break;
    case 'too_large':
      exchange.json('413 Payload Too Large', kvErrorText('payload_too_large', reason, error));
      break;
    case 'kv_check_needs_cluster_version_5':
      exchange.json('503 Service Unavailable', kvErrorText('kv_unavailable', reason, error), true);
      break;
    default:
      exchange.refuse(refusal);
  }
}

/** Of the whole call. */
export function outcomeText(ops: readonly KvOp[], { failure, results }: KvOutcome): string {
  if (failure !== null) return failureText(failure);
  let text = '{"results":[';
  for (let i = 0; i < ops.length; i++) {
    if (i > 0) text += ',';
    text += elementText(`{"index":${i}`, ops[i] as KvOp, results[i] as KvResult);
  }
  return `${text}]}`;
}

export function failureText(failure: KvFailure): string {
  const begin = '{"ok":false,"reason":"kv_precondition"';
  const text = `${begin},${failureMembers(failure, failure.index)}}`;
  return isTooLong(text) ? `${begin}}` : text;
}

/** `index` is where the operation stands among the results of the whole call. */
export function failureMembers({ loss, version, value }: KvFailure, index: number): string {
  const member = valueText(value);
  return `"failedIndex":${index},"kvReason":"${loss}","version":${version},"value":${member}`;
}

function isTooLong(text: string): boolean {
  if (text.length <= FAILURE_CHARS_MAX) return false;
  return Buffer.from(text, 'latin1').toString('utf8').length > FAILURE_CHARS_MAX;
}

/** `head` opens the object and holds where the element stands. */
export function elementText(head: string, op: KvOp, result: KvResult): string {
  const begin = `${head},"op":"${op.op}"`;
  switch (result.kind) {
    case 'got': {
      const found = result.row !== null;
      const key = op.op === 'get' ? op.key : '';
      const start = `${begin},"found":${found}`;
      return result.row === null
        ? `${start},"key":${quotedBytes(key)}}`
        : `${start},${viewMembers(result.row)}}`;
    }
    case 'many': {
      const missing = result.missing.map(quotedBytes).join();
      const rows = result.rows.map(viewText).join();
      return `${begin},"rows":[${rows}],"missing":[${missing}],"truncated":${result.truncated}}`;
    }
    case 'page': {
      const rows = result.rows.map(viewText).join();
      const next = quotedBytesOrNull(result.nextAfter);
      return `${begin},"rows":[${rows}],"truncated":${result.truncated},"nextAfter":${next}}`;
    }
    case 'put': {
      const { key, value } = op as Extract<KvOp, { readonly value: KvJson }>;
      const { version } = result;
      const name = quotedBytes(key);
      return `${begin},"applied":true,"key":${name},"value":${value},"version":${version}}`;
    }
    case 'judged': {
      const { loss, version } = result;
      const { key } = op as Extract<KvOp, { readonly key: string }>;
      const verdict = loss === null ? '"applied":true' : `"applied":false,"reason":"${loss}"`;
      const isHeldCheck = op.op === 'check' && loss === null;
      const value = isHeldCheck ? '' : `"value":${valueText(result.value)},`;
      return `${begin},${verdict},"key":${quotedBytes(key)},${value}"version":${version}}`;
    }
  }
}

function viewText(view: KvView): string {
  return `{${viewMembers(view)}}`;
}

/** Without the value where only keys were asked for. */
function viewMembers({ key, value, version, expiresAtUs, updatedAtUs }: KvView): string {
  const shown = value === null ? '' : `"value":${value},`;
  const expires = expiresAtUs === null ? 'null' : `"${kvStamp(expiresAtUs)}"`;
  return (
    `"key":${quotedBytes(key)},${shown}"version":${version},"expiresAt":${expires},` +
    `"updatedAt":"${kvStamp(updatedAtUs)}"`
  );
}

export function valueText(value: KvJson | null): string {
  return value ?? 'null';
}

/** `2026-09-22T10:15:30.1234+00:00`: no zeros at the end of the fraction (state-surfaces 0.5). */
export function kvStamp(stampUs: number): string {
  // Up to the seconds 19 characters, then the point and six digits.
  const text = formatStampUs(stampUs);
  let end = 26;
  while (end > 20 && text.charCodeAt(end - 1) === ZERO) end--;
  return `${text.slice(0, end === 20 ? 19 : end)}+00:00`;
}
