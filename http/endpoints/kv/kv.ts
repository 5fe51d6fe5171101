/** POST /api/v1/kv (state-surfaces 1): operations on the key/value store that apply together. */
import type { KvCall, KvOp, KvOutcome, RefusedOutcome, Tenant } from '@svc/engine';
import { either } from '@svc/schema';
import { kvCallAnswer, kvFailureAnswer } from '@svc/wire';
import { KV_NEEDS_NO_GRANT } from '../../exchange/access-level.js';
import type { Exchange } from '../../exchange/exchange.js';
import type { Pass } from '../../gate/gate.js';
import { JsonError } from '../../json/json-error.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { answer, endpoint, STORAGE_FULL } from '../../routing/endpoint.js';
import { replyBy } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';
import { outcomeBytes, refuseKv, refuseKvFault, SURFACE_REFUSALS } from './kv-answers.js';
import { countKv } from './kv-meters.js';
import { checkSizes, demandOf, KvFault, readOps } from './kv-op-rules.js';
import { KvRawOps } from './kv-raw-ops.js';
import { KV_FOUND, KV_READER, kvBody } from './kv-request.js';

export const kvEndpoint = endpoint({
  at: 'POST /api/v1/kv',
  level: 'read-write',
  gateway: 'kv-mixed',
  tag: 'kv',
  summary: 'Operations on the key/value store that apply together.',
  request: { share: 'growing', reader: KV_READER, schema: kvBody },
  answers: {
    200: answer(
      'What came of each operation, or that a required one lost.',
      either(kvCallAnswer, kvFailureAnswer),
      { results: [KV_FOUND] },
    ),
    ...SURFACE_REFUSALS,
    507: STORAGE_FULL,
  },
  largeAnswer: 'read',
  reserves: true,
  handle: (front, { exchange, tenant, roles, body }) => {
    const isGranted = ((roles ?? 0) & KV_NEEDS_NO_GRANT) !== 0;
    const admitted = admitKv(front, exchange, tenant, () => readKvBody(body), isGranted);
    if (admitted === null) return;
    if (admitted.ops.length > 0) submitKv(front, exchange, tenant, admitted, renderCall);
    else exchange.json('200 OK', '{"results":[]}');
  },
});

export const KV_BODY_KEYS = keySet('operations');
const SHAPE = 'body must be an array of operations, or {"operations":[...]}';
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

const NO_PASS: Pass = { settle: () => {} };

/** Operations that may be carried out, and what their call owes. */
export interface AdmittedOps {
  readonly ops: readonly KvOp[];
  readonly writes: boolean;
  readonly pass: Pass;
}

/** In the order of the contract (state-surfaces 0.4). null: the call has been refused. */
export function admitKv(
  front: Front,
  exchange: Exchange,
  tenant: Tenant,
  read: () => KvRawOps,
  isGranted = false,
): AdmittedOps | null {
  let pass: Pass | null = null;
  try {
    const raw = read();
    checkSizes(raw, front.kvLimits);
    // Nothing is asked of anybody.
    if (raw.count === 0) return { ops: [], writes: false, pass: NO_PASS };
    const demand = demandOf(raw);
    pass = front.gate.enter(exchange, tenant, isGranted ? { ...demand, isGranted } : demand);
    if (pass === null) return null;
    return { ops: readOps(raw, front.kvLimits), writes: demand.kind === 'kv-write', pass };
  } catch (error) {
    const fault = faultOf(error);
    const refuse = () => refuseKvFault(exchange, fault);
    if (pass === null) refuse();
    else front.gate.faulty(exchange, pass, refuse);
    return null;
  }
}

/** Throws again what is no fault of the request. */
export function refuseShape(exchange: Exchange, error: unknown): void {
  refuseKvFault(exchange, faultOf(error));
}

function faultOf(error: unknown): KvFault {
  if (error instanceof KvFault) return error;
  if (!(error instanceof JsonError)) throw error;
  return new KvFault('kv_bad_body', `bad body: ${error.message}`);
}

/** Throws `JsonError`, and `KvFault` for a body of another shape. */
export function readKvBody(body: Buffer): KvRawOps {
  const reader = new JsonReader(body);
  const raw = new KvRawOps(body);
  const first = reader.peek();
  let isFound = true;
  if (first === OPEN_BRACKET) readArray(reader, raw);
  else if (first === OPEN_BRACE) isFound = readObject(reader, raw);
  else {
    reader.skipValue();
    isFound = false;
  }
  reader.finish();
  if (!isFound) throw new KvFault('kv_bad_body', SHAPE);
  return raw;
}

/** False: it has no list of operations. */
function readObject(reader: JsonReader, raw: KvRawOps): boolean {
  let isFound = false;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(KV_BODY_KEYS, isFound ? 1 : 0);
    if (key === KEYS_END) break;
    if (key === KEY_UNKNOWN || reader.peek() !== OPEN_BRACKET) {
      reader.skipValue();
      continue;
    }
    isFound = true;
    readArray(reader, raw);
  }
  return isFound;
}

function readArray(reader: JsonReader, raw: KvRawOps): void {
  reader.enterArray('operations');
  while (reader.nextElement()) raw.read(reader);
}

export function submitKv(
  front: Front,
  exchange: Exchange,
  tenant: Tenant,
  { ops, writes, pass }: AdmittedOps,
  render: (exchange: Exchange, ops: readonly KvOp[], outcome: KvOutcome) => void,
): void {
  const call: KvCall = { kind: 'kv', tenant, ops };
  // The values of a command that waits are as many bytes as its body, which counts as long.
  if (writes) exchange.handBody();
  const { meters, service } = front;
  const startMs = service.monotonicMs();
  const rendered = (to: Exchange, asked: readonly KvOp[], outcome: KvOutcome | RefusedOutcome) => {
    const counted = outcome.kind === 'refused' ? null : outcome;
    countKv(meters.kv, asked, counted, service.monotonicMs() - startMs);
    if (outcome.kind === 'refused') refuseKv(to, outcome.refusal);
    else render(to, asked, outcome);
  };
  service.kv.call(call, replyBy(exchange, ops, rendered, pass));
}

function renderCall(exchange: Exchange, ops: readonly KvOp[], outcome: KvOutcome): void {
  exchange.jsonBytes('200 OK', outcomeBytes(ops, outcome));
}
