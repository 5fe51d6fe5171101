/**
 * One key by its path (state-surfaces 1.1): GET, PUT and DELETE /api/v1/kv/{ns}/{key...}. The key
 * is the rest of the path, slashes included. What the body says of the operation is read as on
 * POST /api/v1/kv; what the path says may not stand in it.
 */
import type { KvOp, KvOutcome, KvResult } from '@svc/engine';
import { either, nothing } from '@svc/schema';
import { kvResultAnswer } from '@svc/wire';
import { assert } from '../../base/assert.js';
import { AnswerBytes } from '../../exchange/answer-bytes.js';
import type { Exchange } from '../../exchange/exchange.js';
import { JsonReader } from '../../json/json-reader.js';
import { answer, endpoint, STORAGE_FULL } from '../../routing/endpoint.js';
import type { Call, Front } from '../../routing/route.js';
import { admitKv, submitKv } from './kv.js';
import { failureText, resultsLength, SURFACE_REFUSALS, writeElement } from './kv-answers.js';
import { KvFault } from './kv-op-rules.js';
import { KvRawOps } from './kv-raw-ops.js';
import {
  elementOrFailure,
  expect,
  FOR_A_TIME,
  FOR_EVER,
  KV_DELETED,
  KV_FOUND,
  KV_READER,
  KV_WRITTEN,
  type KvField,
  onPath,
  required,
  WRITTEN,
} from './kv-request.js';

export const kvGetEndpoint = endpoint({
  at: 'GET /api/v1/kv/{ns}/{key...}',
  level: 'read-only',
  gateway: 'kv-read',
  tag: 'kv',
  summary: 'The row of one key.',
  answers: {
    200: answer('`found` says whether there is one.', kvResultAnswer, KV_FOUND),
    ...SURFACE_REFUSALS,
  },
  handle: (front, request) => run(front, request, 'get', request.params),
});

export const kvPutEndpoint = endpoint({
  at: 'PUT /api/v1/kv/{ns}/{key...}',
  level: 'read-write',
  gateway: 'kv-grow',
  tag: 'kv',
  summary: 'Writes the row of one key.',
  request: {
    share: 'growing',
    reader: KV_READER,
    schema: either(onPath({ ...WRITTEN, ...FOR_A_TIME }), onPath({ ...WRITTEN, ...FOR_EVER })),
  },
  answers: {
    200: answer('Whether it was written.', elementOrFailure, KV_WRITTEN),
    ...SURFACE_REFUSALS,
    507: STORAGE_FULL,
  },
  handle: (front, request) => run(front, request, 'put', request.params),
});

export const kvDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/kv/{ns}/{key...}',
  level: 'read-write',
  gateway: 'kv-open',
  tag: 'kv',
  summary: 'Deletes the row of one key.',
  request: {
    share: 'drain',
    reader: KV_READER,
    schema: either(nothing, onPath({ expect, required })),
    example: { expect: 1 },
    optional: true,
  },
  answers: {
    200: answer('Whether there was one.', elementOrFailure, KV_DELETED),
    ...SURFACE_REFUSALS,
  },
  handle: (front, request) => run(front, request, 'delete', request.params),
});

const PATH_FIELDS: readonly KvField[] = ['op', 'ns', 'namespace', 'key'];
const OPEN_BRACE = 0x7b;

function run(
  front: Front,
  { exchange, tenant, query, body }: Call<unknown>,
  op: 'get' | 'put' | 'delete',
  { ns, key }: { readonly ns: string; readonly key: string },
): void {
  const admitted = admitKv(front, exchange, tenant, () => {
    if (query !== '') throw new KvFault('kv_no_query_string', 'this route takes no query string');
    const raw = new KvRawOps(body, { op, ns, key });
    if (op === 'get') raw.addEmpty();
    else readBody(raw, op === 'delete');
    return raw;
  });
  if (admitted !== null) submitKv(front, exchange, tenant, admitted, render);
}

function readBody(raw: KvRawOps, mayBeAbsent: boolean): void {
  if (mayBeAbsent && raw.body.length === 0) {
    raw.addEmpty();
    return;
  }
  const reader = new JsonReader(raw.body);
  if (mayBeAbsent && reader.isNull()) {
    reader.skipValue();
    raw.addEmpty();
  } else if (reader.peek() === OPEN_BRACE) raw.read(reader);
  else {
    reader.skipValue();
    throw new KvFault('kv_bad_body', 'body must be an object');
  }
  reader.finish();
  const field = PATH_FIELDS.find((one) => raw.has(0, one));
  if (field === undefined) return;
  throw new KvFault('kv_field_in_path', `${field} is said by the path and may not be in the body`);
}

function render(exchange: Exchange, [op]: readonly KvOp[], outcome: KvOutcome): void {
  const { failure, results } = outcome;
  if (failure !== null) {
    exchange.jsonByteText('200 OK', failureText(failure));
    return;
  }
  const [result] = results;
  assert(op !== undefined && result !== undefined, 'a call of one operation has no result');
  const into = new AnswerBytes(resultsLength([op], results));
  writeElement(into, '{"index":0', op, result);
  const bytes = into.finish();
  const version = versionRead(result);
  if (version === null) exchange.jsonBytes('200 OK', bytes);
  else exchange.jsonTagged(bytes, `"${version}"`);
}

/** null: nothing was read, or not found. */
function versionRead(result: KvResult): number | null {
  return result.kind === 'got' ? (result.row?.version ?? null) : null;
}
