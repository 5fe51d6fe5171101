/**
 * Answers of the key/value routes (state-surfaces 1.6, 1.7). They show values byte for byte, and
 * may be megabytes of them: each is copied once, to where the answer is sent from.
 */
import type { KvFailure, KvJson, KvOp, KvOutcome, KvResult, KvView, Refusal } from '@svc/engine';
import { either } from '@svc/schema';
import { errorAnswer, formatStampUs, surfaceErrorAnswer } from '@svc/wire';
import { AnswerBytes } from '../../exchange/answer-bytes.js';
import { errorText, type Status } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { quotedBytes, quotedBytesOrNull } from '../../json/json-text.js';
import { answer } from '../../routing/endpoint.js';
import { bufferOf } from '../../routing/message-text.js';
import type { KvFault } from './kv-op-rules.js';

/** A longer failure is told without what stands in it. */
export const FAILURE_CHARS_MAX = 4096;
/** Room for an element beside its value: names, numbers, and a key of ordinary length. */
const ELEMENT_BYTES = 256;
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

/** The answer to the whole call. */
export function outcomeBytes(ops: readonly KvOp[], { failure, results }: KvOutcome): Buffer {
  if (failure !== null) return Buffer.from(failureText(failure), 'latin1');
  const into = new AnswerBytes(resultsLength(ops, results));
  into.write('{"results":[');
  for (let i = 0; i < ops.length; i++) {
    const head = `${i > 0 ? ',' : ''}{"index":${i}`;
    writeElement(into, head, ops[i] as KvOp, results[i] as KvResult);
  }
  into.write(']}');
  return into.finish();
}

/** About the bytes of elements: exact in their values. */
export function resultsLength(ops: readonly KvOp[], results: readonly KvResult[]): number {
  let bytes = 64;
  for (let i = 0; i < results.length; i++) {
    const result = results[i] as KvResult;
    if (result.kind === 'many' || result.kind === 'page') {
      for (const row of result.rows) bytes += ELEMENT_BYTES + (row.value?.length ?? 0);
    } else bytes += ELEMENT_BYTES + (valueShown(ops[i] as KvOp, result)?.length ?? 0);
  }
  return bytes;
}

function valueShown(op: KvOp, result: KvResult): KvJson | null {
  if (result.kind === 'got') return result.row?.value ?? null;
  if (result.kind === 'put') return 'value' in op ? op.value : null;
  return result.kind === 'judged' ? result.value : null;
}

export function failureText(failure: KvFailure): string {
  const begin = '{"ok":false,"reason":"kv_precondition"';
  const text = `${begin},${failureMembers(failure, failure.index)}}`;
  return isTooLong(text) ? `${begin}}` : text;
}

/** `index` is where the operation stands among the results of the whole call. */
export function failureMembers({ loss, version, value }: KvFailure, index: number): string {
  const member = value === null ? 'null' : bufferOf(value).toString('latin1');
  return `"failedIndex":${index},"kvReason":"${loss}","version":${version},"value":${member}`;
}

function isTooLong(text: string): boolean {
  if (text.length <= FAILURE_CHARS_MAX) return false;
  return Buffer.from(text, 'latin1').toString('utf8').length > FAILURE_CHARS_MAX;
}

/** `head` opens the object and holds where the element stands. */
export function writeElement(into: AnswerBytes, head: string, op: KvOp, result: KvResult): void {
  const begin = `${head},"op":"${op.op}"`;
  switch (result.kind) {
    case 'got': {
      const { row } = result;
      const key = op.op === 'get' ? op.key : '';
      if (row === null) into.write(`${begin},"found":false,"key":${quotedBytes(key)}}`);
      else writeView(into, `${begin},"found":true,`, row);
      break;
    }
    case 'many': {
      writeViews(into, `${begin},"rows":[`, result.rows);
      const missing = result.missing.map(quotedBytes).join();
      into.write(`],"missing":[${missing}],"truncated":${result.truncated}}`);
      break;
    }
    case 'page': {
      writeViews(into, `${begin},"rows":[`, result.rows);
      const next = quotedBytesOrNull(result.nextAfter);
      into.write(`],"truncated":${result.truncated},"nextAfter":${next}}`);
      break;
    }
    case 'put': {
      const { key, value } = op as Extract<KvOp, { readonly value: KvJson }>;
      into.write(`${begin},"applied":true,"key":${quotedBytes(key)},"value":`);
      into.copy(value, 0, value.length);
      into.write(`,"version":${result.version}}`);
      break;
    }
    case 'judged': {
      const { loss, value, version } = result;
      const { key } = op as Extract<KvOp, { readonly key: string }>;
      const verdict = loss === null ? '"applied":true' : `"applied":false,"reason":"${loss}"`;
      into.write(`${begin},${verdict},"key":${quotedBytes(key)},`);
      const isHeldCheck = op.op === 'check' && loss === null;
      if (!isHeldCheck) {
        into.write('"value":');
        writeValue(into, value);
        into.write(',');
      }
      into.write(`"version":${version}}`);
      break;
    }
  }
}

function writeViews(into: AnswerBytes, head: string, rows: readonly KvView[]): void {
  into.write(head);
  rows.forEach((row, i) => {
    writeView(into, i > 0 ? ',{' : '{', row);
  });
}

/** Without the value where only keys were asked for. */
function writeView(into: AnswerBytes, head: string, view: KvView): void {
  const { key, value, version, expiresAtUs, updatedAtUs } = view;
  into.write(`${head}"key":${quotedBytes(key)},`);
  if (value !== null) {
    into.write('"value":');
    into.copy(value, 0, value.length);
    into.write(',');
  }
  const expires = expiresAtUs === null ? 'null' : `"${kvStamp(expiresAtUs)}"`;
  into.write(`"version":${version},"expiresAt":${expires},"updatedAt":"${kvStamp(updatedAtUs)}"}`);
}

function writeValue(into: AnswerBytes, value: KvJson | null): void {
  if (value === null) into.write('null');
  else into.copy(value, 0, value.length);
}

/** `2026-09-22T10:15:30.1234+00:00`: no zeros at the end of the fraction (state-surfaces 0.5). */
export function kvStamp(stampUs: number): string {
  // Up to the seconds 19 characters, then the point and six digits.
  const text = formatStampUs(stampUs);
  let end = 26;
  while (end > 20 && text.charCodeAt(end - 1) === ZERO) end--;
  return `${text.slice(0, end === 20 ? 19 : end)}+00:00`;
}

function surfaceRefusal(description: string) {
  return answer(description, either(surfaceErrorAnswer, errorAnswer));
}

/** What calls of key/value, locks and timers can be answered besides. */
export const SURFACE_REFUSALS = {
  400: surfaceRefusal('`reason` names what is wrong.'),
  403: surfaceRefusal('`feature_gated` or a quota: waiting does not help.'),
  413: surfaceRefusal('`payload_too_large`: `reason` names what is.'),
  429: surfaceRefusal('`rate_limited`; `Retry-After` says when one more may come.'),
  503: surfaceRefusal('Switched off, or not served at the moment.'),
};
