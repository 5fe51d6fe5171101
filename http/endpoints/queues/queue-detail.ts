/** One queue: its detail with its partitions, and its deletion (inspection 6.6). */
import type { DeleteQueueCommand, MessageCounts, PartitionView } from '@svc/engine';
import {
  constant,
  count,
  describedAs,
  named,
  nothing,
  nullable,
  object,
  optional,
  stamp,
  text,
  truth,
  uuid,
} from '@svc/schema';
import { formatStampUs } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nextAfterOf, type Paged } from '../../exchange/paging.js';
import { piecesOf, sendSliced } from '../../exchange/sliced-answer.js';
import { partOf, rowsOf, shown } from '../../json/shown.js';
import type { QueueDetailView } from '../../ports/service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { foundReply, sendAnswer } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import { outcomeRender, submit } from '../../routing/submit.js';
import { segmentFigures } from './queue-list.js';
import { optionsAnswer } from './queue-options.js';

/** The letter of the list of partitions. */
export const PARTITIONS = 'p';

export const QUEUE_NOT_FOUND = refusal('`Queue not found`');

export const messageFigures = named(
  'MessageFigures',
  shown<MessageCounts>()({
    total: count,
    pending: describedAs('Messages that are leased are counted here too.', count),
    processing: count,
    completed: count,
    failed: nothing,
    deadLetter: count,
  }),
);

const cursor = shown<PartitionView>()({ totalConsumed: count, batchesConsumed: constant(0) });

const partitionRow = named(
  'Partition',
  shown<PartitionView>()({
    id: uuid,
    name: [text, ({ partition }) => partition],
    createdAt: [stamp, ({ createdAtUs }) => formatStampUs(createdAtUs)],
    messages: partOf(messageFigures, ({ counts }) => counts),
    stats: partOf(messageFigures, ({ counts }) => counts),
    cursor,
    lastActivity: [nullable(stamp), ({ lastActivityUs }) => stampOrNull(lastActivityUs)],
    oldestMessage: [nullable(stamp), ({ oldestMessageUs }) => stampOrNull(oldestMessageUs)],
    newestMessage: [nullable(stamp), ({ newestMessageUs }) => stampOrNull(newestMessageUs)],
    retainedBytes: count,
  }),
);

function stampOrNull(stampUs: number | null): string | null {
  return stampUs === null ? null : formatStampUs(stampUs);
}

/** The partitions of a queue, in answers that show a `QueueDetailView`. */
export const PARTITION_ROWS = {
  partitions: rowsOf(partitionRow, ({ partitions }: QueueDetailView) => partitions),
  partitionsTruncated: [
    optional(constant(true)),
    ({ partitionsTruncated }: QueueDetailView) => partitionsTruncated || undefined,
  ],
} as const;

const queueDetailAnswer = shown<QueueDetailView, Paged>()({
  id: [uuid, ({ view }) => view.id],
  name: [text, ({ view }) => view.queue],
  namespace: [text, ({ view }) => view.options.namespace],
  task: [text, ({ view }) => view.options.task],
  createdAt: [stamp, ({ view }) => formatStampUs(view.createdAtUs)],
  options: partOf(optionsAnswer, ({ view }) => view.options),
  ...PARTITION_ROWS,
  segments: partOf(segmentFigures, ({ view }) => view),
  totals: partOf(messageFigures, ({ view }) => view.counts),
  retainedBytes: [count, ({ view }) => view.retainedBytes],
  nextAfter: nextAfterOf(PARTITIONS),
});

const detailPieces = piecesOf(queueDetailAnswer, 'partitions');

/** message-plane 8. */
const queueDeletedAnswer = object({
  deleted: truth,
  existed: truth,
  queue: text,
  message: optional(text),
});

export const queueDetailEndpoint = endpoint({
  at: 'GET /api/v1/resources/queues/{queue}',
  level: 'read-only',
  gateway: 'read',
  tag: 'queues',
  summary: 'One queue with its partitions; `pending` includes what is leased.',
  page: PARTITIONS,
  answers: {
    200: answer('The queue.', queueDetailAnswer),
    404: QUEUE_NOT_FOUND,
  },
  largeAnswer: 'read',
  names: ({ params }) => params,
  tooLong: ({ exchange }) => queueNotFound(exchange),
  handle: (front, call) => answerQueue(front, call, detailPieces),
});

export function queueNotFound(exchange: Exchange): void {
  exchange.json('404 Not Found', '{"error":"Queue not found"}');
}

/** Answers with the pieces of what is shown of the queue that the path names. */
export function answerQueue(
  front: Front,
  { exchange, tenant, params, page }: Call<{ readonly queue: string }, unknown>,
  pieces: (view: QueueDetailView, more: Paged) => Generator<string>,
): void {
  const render = (to: Exchange, more: Paged, view: QueueDetailView) =>
    sendSliced(to, pieces(view, more));
  const reply = foundReply(exchange, { page }, queueNotFound, render);
  front.service.queueDetail(tenant, params.queue, page, reply);
}

export const queueDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/resources/queues/{queue}',
  level: 'admin',
  gateway: 'queue-admin',
  tag: 'queues',
  summary: 'Delete a queue with all that belongs to it.',
  answers: {
    200: answer('Whether it existed.', queueDeletedAnswer),
  },
  names: ({ params }) => params,
  // No queue can have a name that no key can hold.
  tooLong: ({ exchange, params: { queue } }) => sendDeleted(exchange, queue, false),
  handle: (front, { exchange, tenant, params: { queue } }) =>
    submit(front, exchange, { kind: 'delete-queue', tenant, queue }, renderer),
});

const renderer = outcomeRender('deleted', (exchange, { queue }: DeleteQueueCommand, { existed }) =>
  sendDeleted(exchange, queue, existed),
);

function sendDeleted(exchange: Exchange, queue: string, existed: boolean): void {
  sendAnswer(
    exchange,
    '200 OK',
    queueDeletedAnswer,
    existed
      ? { deleted: true, existed: true, queue }
      : {
          deleted: false,
          existed: false,
          queue,
          message: 'Queue not found, nothing was deleted',
        },
  );
}
