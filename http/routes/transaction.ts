/**
 * POST /api/v1/transaction (message-plane 6): acks, pushes and positions that apply together or not
 * at all. The answer is 200 in both cases, and its 400s have the same shape; what concerns the call
 * as such, a name too long or a leader that is missing, is answered as on every route.
 */
import type {
  ITEM_DUPLICATE,
  PushCommand,
  Refusal,
  TransactedOutcome,
  TransactionCommand,
} from '@svc/engine';
import { TRANSACTION_ID_BYTES_MAX, utf8Length, ZERO_UUID } from '@svc/wire';
import { assert } from '../assert.js';
import type { Exchange } from '../exchange.js';
import { JsonError } from '../json-error.js';
import { quoted } from '../json-text.js';
import { mintId } from '../minted-id.js';
import { nameBudgetRefusal } from '../name-budget.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';
import { type OutcomeRenderer, submit } from '../submit.js';
import { readTransactionBody, type Slot, type TransactionBody } from './transaction-body.js';
import { TransactionFault } from './transaction-fault.js';
import { plannable } from './transaction-positions.js';

export const transactionRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'POST',
  path: '/api/v1/transaction',
  level: 'read-write',
  body: 'growing',
  handle,
};

/** The command, and what its answer needs beside it. */
interface TransactionCall extends TransactionCommand {
  readonly transactionId: string;
  readonly slots: readonly Slot[];
}

const DUPLICATE: typeof ITEM_DUPLICATE = 1;

const renderer: OutcomeRenderer<TransactionCall, 'transacted'> = { kind: 'transacted', render };

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant, body } = request;
  const transactionId = mintId();
  let parts: TransactionBody;
  try {
    parts = readTransactionBody(body, front.defaultSubscription);
    checkIds(parts);
  } catch (error) {
    const isShape = error instanceof JsonError;
    if (!isShape && !(error instanceof TransactionFault)) throw error;
    const text = isShape ? `bad body: ${error.message}` : error.message;
    exchange.json('400 Bad Request', failure(transactionId, 'bad_request', text));
    return;
  }
  const refusal = nameRefusal(tenant, parts);
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  const { acks, slots, traceIds } = parts;
  const pushes = pushesOf(request, parts);
  front.counters.ackMessages += acks.length;
  front.counters.pushMessages += pushes === null ? 0 : pushes.itemGroup.length;
  const { positions, flaw } = plannable(tenant, parts.positions);
  const command: TransactionCall = {
    kind: 'transaction',
    tenant,
    acks,
    pushes,
    traceIds,
    positions,
    flaw,
    transactionId,
    slots,
  };
  submit(front, exchange, command, renderer);
}

function checkIds({ pushes }: TransactionBody): void {
  for (const id of pushes.transactionIds) {
    // A UTF-16 code unit is three bytes at most.
    if (id === null || id.length * 3 <= TRANSACTION_ID_BYTES_MAX) continue;
    if (utf8Length(id) <= TRANSACTION_ID_BYTES_MAX) continue;
    throw new TransactionFault(`transactionId exceeds the ${TRANSACTION_ID_BYTES_MAX}-byte limit`);
  }
}

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

function pushesOf(request: RouteRequest, { pushes }: TransactionBody): PushCommand | null {
  const { groups, itemGroup, transactionIds, payloadStart, payloadEnd } = pushes;
  if (itemGroup.length === 0) return null;
  const { tenant, subject, body } = request;
  const columns = { groups, itemGroup, transactionIds, payloadStart, payloadEnd };
  return { kind: 'push', tenant, producerSub: subject, body, ...columns };
}

function failure(transactionId: string, reason: string, error: string): string {
  return (
    `{"transactionId":"${transactionId}","success":false,"reason":"${reason}",` +
    `"error":${quoted(error)},"results":[]}`
  );
}

function render(exchange: Exchange, call: TransactionCall, outcome: TransactedOutcome): void {
  const { transactionId, slots, positions } = call;
  const { rollback } = outcome;
  if (rollback !== null) {
    exchange.json('200 OK', failure(transactionId, rollback.reason, rollback.error));
    return;
  }
  const elements = new Elements(call, outcome);
  const results = slots.map((slot, index) => {
    return slot === 'ack' ? elements.ack(index) : elements.push(index);
  });
  for (let i = 0; i < positions.length; i++) {
    const index = slots.length + i;
    results.push(`{"index":${index},"opIndex":${i},"type":"position","success":true}`);
  }
  const text = `{"transactionId":"${transactionId}","success":true,"results":[${results.join()}]}`;
  exchange.json('200 OK', text);
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
    this.#queueNames = (call.pushes?.groups ?? []).map(({ queue }) => quoted(queue));
  }

  ack(index: number): string {
    const at = this.#acks++;
    const id = quoted(this.#call.acks[at]?.transactionId ?? '');
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
      `"transactionId":${given === null ? `"${messageId}"` : quoted(given)},` +
      `"messageId":"${messageId}","queueName":${queue}${duplicate}}`
    );
  }
}
