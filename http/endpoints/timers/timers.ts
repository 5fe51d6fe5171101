/** POST /api/v1/timers (state-surfaces 3): operations on timers that apply together. */
import type {
  Refusal,
  RefusedOutcome,
  TimerCall,
  TimerOp,
  TimerResult,
  TimersOutcome,
} from '@svc/engine';
import { formatStampUs, timersAnswer } from '@svc/wire';
import { assert } from '../../base/assert.js';
import type { TimerCallLimits } from '../../base/limits.js';
import type { Status } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import type { Pass } from '../../gate/gate.js';
import { refuseSurface } from '../../gate/gate-refusal.js';
import { JsonError } from '../../json/json-error.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { quotedBytes, quotedBytesOrNull } from '../../json/json-text.js';
import type { SubmittedOutcome } from '../../ports/service.js';
import { answer, endpoint, STORAGE_FULL } from '../../routing/endpoint.js';
import { replyBy } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';
import { refuseKv, SURFACE_REFUSALS } from '../kv/kv-answers.js';
import {
  checkTimerSizes,
  type RawTimerOp,
  readTimerList,
  SHAPE,
  type SoundTimerOp,
  scheduleCount,
  soundTimerOps,
  TimerFault,
} from './ops.js';
import { plainTimers } from './payloads.js';
import { timersBody } from './timer-request.js';

export const timersEndpoint = endpoint({
  at: 'POST /api/v1/timers',
  level: 'write-only',
  gateway: 'timers-mixed',
  tag: 'timers',
  summary: 'Schedules, reschedules and cancels timers; all of it or nothing.',
  request: {
    share: 'growing',
    reader: 'Payloads are decoded as they are read, and each fault has a reason.',
    schema: timersBody,
  },
  answers: {
    200: answer('One result for each operation.', timersAnswer),
    ...SURFACE_REFUSALS,
    507: STORAGE_FULL,
  },
  handle: (front, request) => {
    const { exchange, tenant, subject, body } = request;
    const { limits, zstd } = front.timers;
    let pass: Pass | null = null;
    let ops: readonly SoundTimerOp[];
    try {
      const raw = readTimersBody(body, limits);
      checkTimerSizes(raw, limits);
      pass = front.gate.enter(exchange, tenant, {
        kind: 'timer-write',
        timers: scheduleCount(raw),
      });
      if (pass === null) return;
      ops = soundTimerOps(raw, front.gate.timerHorizonSeconds(tenant, limits.horizonSeconds));
    } catch (error) {
      pass?.settle({ kind: 'refused' });
      refuseTimers(front, exchange, faultOf(error));
      return;
    }
    const call = { kind: 'timers', tenant, producerSub: subject } as const;
    const refusal = nameRefusal(tenant, ops);
    if (refusal !== null || ops.length === 0) {
      pass.settle({ kind: 'refused' });
      if (refusal !== null) exchange.refuse(refusal);
      else exchange.json('200 OK', '{"results":[]}');
      return;
    }
    exchange.handBody();
    plainTimers(zstd, request, ops, (plain) => {
      if (plain === 'overloaded' || plain instanceof TimerFault) {
        pass.settle({ kind: 'refused' });
        answerLater(front, exchange, plain);
      } else submitTimers(front, exchange, pass, { ...call, ops: plain }, renderCall);
    });
  },
});

export const TIMERS_BODY_KEYS = keySet('operations');
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

const STATUS_OF_FAULT: { readonly [kind in TimerFault['kind']]: [Status, string] } = {
  shape: ['400 Bad Request', 'timers_bad_request'],
  horizon: ['403 Forbidden', 'timer_horizon_exceeded'],
  'too-large': ['413 Payload Too Large', 'payload_too_large'],
};

/** The client may have gone while payloads were decompressed. */
function answerLater(front: Front, exchange: Exchange, fault: TimerFault | 'overloaded'): void {
  const reply = replyBy(exchange, fault, (to: Exchange) => {
    if (fault === 'overloaded') refuseKv(to, TIMERS_OVERLOADED);
    else refuseTimers(front, to, fault);
  });
  reply.send(fault);
}

export const TIMERS_OVERLOADED: Refusal = {
  reason: 'overloaded',
  error: 'too many payloads wait to be decompressed; retry',
};

/** Throws again what is no fault of the request. */
function faultOf(error: unknown): TimerFault {
  if (error instanceof TimerFault) return error;
  if (!(error instanceof JsonError)) throw error;
  return new TimerFault('shape', 'timers_bad_body', `bad body: ${error.message}`);
}

/**
 * In a transaction, whose answers have a `reason` of their own: what a timer may not have is
 * `bad_request` like all shapes there (message-plane 6).
 */
export function timerFaultAnswer({ kind, reason }: TimerFault): readonly [Status, string] {
  const [status, error] = STATUS_OF_FAULT[kind];
  if (kind !== 'shape') return [status, error];
  const isOwned = reason === 'timers_server_owned_field' || reason.includes('is server-owned');
  return [status, isOwned ? 'timers_server_owned_field' : 'bad_request'];
}

export function refuseTimers(front: Front, exchange: Exchange, fault: TimerFault): void {
  const [status, error] = STATUS_OF_FAULT[fault.kind];
  const { timersRefused } = front.meters;
  if (fault.kind === 'too-large') timersRefused.payload_too_large++;
  else timersRefused[fault.kind]++;
  const { reason, detail } = fault;
  refuseSurface(exchange, status, detail === null ? { error, reason } : { error, reason, detail });
}

/** Throws `JsonError` and `TimerFault`. */
export function readTimersBody(body: Buffer, limits: TimerCallLimits): readonly RawTimerOp[] {
  const reader = new JsonReader(body);
  const ops = readOperations(reader, limits);
  reader.finish();
  if (ops === null) throw new TimerFault('shape', 'timers_bad_body', SHAPE);
  return ops;
}

/** null: there is no list of them. */
function readOperations(reader: JsonReader, limits: TimerCallLimits): RawTimerOp[] | null {
  const first = reader.peek();
  if (first === OPEN_BRACKET) return readTimerList(reader, limits);
  if (first !== OPEN_BRACE) {
    reader.skipValue();
    return null;
  }
  let ops: RawTimerOp[] | null = null;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(TIMERS_BODY_KEYS, ops === null ? 0 : 1);
    if (key === KEYS_END) return ops;
    if (key === KEY_UNKNOWN || reader.peek() !== OPEN_BRACKET) reader.skipValue();
    else ops = readTimerList(reader, limits);
  }
}

/**
 * The room for names is shared by the queue and the longer of partition and timer key. Not `names`
 * of the record, because the gate is asked before.
 */
export function nameRefusal(tenant: string, ops: readonly SoundTimerOp[]) {
  for (const { op } of ops) {
    const partition = op.op === 'schedule' ? op.partition : '';
    const refusal =
      nameBudgetRefusal(tenant, op.queue, '', partition) ??
      nameBudgetRefusal(tenant, op.queue, '', op.timerKey, 'timerKey');
    if (refusal !== null) return refusal;
  }
  return null;
}

type Rendered = (exchange: Exchange, call: TimerCall, outcome: TimersOutcome) => void;

/** `pass` null: the call passed no gate. */
export function submitTimers(
  front: Front,
  exchange: Exchange,
  pass: Pass | null,
  call: TimerCall,
  rendered: Rendered,
): void {
  const render = (to: Exchange, _: null, outcome: SubmittedOutcome) => {
    renderOutcome(front, to, call, outcome as TimersOutcome | RefusedOutcome, rendered);
  };
  front.service.submit(call, replyBy(exchange, null, render, pass));
}

function renderOutcome(
  front: Front,
  exchange: Exchange,
  call: TimerCall,
  outcome: TimersOutcome | RefusedOutcome,
  rendered: Rendered,
): void {
  if (outcome.kind === 'refused') {
    refuseKv(exchange, outcome.refusal);
    return;
  }
  const { flaw } = outcome;
  if (flaw === null) {
    rendered(exchange, call, outcome);
    return;
  }
  const detail = `op at index ${flaw.index}: the broker itself encrypts what this queue gets`;
  refuseTimers(front, exchange, new TimerFault('shape', flaw.reason, detail));
}

function renderCall(exchange: Exchange, { ops }: TimerCall, { results }: TimersOutcome): void {
  assert(ops.length === results.length, `${ops.length} operations, ${results.length} results`);
  const elements = ops.map((op, i) => `{${timerMembers(op, results[i] as TimerResult)}}`);
  sendBytes(exchange, `{"results":[${elements.join()}]}`);
}

/** `text` is a byte string, as what stands in answers of this surface. */
export function sendBytes(exchange: Exchange, text: string): void {
  exchange.jsonByteText('200 OK', text);
}

/** The members of one result. */
export function timerMembers(op: TimerOp, result: TimerResult): string {
  const { queue, timerKey } = op;
  const names = `"queue":${quotedBytes(queue)},"timerKey":${quotedBytes(timerKey)}`;
  switch (result.status) {
    case 'absent':
      return `"ok":false,"status":"absent",${names},"txn":${quotedBytesOrNull(op.txn)}`;
    case 'cancelled':
      return `"ok":true,"status":"cancelled",${names},"txn":${quotedBytes(result.txn)}`;
    default:
      return (
        `"ok":true,"status":"${result.status}",${names},"txn":${quotedBytesOrNull(op.txn)},` +
        `"messageId":"${result.messageId}","deliverAt":"${formatStampUs(result.deliverAtUs)}"`
      );
  }
}
