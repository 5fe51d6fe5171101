/**
 * One key by its path (state-surfaces 1.1): GET, PUT and DELETE /api/v1/kv/{ns}/{key...}. The key
 * is the rest of the path, slashes included. What the body says of the operation is read as on
 * POST /api/v1/kv; what the path says may not stand in it.
 */
import type { KvOp, KvOutcome, KvResult } from '@svc/engine';
import { assert } from '../../base/assert.js';
import { AnswerBytes } from '../../exchange/answer-bytes.js';
import type { Exchange } from '../../exchange/exchange.js';
import { JsonReader } from '../../json/json-reader.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../../routing/route.js';
import { admitKv, submitKv } from './kv.js';
import { failureText, resultsLength, writeElement } from './kv-answers.js';
import { KvFault } from './kv-op-rules.js';
import { type KvField, KvRawOps } from './kv-raw-ops.js';

const PATH = '/api/v1/kv/{ns}/{key...}';

export const kvGetRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: PATH,
  level: 'read-only',
  handle: (front, request) => handle(front, request, 'get'),
};

export const kvPutRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'PUT',
  path: PATH,
  level: 'read-write',
  body: 'growing',
  handle: (front, request) => handle(front, request, 'put'),
};

export const kvDeleteRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'DELETE',
  path: PATH,
  level: 'read-write',
  body: 'drain',
  handle: (front, request) => handle(front, request, 'delete'),
};

const PATH_FIELDS: readonly KvField[] = ['op', 'ns', 'namespace', 'key'];
const OPEN_BRACE = 0x7b;

function handle(front: Front, request: RouteRequest, op: 'get' | 'put' | 'delete'): void {
  const { exchange, tenant, params, query } = request;
  const [ns = '', key = ''] = params;
  const admitted = admitKv(front, exchange, tenant, () => {
    if (query !== '') throw new KvFault('kv_no_query_string', 'this route takes no query string');
    const raw = new KvRawOps(request.body, { op, ns, key });
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
