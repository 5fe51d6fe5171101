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
  PushGroup,
  Refusal,
} from '@svc/engine';
import { anything, describedAs, list, named, nullable, optional, text } from '@svc/schema';
import { pushResult, TRANSACTION_ID_BYTES_MAX, utf8Length, ZERO_UUID } from '@svc/wire';
import { assert } from '../../base/assert.js';
import { PUSH_ITEMS_MAX } from '../../base/limits.js';
import { badRequest } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { isReadAtOnce, type PartReader, readInParts } from '../../exchange/large-body.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { sendOwed } from '../../exchange/sliced-answer.js';
import { body } from '../../json/json-keys.js';
import { quoted, quotedBytes } from '../../json/json-text.js';
import { answer, endpoint, STORAGE_FULL } from '../../routing/endpoint.js';
import { replyBy } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import { outcomeRender } from '../../routing/submit.js';
import {
  PUSH_BODY_KEYS,
  PUSH_ITEM_KEYS,
  PushBodyReader,
  type PushColumns,
  readPushBody,
} from './push-body.js';

/** The engine's item statuses; only its types are used here, and they hold the numbers together. */
const QUEUED: typeof ITEM_QUEUED = 0;
const DUPLICATE: typeof ITEM_DUPLICATE = 1;
const DUPLICATE_GONE: typeof ITEM_DUPLICATE_GONE = 2;
const ERROR: typeof ITEM_ERROR = 3;

const pushItem = named(
  'PushItem',
  body(PUSH_ITEM_KEYS, {
    queue: describedAs('Created when it is not there.', text),
    partition: optional(describedAs('`Default` when absent, null or empty.', nullable(text))),
    transactionId: optional(
      describedAs('The key of deduplication; the message id when absent or null.', nullable(text)),
    ),
    payload: describedAs('Kept and returned as the JSON text that was sent.', anything),
  }),
);

const BAD_BODY = 'bad push body';

export const pushEndpoint = endpoint({
  at: 'POST /api/v1/push',
  level: 'write-only',
  gateway: 'produce',
  tag: 'messages',
  summary: 'Store messages. Each group of one queue and partition commits by itself.',
  request: {
    share: 'growing',
    reader: 'Payloads stay where they are in the body, in columns, and it is read in parts.',
    schema: body(PUSH_BODY_KEYS, { items: list(pushItem, PUSH_ITEMS_MAX) }),
  },
  answers: {
    201: answer('One element for each item, in their order.', list(pushResult)),
    507: STORAGE_FULL,
  },
  badBody: BAD_BODY,
  ignoresQuery: true,
  handle: (front, request) => {
    const beganMs = front.service.monotonicMs();
    front.meters.calls.pushRequests++;
    const { exchange, tenant, body } = request;
    if (isReadAtOnce(body)) {
      const columns = readPushBody(body);
      const refusal = groupRefusal(tenant, columns, 0) ?? idRefusal(columns, 0);
      push(front, request, columns, refusal, beganMs);
      return;
    }
    const reader = new LargePushReader(tenant, body);
    const done = () => push(front, request, reader.columns, reader.refusal, beganMs);
    readInParts(exchange, BAD_BODY, reader, done);
  },
});

const US_PER_MS = 1000;
/** Items whose answer is made in one piece: 90 KiB of it, less than a millisecond. */
const UNCUT_ITEMS_MAX = 512;
/** From so many items on, the native layer takes the answer faster as bytes than as a string. */
const BYTE_TEXT_ITEMS_MIN = 4;

/** One push, whose outcome it renders, and the times of the stages that it passes here. */
class TimedPush {
  readonly #command: PushCommand;
  readonly #front: Front;
  readonly #beganMs: number;
  readonly #preparedMs: number;

  constructor(command: PushCommand, front: Front, beganMs: number) {
    this.#command = command;
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

  render(exchange: Exchange, outcome: PushedOutcome): void {
    const command = this.#command;
    const { meters, service } = this.#front;
    meters.pipeline.pushAwait.record((service.monotonicMs() - this.#preparedMs) * US_PER_MS);
    const count = command.itemGroup.length;
    assert(
      outcome.status.length === count && outcome.messageIds.length === count,
      () => `${count} items, ${outcome.status.length} statuses, ${outcome.messageIds.length} ids`,
    );
    if (count > UNCUT_ITEMS_MAX) {
      sendOwed(exchange, '201 Created', itemTexts(command, outcome, this));
      return;
    }
    if (count < BYTE_TEXT_ITEMS_MIN) {
      exchange.json('201 Created', `${itemsText('[', command, outcome, 0, count, quoted)}]`);
    } else {
      const text = itemsText('[', command, outcome, 0, count, quotedBytes);
      exchange.jsonByteText('201 Created', `${text}]`);
    }
    this.made();
  }

  made(): void {
    const { meters, service } = this.#front;
    meters.pipeline.pushTotal.record((service.monotonicMs() - this.#beganMs) * US_PER_MS);
  }
}

function push(
  front: Front,
  { exchange, tenant, subject, body }: Call<unknown>,
  columns: PushColumns,
  refusal: Refusal | null,
  beganMs: number,
): void {
  const { groups, itemGroup, transactionIds, payloadStart, payloadEnd } = columns;
  if (itemGroup.length === 0) {
    exchange.json('201 Created', '[]');
    return;
  }
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  front.meters.calls.pushMessages += itemGroup.length;
  const command: PushCommand = {
    kind: 'push',
    tenant,
    producerSub: subject,
    body,
    groups,
    itemGroup,
    transactionIds,
    payloadStart,
    payloadEnd,
  };
  const timed = new TimedPush(command, front, beganMs);
  exchange.handBody();
  front.service.submit(command, replyBy(exchange, timed, renderer));
  timed.submitted();
}

const renderer = outcomeRender('pushed', (exchange, timed: TimedPush, outcome) =>
  timed.render(exchange, outcome),
);

/** Checks what each part has read before it reads the next. */
class LargePushReader implements PartReader {
  readonly #tenant: string;
  readonly #reader: PushBodyReader;
  #groups = 0;
  #ids = 0;
  #ofGroups: Refusal | null = null;
  #ofIds: Refusal | null = null;

  constructor(tenant: string, body: Buffer) {
    this.#tenant = tenant;
    this.#reader = new PushBodyReader(body);
  }

  get columns(): PushColumns {
    return this.#reader.columns;
  }

  /** The same as of a body that is read at once. */
  get refusal(): Refusal | null {
    return this.#ofGroups ?? this.#ofIds;
  }

  read(bytes: number): boolean {
    const { columns } = this.#reader;
    const isOver = this.#reader.read(bytes);
    this.#ofGroups ??= groupRefusal(this.#tenant, columns, this.#groups);
    this.#ofIds ??= idRefusal(columns, this.#ids);
    this.#groups = columns.groups.length;
    this.#ids = columns.transactionIds.length;
    return isOver;
  }
}

/**
 * Null when every name from that place on is within its bound. The call is refused as a whole. Not
 * `names` of the record, because a large body is judged part by part as it is read.
 */
function groupRefusal(tenant: string, { groups }: PushColumns, from: number): Refusal | null {
  for (let i = from; i < groups.length; i++) {
    const { queue, partition } = groups[i] as PushGroup;
    const refusal = nameBudgetRefusal(tenant, queue, '', partition);
    if (refusal !== null) return refusal;
  }
  return null;
}

function idRefusal({ transactionIds }: PushColumns, from: number): Refusal | null {
  for (let i = from; i < transactionIds.length; i++) {
    const id = transactionIds[i] as string | null;
    // A UTF-16 code unit is three bytes at most.
    if (id === null || id.length * 3 <= TRANSACTION_ID_BYTES_MAX) continue;
    if (utf8Length(id) > TRANSACTION_ID_BYTES_MAX) {
      return badRequest(`transactionId exceeds the ${TRANSACTION_ID_BYTES_MAX}-byte limit`);
    }
  }
  return null;
}

function* itemTexts(
  command: PushCommand,
  outcome: PushedOutcome,
  timed: TimedPush,
): Generator<string> {
  const { length } = command.itemGroup;
  const step = 32;
  for (let i = 0; i < length; i += step) {
    const to = Math.min(i + step, length);
    yield itemsText(i === 0 ? '[' : ',', command, outcome, i, to, quoted);
  }
  yield ']';
  timed.made();
}

/** Behind `before`, the elements of the items `from..to`; `quote` makes their texts literals. */
function itemsText(
  before: string,
  { groups, itemGroup, transactionIds }: PushCommand,
  outcome: PushedOutcome,
  from: number,
  to: number,
  quote: (text: string) => string,
): string {
  // Few and long pieces: joining them, and flattening the text at last, costs by the piece.
  let text = before;
  // Items that follow each other mostly name one queue, which is quoted once.
  let queue: string | null = null;
  let queueMember = '';
  for (let i = from; i < to; i++) {
    const group = groups[itemGroup[i] as number] as PushGroup;
    if (group.queue !== queue) {
      queue = group.queue;
      queueMember = `,"queueName":${quote(queue)},"status":"`;
    }
    const status = outcome.status[i] as number;
    const minted = outcome.messageIds[i] as string;
    const given = transactionIds[i] as string | null;
    text +=
      (i === from ? '{"index":' : ',{"index":') +
      i +
      ',"message_id":"' +
      (status === DUPLICATE_GONE ? ZERO_UUID : minted) +
      (given === null ? '","transaction_id":"' : '","transaction_id":') +
      (given === null ? minted : quote(given)) +
      (given === null ? '"' : '') +
      queueMember +
      statusEnd(status);
  }
  return text;
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
