/**
 * POST /api/v1/ack and /api/v1/ack/batch (message-plane 4). Both take both shapes: an array of
 * `acknowledgments`, or one acknowledgement at the top level.
 */
import type { AckCommand, AckedOutcome, AckItem, AckStatus } from '@svc/engine';
import { describedAs, list, named, nullable, optional, text, unread } from '@svc/schema';
import { ackResult, QUEUE_MODE_GROUP } from '@svc/wire';
import { assert } from '../../base/assert.js';
import { ACK_ITEMS_MAX } from '../../base/limits.js';
import type { Exchange } from '../../exchange/exchange.js';
import { isReadAtOnce, type PartReader, readInParts } from '../../exchange/large-body.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { sendOwed } from '../../exchange/sliced-answer.js';
import { body, keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { quoted, quotedBytes } from '../../json/json-text.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import type { AnyCall, Call, Front } from '../../routing/route.js';
import { outcomeRender, submit } from '../../routing/submit.js';

export const ACK_BODY_KEYS = keySet(
  'transactionId',
  'partitionId',
  'leaseId',
  'status',
  'error',
  'consumerGroup',
  'acknowledgments',
);

const ACK_FIELDS = {
  transactionId: optional(nullable(text)),
  partitionId: optional(describedAs('Digits, as popped.', nullable(text))),
  leaseId: optional(nullable(text)),
  status: optional(
    describedAs(
      '`completed`, `failed`, `retry` or `dlq`; anything else is `failed`.',
      nullable(text),
    ),
  ),
  error: optional(describedAs('Recorded with a dead letter.', nullable(text))),
};

export const ackItem = named(
  'AckItem',
  body(ACK_BODY_KEYS, {
    ...ACK_FIELDS,
    consumerGroup: optional(unread),
    acknowledgments: optional(unread),
  }),
);

const ackBody = named(
  'AckBody',
  body(ACK_BODY_KEYS, {
    ...ACK_FIELDS,
    consumerGroup: optional(
      describedAs('`__QUEUE_MODE__` when absent, null or empty.', nullable(text)),
    ),
    acknowledgments: optional(nullable(list(ackItem, ACK_ITEMS_MAX))),
  }),
);

const BAD_BODY = 'bad ack body';

const ackRecord = {
  level: 'read-write',
  gateway: 'consume',
  tag: 'messages',
  summary: 'Acknowledge messages: one at the top level, or many as `acknowledgments`.',
  request: {
    share: 'drain',
    reader: 'An ack for each message: read in parts, without an object for each.',
    schema: ackBody,
    example: {
      transactionId: 'order-1',
      partitionId: '7',
      leaseId: '0193f2a0-7b1c-7000-8000-000000000001',
      status: 'completed',
    },
  },
  answers: {
    200: answer('One element for each acknowledgement, in their order.', list(ackResult)),
  },
  badBody: BAD_BODY,
  ignoresQuery: true,
  handle,
} as const;

export const ackEndpoint = endpoint({ at: 'POST /api/v1/ack', ...ackRecord });

export const ackBatchEndpoint = endpoint({ at: 'POST /api/v1/ack/batch', ...ackRecord });

const renderer = outcomeRender('acked', render);

function handle(front: Front, request: Call<unknown>): void {
  front.meters.calls.ackRequests++;
  const { exchange, body } = request;
  if (isReadAtOnce(body)) {
    settle(front, request, readAckBody(body));
    return;
  }
  const reader = new AckBodyReader(body);
  const done = () => settle(front, request, reader.body);
  readInParts(exchange, BAD_BODY, reader, done);
}

function settle(front: Front, { exchange, tenant }: AnyCall, body: AckBody): void {
  const { consumerGroup, items } = body;
  if (items.length === 0) {
    exchange.json('200 OK', '[]');
    return;
  }
  // Not `names` of the record: the body is read in parts, and without items any group is taken.
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
const TRANSACTION_ID = 0;
const PARTITION_ID = 1;
const LEASE_ID = 2;
const STATUS = 3;
const ERROR = 4;
const CONSUMER_GROUP = 5;
const ACKNOWLEDGMENTS = 6;

/** Throws `JsonError` for a body of another shape. */
export function readAckBody(body: Buffer): AckBody {
  const reader = new AckBodyReader(body);
  reader.read(Number.POSITIVE_INFINITY);
  return reader.body;
}

/** Reads a body in parts, which end between two acknowledgements. */
class AckBodyReader implements PartReader {
  readonly #reader: JsonReader;
  /** The acknowledgement that the top level holds; null: none yet. */
  #single: AckFields | null = null;
  #items: AckItem[] | null = null;
  #consumerGroup = '';
  #seen = 0;
  #state: 'begin' | 'members' | 'items' = 'begin';

  constructor(body: Buffer) {
    this.#reader = new JsonReader(body);
  }

  get body(): AckBody {
    const consumerGroup = this.#consumerGroup;
    return {
      consumerGroup: consumerGroup === '' ? QUEUE_MODE_GROUP : consumerGroup,
      items: this.#items ?? [(this.#single ?? new AckFields()).item()],
    };
  }

  read(bytes: number): boolean {
    const reader = this.#reader;
    const until = reader.at + bytes;
    if (this.#state === 'begin') reader.enterObject('the body');
    else if (this.#state === 'items' && !this.#readItems(until)) return false;
    this.#state = 'members';
    for (;;) {
      const key = reader.nextKey(ACK_BODY_KEYS, this.#seen);
      if (key === KEYS_END) break;
      if (key !== KEY_UNKNOWN) this.#seen |= 1 << key;
      if (key === CONSUMER_GROUP) {
        this.#consumerGroup = reader.readNameOrNull('consumerGroup') ?? '';
      } else if (key === ACKNOWLEDGMENTS) {
        if (this.#begins() && !this.#readItems(until)) {
          this.#state = 'items';
          return false;
        }
      } else {
        this.#single ??= new AckFields();
        this.#single.read(reader, key);
      }
    }
    reader.finish();
    return true;
  }

  /** False for a null: the acknowledgement stands at the top level. */
  #begins(): boolean {
    const reader = this.#reader;
    if (reader.isNull()) {
      reader.skipValue();
      return false;
    }
    reader.enterArray('acknowledgments');
    this.#items = [];
    return true;
  }

  /** False: there may be more of them. */
  #readItems(until: number): boolean {
    const reader = this.#reader;
    const items = this.#items ?? [];
    while (reader.nextElement()) {
      if (items.length === ACK_ITEMS_MAX) {
        reader.fail(`more than ${ACK_ITEMS_MAX} acknowledgments`, reader.at);
      }
      items.push(readAckItem(reader, items.at(-1)));
      if (reader.at >= until) return false;
    }
    return true;
  }
}

/** `before`: the item before it, whose partition and lease it mostly has too. */
export function readAckItem(reader: JsonReader, before: AckItem | undefined): AckItem {
  const fields = new AckFields(before?.partitionId, before?.leaseId);
  let seen = 0;
  reader.enterObject('an acknowledgment');
  for (;;) {
    const key = reader.nextKey(ACK_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    fields.read(reader, key);
  }
  return fields.item();
}

/** The members of one acknowledgement while they are read. */
class AckFields {
  /** The value that the next item is likely to repeat. */
  readonly #lastPartitionId: string;
  readonly #lastLeaseId: string;
  #transactionId = '';
  #partitionId = '';
  #leaseId = '';
  #status: AckStatus = 'completed';
  #error: string | null = null;

  constructor(lastPartitionId = '', lastLeaseId = '') {
    this.#lastPartitionId = lastPartitionId;
    this.#lastLeaseId = lastLeaseId;
  }

  read(reader: JsonReader, key: number): void {
    switch (key) {
      case TRANSACTION_ID:
        this.#transactionId = reader.readTextOrNull('transactionId') ?? '';
        return;
      case PARTITION_ID:
        this.#partitionId =
          reader.readRepeatedTextOrNull('partitionId', this.#lastPartitionId) ?? '';
        return;
      case LEASE_ID:
        this.#leaseId = reader.readRepeatedTextOrNull('leaseId', this.#lastLeaseId) ?? '';
        return;
      case STATUS:
        this.#status = ackStatus(reader.readRepeatedTextOrNull('status', 'completed'));
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

/** An unknown status is a failure (decisions 3). */
function ackStatus(text: string | null): AckStatus {
  if (text === null || text === 'completed') return 'completed';
  switch (text.toLowerCase()) {
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

/** Acknowledgements whose answer is made in one piece: 70 KiB of it, half a millisecond. */
const UNCUT_ITEMS_MAX = 512;
/** From so many items on, the native layer takes the answer faster as bytes than as a string. */
const BYTE_TEXT_ITEMS_MIN = 4;

function render(exchange: Exchange, command: AckCommand, outcome: AckedOutcome): void {
  const { items } = command;
  const { length } = items;
  assert(outcome.items.length === length, () => `${length} acks, ${outcome.items.length} outcomes`);
  if (length > UNCUT_ITEMS_MAX) sendOwed(exchange, '200 OK', verdictTexts(items, outcome));
  else if (length < BYTE_TEXT_ITEMS_MIN) {
    exchange.json('200 OK', `[${verdictsText(items, outcome, 0, length, quoted)}]`);
  } else {
    exchange.jsonByteText('200 OK', `[${verdictsText(items, outcome, 0, length, quotedBytes)}]`);
  }
}

function* verdictTexts(items: readonly AckItem[], outcome: AckedOutcome): Generator<string> {
  const step = 32;
  for (let i = 0; i < items.length; i += step) {
    const text = verdictsText(items, outcome, i, Math.min(i + step, items.length), quoted);
    yield `${i === 0 ? '[' : ','}${text}`;
  }
  yield ']';
}

type Verdict = AckedOutcome['items'][number];

/** The elements `from..to`; `quote` makes their texts literals. */
export function verdictsText(
  items: readonly AckItem[],
  outcome: AckedOutcome,
  from: number,
  to: number,
  quote: (text: string) => string,
): string {
  let text = '';
  // Items that follow each other mostly get the same answer, which is put together once.
  let told: Verdict | null = null;
  let end = '';
  for (let i = from; i < to; i++) {
    const verdict = outcome.items[i] as Verdict;
    if (told === null || !isSame(told, verdict)) {
      const error = verdict.error === null ? 'null' : quote(verdict.error);
      end =
        `,"success":${verdict.success},"error":${error},` +
        `"leaseReleased":${verdict.leaseReleased},"dlq":${verdict.dlq},"noop":${verdict.noop}}`;
      told = verdict;
    }
    const id = quote((items[i] as AckItem).transactionId);
    text += `${i === from ? '' : ','}{"index":${i},"transactionId":${id}${end}`;
  }
  return text;
}

function isSame(one: Verdict, other: Verdict): boolean {
  return (
    one.success === other.success &&
    one.error === other.error &&
    one.leaseReleased === other.leaseReleased &&
    one.dlq === other.dlq &&
    one.noop === other.noop
  );
}
