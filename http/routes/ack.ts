/**
 * POST /api/v1/ack and /api/v1/ack/batch (message-plane 4). Both take both shapes: an array of
 * `acknowledgments`, or one acknowledgement at the top level.
 */
import type { AckCommand, AckedOutcome, AckItem, AckStatus } from '@svc/engine';
import { QUEUE_MODE_GROUP } from '@svc/wire';
import { assert } from '../assert.js';
import type { Exchange } from '../exchange.js';
import { keySet } from '../json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../json-reader.js';
import { quoted, quotedOrNull } from '../json-text.js';
import { ACK_ITEMS_MAX } from '../limits.js';
import { nameBudgetRefusal } from '../name-budget.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';
import { type OutcomeRenderer, submit } from '../submit.js';

const ACK_ROUTE = {
  ...ROUTE_DEFAULTS,
  method: 'POST',
  level: 'read-write',
  body: 'drain',
  badBody: 'bad ack body',
  handle,
} as const;

export const ackRoute: Route = { ...ACK_ROUTE, path: '/api/v1/ack' };
export const ackBatchRoute: Route = { ...ACK_ROUTE, path: '/api/v1/ack/batch' };

const renderer: OutcomeRenderer<AckCommand, 'acked'> = { kind: 'acked', render };

function handle(front: Front, request: RouteRequest): void {
  front.meters.calls.ackRequests++;
  const { exchange, tenant } = request;
  const { consumerGroup, items } = readAckBody(request.body);
  if (items.length === 0) {
    exchange.json('200 OK', '[]');
    return;
  }
  const refusal = nameBudgetRefusal(tenant, '', consumerGroup, '');
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  front.meters.calls.ackMessages += items.length;
  submit(front, exchange, { kind: 'ack', tenant, consumerGroup, items }, renderer);
}

export interface AckBody {
  readonly consumerGroup: string;
  readonly items: readonly AckItem[];
}

export const ACK_BODY_KEYS = keySet(
  'transactionId',
  'partitionId',
  'leaseId',
  'status',
  'error',
  'consumerGroup',
  'acknowledgments',
);
const TRANSACTION_ID = 0;
const PARTITION_ID = 1;
const LEASE_ID = 2;
const STATUS = 3;
const ERROR = 4;
const CONSUMER_GROUP = 5;
const ACKNOWLEDGMENTS = 6;

/** Throws `JsonError` for a body of another shape. */
export function readAckBody(body: Buffer): AckBody {
  const reader = new JsonReader(body);
  const single = new AckFields();
  let items: AckItem[] | null = null;
  let consumerGroup = '';
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(ACK_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === CONSUMER_GROUP) consumerGroup = reader.readNameOrNull('consumerGroup') ?? '';
    else if (key === ACKNOWLEDGMENTS) items = readItems(reader);
    else single.read(reader, key);
  }
  reader.finish();
  return {
    consumerGroup: consumerGroup === '' ? QUEUE_MODE_GROUP : consumerGroup,
    items: items ?? [single.item()],
  };
}

/** null for a null: the acknowledgement stands at the top level. */
function readItems(reader: JsonReader): AckItem[] | null {
  if (reader.isNull()) {
    reader.skipValue();
    return null;
  }
  const items: AckItem[] = [];
  reader.enterArray('acknowledgments');
  while (reader.nextElement()) {
    if (items.length === ACK_ITEMS_MAX) {
      reader.fail(`more than ${ACK_ITEMS_MAX} acknowledgments`, reader.at);
    }
    const fields = new AckFields();
    let seen = 0;
    reader.enterObject('an acknowledgment');
    for (;;) {
      const key = reader.nextKey(ACK_BODY_KEYS, seen);
      if (key === KEYS_END) break;
      if (key !== KEY_UNKNOWN) seen |= 1 << key;
      fields.read(reader, key);
    }
    items.push(fields.item());
  }
  return items;
}

/** The members of one acknowledgement while they are read. */
class AckFields {
  #transactionId = '';
  #partitionId = '';
  #leaseId = '';
  #status: AckStatus = 'completed';
  #error: string | null = null;

  read(reader: JsonReader, key: number): void {
    switch (key) {
      case TRANSACTION_ID:
        this.#transactionId = reader.readTextOrNull('transactionId') ?? '';
        return;
      case PARTITION_ID:
        this.#partitionId = reader.readTextOrNull('partitionId') ?? '';
        return;
      case LEASE_ID:
        this.#leaseId = reader.readTextOrNull('leaseId') ?? '';
        return;
      case STATUS:
        this.#status = ackStatus(reader.readTextOrNull('status'));
        return;
      case ERROR:
        this.#error = reader.readTextOrNull('error');
        return;
      default:
        reader.skipValue();
    }
  }

  item(): AckItem {
    return {
      transactionId: this.#transactionId,
      partitionId: this.#partitionId,
      leaseId: this.#leaseId,
      status: this.#status,
      error: this.#error,
    };
  }
}

/** What is not known is a failure (contract README, settled point 3). */
function ackStatus(text: string | null): AckStatus {
  switch (text === null ? 'completed' : text.toLowerCase()) {
    case 'completed':
    case 'success':
    case 'acked':
    case 'ok':
      return 'completed';
    case 'retry':
      return 'retry';
    case 'dlq':
      return 'dlq';
    default:
      return 'failed';
  }
}

function render(exchange: Exchange, command: AckCommand, outcome: AckedOutcome): void {
  const { items } = command;
  assert(
    outcome.items.length === items.length,
    () => `${items.length} acks, ${outcome.items.length} outcomes`,
  );
  let text = '[';
  for (let i = 0; i < items.length; i++) {
    const item = items[i] as AckItem;
    const verdict = outcome.items[i] as AckedOutcome['items'][number];
    text +=
      `${i === 0 ? '' : ','}{"index":${i},"transactionId":${quoted(item.transactionId)},` +
      `"success":${verdict.success},"error":${quotedOrNull(verdict.error)},` +
      `"leaseReleased":${verdict.leaseReleased},"dlq":${verdict.dlq},"noop":${verdict.noop}}`;
  }
  exchange.json('200 OK', `${text}]`);
}
