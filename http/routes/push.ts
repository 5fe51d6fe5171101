/**
 * POST /api/v1/push (message-plane 2): a body of items becomes one command, its outcome an array
 * with an element for each item.
 */
import type {
  ITEM_DUPLICATE,
  ITEM_DUPLICATE_GONE,
  ITEM_ERROR,
  ITEM_QUEUED,
  PushCommand,
  PushedOutcome,
  Refusal,
} from '@svc/engine';
import { TRANSACTION_ID_BYTES_MAX, utf8Length, ZERO_UUID } from '@svc/wire';
import { assert } from '../assert.js';
import { badRequest } from '../errors.js';
import type { Exchange } from '../exchange.js';
import { quoted } from '../json-text.js';
import { nameBudgetRefusal } from '../name-budget.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';
import { type OutcomeRenderer, submit } from '../submit.js';
import { type PushColumns, readPushBody } from './push-body.js';

/** The engine's item statuses; only its types are used here, and they hold the numbers together. */
const QUEUED: typeof ITEM_QUEUED = 0;
const DUPLICATE: typeof ITEM_DUPLICATE = 1;
const DUPLICATE_GONE: typeof ITEM_DUPLICATE_GONE = 2;
const ERROR: typeof ITEM_ERROR = 3;

export const pushRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'POST',
  path: '/api/v1/push',
  level: 'write-only',
  body: 'growing',
  badBody: 'bad push body',
  handle,
};

const US_PER_MS = 1000;

/** Renders the outcome of one push, and times the stages that the push passes here. */
class TimedPush implements OutcomeRenderer<PushCommand, 'pushed'> {
  readonly kind = 'pushed';
  readonly #front: Front;
  readonly #beganMs: number;
  readonly #preparedMs: number;

  constructor(front: Front, beganMs: number) {
    this.#front = front;
    this.#beganMs = beganMs;
    this.#preparedMs = front.service.monotonicMs();
    front.meters.pipeline.pushPrepare.record((this.#preparedMs - beganMs) * US_PER_MS);
  }

  /** The broker has the command; its outcome may have come already. */
  submitted(): void {
    const { meters, service } = this.#front;
    meters.pipeline.pushSubmit.record((service.monotonicMs() - this.#preparedMs) * US_PER_MS);
  }

  render(exchange: Exchange, command: PushCommand, outcome: PushedOutcome): void {
    const { meters, service } = this.#front;
    const { pushAwait, pushTotal } = meters.pipeline;
    pushAwait.record((service.monotonicMs() - this.#preparedMs) * US_PER_MS);
    render(exchange, command, outcome);
    pushTotal.record((service.monotonicMs() - this.#beganMs) * US_PER_MS);
  }
}

function handle(front: Front, request: RouteRequest): void {
  const beganMs = front.service.monotonicMs();
  front.meters.calls.pushRequests++;
  const { exchange, tenant, body } = request;
  const columns = readPushBody(body);
  const { groups, itemGroup, transactionIds, payloadStart, payloadEnd } = columns;
  if (itemGroup.length === 0) {
    exchange.json('201 Created', '[]');
    return;
  }
  const refusal = pushRefusal(tenant, columns);
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  front.meters.calls.pushMessages += itemGroup.length;
  const command: PushCommand = {
    kind: 'push',
    tenant,
    producerSub: request.subject,
    body,
    groups,
    itemGroup,
    transactionIds,
    payloadStart,
    payloadEnd,
  };
  const timed = new TimedPush(front, beganMs);
  submit(front, exchange, command, timed);
  timed.submitted();
}

/** Null when every name and id is within its bound. The call is refused as a whole. */
function pushRefusal(tenant: string, columns: PushColumns): Refusal | null {
  for (const { queue, partition } of columns.groups) {
    const refusal = nameBudgetRefusal(tenant, queue, '', partition);
    if (refusal !== null) return refusal;
  }
  for (const id of columns.transactionIds) {
    // A UTF-16 code unit is three bytes at most.
    if (id === null || id.length * 3 <= TRANSACTION_ID_BYTES_MAX) continue;
    if (utf8Length(id) > TRANSACTION_ID_BYTES_MAX) {
      return badRequest(`transactionId exceeds the ${TRANSACTION_ID_BYTES_MAX}-byte limit`);
    }
  }
  return null;
}

function render(exchange: Exchange, command: PushCommand, outcome: PushedOutcome): void {
  const { groups, itemGroup, transactionIds } = command;
  const count = itemGroup.length;
  assert(
    outcome.status.length === count && outcome.messageIds.length === count,
    () => `${count} items, ${outcome.status.length} statuses, ${outcome.messageIds.length} ids`,
  );
  // Few and long pieces: joining them, and flattening the text at last, costs by the piece.
  const queueMembers = groups.map(({ queue }) => `,"queueName":${quoted(queue)},"status":"`);
  let text = '';
  for (let i = 0; i < count; i++) {
    const status = outcome.status[i] as number;
    const minted = outcome.messageIds[i] as string;
    const given = transactionIds[i] as string | null;
    text +=
      (i === 0 ? '[{"index":' : ',{"index":') +
      i +
      ',"message_id":"' +
      (status === DUPLICATE_GONE ? ZERO_UUID : minted) +
      (given === null ? '","transaction_id":"' : '","transaction_id":') +
      (given === null ? minted : quoted(given)) +
      (given === null ? '"' : '') +
      (queueMembers[itemGroup[i] as number] as string) +
      statusEnd(status);
  }
  exchange.json('201 Created', `${text}]`);
}

/** The name of a status, and the end of its item. */
function statusEnd(status: number): string {
  switch (status) {
    case QUEUED:
      return 'queued"}';
    case DUPLICATE:
    case DUPLICATE_GONE:
      return 'duplicate"}';
    default:
      assert(status === ERROR, `item status ${status}`);
      return 'error"}';
  }
}
