/**
 * POST /api/v1/transaction (message-plane 6): acks, pushes, key/value operations and positions that
 * apply together or not at all. The answer is 200 in both cases, and its 400s have the same shape;
 * what concerns the call as such, a name too long or a leader that is missing, is answered as on
 * every route.
 */
import { randomFillSync } from 'node:crypto';
import type {
  ITEM_DUPLICATE,
  KvCall,
  KvOutcome,
  KvResult,
  PushCommand,
  Refusal,
  Rollback,
  TimerResult,
  TransactedOutcome,
  TransactionCommand,
} from '@svc/engine';
import { either } from '@svc/schema';
import {
  errorAnswer,
  TRANSACTION_ID_BYTES_MAX,
  transactionAnswer,
  utf8Length,
  uuidV7,
  ZERO_UUID,
} from '@svc/wire';
import { assert } from '../../base/assert.js';
import type { Refuse } from '../../base/demand.js';
import { AnswerBytes } from '../../exchange/answer-bytes.js';
import type { Status } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { isReadAtOnce, readAll, readGenerated } from '../../exchange/large-body.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { NOTHING_OWED, type Pass } from '../../gate/gate.js';
import { JsonError } from '../../json/json-error.js';
import { quotedBytes } from '../../json/json-text.js';
import { answer, endpoint, STORAGE_FULL } from '../../routing/endpoint.js';
import { replyBy } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import { outcomeRender, submit } from '../../routing/submit.js';
import {
  FAILURE_CHARS_MAX,
  failureMembers,
  kvFaultStatus,
  resultsLength,
  writeElement,
} from '../kv/kv-answers.js';
import { countKv } from '../kv/kv-meters.js';
import { checkSizes, KvFault, limitsInTransaction, readOps } from '../kv/kv-op-rules.js';
import {
  checkTimerSizes,
  horizonFault,
  type SoundTimerOp,
  soundTimerOps,
  TimerFault,
} from '../timers/ops.js';
import { plainTimers } from '../timers/payloads.js';
import {
  TIMERS_OVERLOADED,
  timerFaultAnswer,
  timerMembers,
  nameRefusal as timerNameRefusal,
} from '../timers/timers.js';
import { type Slot, type TransactionBody, transactionParts } from './transaction-body.js';
import { plannable, TransactionFault } from './transaction-positions.js';
import { transactionBody } from './transaction-request.js';

export const transactionEndpoint = endpoint({
  at: 'POST /api/v1/transaction',
  level: 'read-write',
  gateway: 'produce',
  tag: 'messages',
  summary:
    'Acks, pushes, key/value operations, timers and positions that apply together or not at all.',
  request: {
    share: 'growing',
    reader: 'Payloads stay where they are in the body, and it is read in parts.',
    schema: transactionBody,
  },
  answers: {
    200: answer('Committed or rolled back: `success` tells.', transactionAnswer),
    400: answer('A call that cannot be planned.', either(transactionAnswer, errorAnswer)),
    403: answer(
      '`kv_disabled`, `timers_disabled`; a timer too far away.',
      either(transactionAnswer, errorAnswer),
    ),
    413: answer('A key, a value or a name is too long.', either(transactionAnswer, errorAnswer)),
    503: answer('Not planned at the moment.', either(transactionAnswer, errorAnswer)),
    507: STORAGE_FULL,
  },
  largeAnswer: 'read',
  reserves: true,
  handle: (front, request) => {
    const { exchange, body } = request;
    const transactionId = mintId();
    const { defaultSubscription, timers } = front;
    const parts = transactionParts(body, defaultSubscription, timers.limits);
    const refuse = (error: unknown) => refuseShape(exchange, transactionId, error);
    const done = (read: TransactionBody) => commit(front, request, transactionId, read);
    if (!isReadAtOnce(body)) {
      readGenerated(exchange, refuse, parts, done);
      return;
    }
    let read: TransactionBody;
    try {
      read = readAll(parts);
    } catch (error) {
      refuse(error);
      return;
    }
    done(read);
  },
});

/** The command, and what its answer needs beside it. */
interface TransactionCall extends TransactionCommand {
  readonly transactionId: string;
  readonly slots: readonly Slot[];
  /** Told what came of the key/value operations, if there are any. */
  readonly count: (outcome: KvOutcome) => void;
}

const DUPLICATE: typeof ITEM_DUPLICATE = 1;
/** The outcome of the key/value operations of a rollback. */
const NOTHING_STORED: KvOutcome = { kind: 'kv', failure: null, results: [] };

const renderer = outcomeRender('transacted', render);

function commit(
  front: Front,
  request: Call<unknown>,
  transactionId: string,
  parts: TransactionBody,
): void {
  const { exchange, tenant } = request;
  let kv: KvCall | null;
  let timers: readonly SoundTimerOp[];
  try {
    checkIds(parts);
    kv = kvCallOf(tenant, parts, front);
    timers = timersOf(tenant, parts, front);
  } catch (error) {
    refuseShape(exchange, transactionId, error);
    return;
  }
  const refusal = nameRefusal(tenant, parts) ?? timerNameRefusal(tenant, timers);
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  const pass = enterGate(front, request, transactionId, kv, timers);
  if (pass === null) return;
  const { acks, slots, traceIds } = parts;
  const pushes = pushesOf(request, parts);
  front.meters.calls.ackMessages += acks.length;
  front.meters.calls.pushMessages += pushes === null ? 0 : pushes.itemGroup.length;
  const { positions, flaw } = plannable(tenant, parts.positions);
  const command: TransactionCall = {
    kind: 'transaction',
    tenant,
    acks,
    pushes,
    traceIds,
    positions,
    kv,
    timers: null,
    flaw,
    transactionId,
    slots,
    count: kv === null ? UNCOUNTED : counterOf(front, kv),
  };
  if (timers.length === 0) submit(front, exchange, command, renderer, pass);
  else submitWithTimers(front, request, command, timers, pass);
}

const GATED = 'this tenant has no grant for this, or its allowance is used up';

const words = new Uint32Array(3);

/** The id of a call: the millisecond of the wall clock, and random bits. */
function mintId(): string {
  randomFillSync(words);
  return uuidV7(Date.now(), words[0] ?? 0, words[1] ?? 0, words[2] ?? 0);
}

/** For the key/value operations and timers of a transaction. null: the request is answered. */
function enterGate(
  front: Front,
  { exchange, tenant }: Call<unknown>,
  transactionId: string,
  kv: KvCall | null,
  timers: readonly SoundTimerOp[],
): Pass | null {
  if (kv === null && timers.length === 0) return NOTHING_OWED;
  let [rows, bytes] = [0, 0];
  for (const op of kv?.ops ?? []) {
    if (op.op === 'put' || op.op === 'putIfAbsent') bytes += op.value.length;
    if (op.op === 'put' || op.op === 'putIfAbsent' || op.op === 'incr') rows++;
  }
  const schedules = timers.filter(({ op }) => op.op === 'schedule').length;
  const hasKv = kv !== null;
  const demand = { kind: 'transaction', hasKv, rows, bytes, timers: schedules } as const;
  return front.gate.enter(exchange, tenant, demand, refuserOf(exchange, transactionId));
}

function refuserOf(exchange: Exchange, transactionId: string): Refuse {
  return (refused) => {
    if (refused.code === 'timer_horizon_exceeded') {
      const { index, horizonSeconds } = refused;
      refuseShape(exchange, transactionId, horizonFault(index, horizonSeconds));
    } else send(exchange, '403 Forbidden', failure(transactionId, refused.code, GATED));
  };
}

const UNCOUNTED = (): void => {};

function counterOf({ meters, service }: Front, { ops }: KvCall): TransactionCall['count'] {
  const startMs = service.monotonicMs();
  return (outcome) => countKv(meters.kv, ops, outcome, service.monotonicMs() - startMs);
}

/** Their payloads may have to be decompressed before. */
function submitWithTimers(
  front: Front,
  request: Call<unknown>,
  command: TransactionCall,
  timers: readonly SoundTimerOp[],
  pass: Pass,
): void {
  const { exchange, tenant, subject } = request;
  exchange.handBody();
  plainTimers(front.timers.zstd, request, timers, (plain) => {
    if (plain !== 'overloaded' && !(plain instanceof TimerFault)) {
      const call = { kind: 'timers', tenant, producerSub: subject, ops: plain } as const;
      submit(front, exchange, { ...command, timers: call }, renderer, pass);
      return;
    }
    const reply = replyBy(exchange, plain, (to: Exchange) => {
      if (plain === 'overloaded') to.refuse(TIMERS_OVERLOADED);
      else refuseShape(to, command.transactionId, plain);
    });
    front.gate.faulty(exchange, pass, () => reply.send(plain));
  });
}

/** Throws again what is no fault of the request. */
function refuseShape(exchange: Exchange, transactionId: string, error: unknown): void {
  if (error instanceof TimerFault) {
    const [status, reason] = timerFaultAnswer(error);
    send(exchange, status, failure(transactionId, reason, error.message));
    return;
  }
  if (error instanceof KvFault) {
    send(exchange, kvFaultStatus(error), failure(transactionId, error.reason, error.message));
    return;
  }
  const isShape = error instanceof JsonError;
  if (!isShape && !(error instanceof TransactionFault)) throw error;
  const text = isShape ? `bad body: ${error.message}` : error.message;
  send(exchange, '400 Bad Request', failure(transactionId, 'bad_request', text));
}

/** null: nothing is asked of the store. Throws `KvFault`. */
function kvCallOf(tenant: string, { kv }: TransactionBody, { kvLimits }: Front): KvCall | null {
  if (kv.count === 0) return null;
  const limits = limitsInTransaction(kvLimits);
  checkSizes(kv, limits);
  return { kind: 'kv', tenant, ops: readOps(kv, limits, true) };
}

/** Throws `TimerFault`. */
function timersOf(tenant: string, { timers }: TransactionBody, front: Front): SoundTimerOp[] {
  const { limits } = front.timers;
  checkTimerSizes(timers, limits);
  return soundTimerOps(timers, front.gate.timerHorizonSeconds(tenant, limits.horizonSeconds));
}

function checkIds({ pushes }: TransactionBody): void {
  for (const id of pushes.transactionIds) {
    // A UTF-16 code unit is three bytes at most.
    if (id === null || id.length * 3 <= TRANSACTION_ID_BYTES_MAX) continue;
    if (utf8Length(id) <= TRANSACTION_ID_BYTES_MAX) continue;
    throw new TransactionFault(`transactionId exceeds the ${TRANSACTION_ID_BYTES_MAX}-byte limit`);
  }
}

/** Not `names` of the record: the body is read in parts, and its operations are judged before. */
function nameRefusal(tenant: string, { pushes, acks }: TransactionBody): Refusal | null {
  for (const { queue, partition } of pushes.groups) {
    const refusal = nameBudgetRefusal(tenant, queue, '', partition);
    if (refusal !== null) return refusal;
  }
  for (const { consumerGroup } of acks) {
    const refusal = nameBudgetRefusal(tenant, '', consumerGroup, '');
    if (refusal !== null) return refusal;
  }
  return null;
}

function pushesOf(request: Call<unknown>, { pushes }: TransactionBody): PushCommand | null {
  const { groups, itemGroup, transactionIds, payloadStart, payloadEnd } = pushes;
  if (itemGroup.length === 0) return null;
  const { tenant, subject, body } = request;
  const columns = { groups, itemGroup, transactionIds, payloadStart, payloadEnd };
  return { kind: 'push', tenant, producerSub: subject, body, ...columns };
}

/** As a byte string, as all answers of this route: values of the store stand in some. */
function failure(transactionId: string, reason: string, error: string, members = ''): string {
  return (
    `{"transactionId":"${transactionId}","success":false,"reason":"${reason}",` +
    `"error":${quotedBytes(error)},${members}"results":[]}`
  );
}

function send(exchange: Exchange, status: Status, text: string, retryAfter = false): void {
  const bytes = Buffer.from(text, 'latin1');
  if (retryAfter) exchange.json(status, bytes.toString('utf8'), true);
  else exchange.jsonBytes(status, bytes);
}

function renderRollback(
  exchange: Exchange,
  { transactionId, slots }: TransactionCall,
  { reason, error, kv }: Rollback,
): void {
  const members =
    kv === undefined ? '' : `"ok":false,${failureMembers(kv, slots.length + kv.index)},`;
  const shown = members.length > FAILURE_CHARS_MAX ? '"ok":false,' : members;
  const text = failure(transactionId, reason, error, shown);
  if (reason === 'kv_disabled' || reason === 'timers_disabled') {
    send(exchange, '403 Forbidden', text);
  } else if (reason === 'timers_encrypted_conflict') send(exchange, '400 Bad Request', text);
  else if (reason === 'kv_check_needs_cluster_version_5') {
    send(exchange, '503 Service Unavailable', text, true);
  } else send(exchange, '200 OK', text);
}

function render(exchange: Exchange, call: TransactionCall, outcome: TransactedOutcome): void {
  call.count(outcome.kv ?? NOTHING_STORED);
  const { transactionId, slots, positions, kv, timers } = call;
  const { rollback } = outcome;
  if (rollback !== null) {
    renderRollback(exchange, call, rollback);
    return;
  }
  const elements = new Elements(call, outcome);
  const results = slots.map((slot, index) => {
    return slot === 'ack' ? elements.ack(index) : elements.push(index);
  });
  let index = results.length + (kv?.ops.length ?? 0);
  const opHead = (opIndex: number, type: string) =>
    `{"index":${index++},"opIndex":${opIndex},"type":"${type}"`;
  const others = (timers?.ops ?? []).map((op, i) => {
    const members = timerMembers(op, outcome.timers?.results[i] as TimerResult);
    return `${opHead(i, 'timer')},${members}}`;
  });
  for (let i = 0; i < positions.length; i++) {
    others.push(`${opHead(i, 'position')},"success":true}`);
  }
  const head = `{"transactionId":"${transactionId}","success":true,"results":[`;
  if (kv === null) {
    send(exchange, '200 OK', `${head}${results.concat(others).join()}]}`);
    return;
  }
  const [before, after] = [results.join(), others.join()];
  const stored = outcome.kv?.results ?? [];
  const into = new AnswerBytes(before.length + after.length + resultsLength(kv.ops, stored));
  into.write(head + before);
  kv.ops.forEach((op, i) => {
    const at = results.length + i;
    const begin = `${at > 0 ? ',' : ''}{"index":${at},"opIndex":${i},"type":"kv"`;
    writeElement(into, begin, op, stored[i] as KvResult);
  });
  into.write(`${after === '' ? '' : ','}${after}]}`);
  exchange.jsonBytes('200 OK', into.finish());
}

/** The results of acks and pushes, to be asked for in their order. */
class Elements {
  readonly #call: TransactionCall;
  readonly #filed: ReadonlySet<number>;
  readonly #status: Uint8Array;
  readonly #messageIds: readonly string[];
  readonly #queueNames: readonly string[];
  #acks = 0;
  #pushes = 0;

  constructor(call: TransactionCall, outcome: TransactedOutcome) {
    this.#call = call;
    this.#filed = new Set(outcome.filed);
    const items = call.pushes?.itemGroup.length ?? 0;
    this.#status = outcome.pushed?.status ?? new Uint8Array(0);
    this.#messageIds = outcome.pushed?.messageIds ?? [];
    assert(
      this.#status.length === items && this.#messageIds.length === items,
      `${items} items, ${this.#status.length} statuses, ${this.#messageIds.length} ids`,
    );
    this.#queueNames = (call.pushes?.groups ?? []).map(({ queue }) => quotedBytes(queue));
  }

  ack(index: number): string {
    const at = this.#acks++;
    const id = quotedBytes(this.#call.acks[at]?.transactionId ?? '');
    return (
      `{"index":${index},"type":"ack","success":true,"transactionId":${id},"error":null,` +
      `"dlq":${this.#filed.has(at)}}`
    );
  }

  push(index: number): string {
    const at = this.#pushes++;
    const messageId = this.#messageIds[at] ?? ZERO_UUID;
    const given = this.#call.pushes?.transactionIds[at] ?? null;
    const queue = this.#queueNames[this.#call.pushes?.itemGroup[at] ?? 0] ?? '""';
    const duplicate = this.#status[at] === DUPLICATE ? ',"duplicate":true' : '';
    return (
      `{"index":${index},"type":"push","success":true,` +
      `"transactionId":${given === null ? `"${messageId}"` : quotedBytes(given)},` +
      `"messageId":"${messageId}","queueName":${queue}${duplicate}}`
    );
  }
}
