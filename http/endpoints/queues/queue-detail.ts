/** One queue: its detail with its partitions, and its deletion (inspection 6.6). */
import type { DeleteQueueCommand, MessageCounts, PartitionView } from '@svc/engine';
import {
  formatStampUs,
  type MessageFigures,
  type PartitionRow,
  partitionRow,
  type QueueDetailAnswer,
  queueDeletedAnswer,
  queueDetailAnswer,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nextAfterMember, type Paging } from '../../exchange/paging.js';
import { listText, sendSliced } from '../../exchange/sliced-answer.js';
import { jsonOf } from '../../json/answer-writer.js';
import type { QueueDetailView } from '../../ports/service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { foundReply, sendAnswer } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';
import { optionsAnswer } from './queue-options.js';

/** The letter of the list of partitions. */
export const PARTITIONS = 'p';

export const QUEUE_NOT_FOUND = refusal('`Queue not found`');

export const queueDetailEndpoint = endpoint({
  at: 'GET /api/v1/resources/queues/{queue}',
  level: 'read-only',
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
  handle: (front, call) => answerQueue(front, call, { head: detailHead, tail: detailTail }),
});

export function queueNotFound(exchange: Exchange): void {
  exchange.json('404 Not Found', '{"error":"Queue not found"}');
}

/** What stands before and behind the partitions of the queue in an answer. */
export interface DetailForm {
  readonly head: (view: QueueDetailView) => object;
  readonly tail: (view: QueueDetailView) => object;
}

interface DetailContext {
  readonly form: DetailForm;
  readonly paging: Paging;
}

/** Answers with what `form` shows of the queue that the path names, and its partitions. */
export function answerQueue(
  front: Front,
  { exchange, tenant, params, page }: Call<{ readonly queue: string }, unknown>,
  form: DetailForm,
): void {
  const reply = foundReply(front, exchange, { form, paging: page }, queueNotFound, render);
  front.service.queueDetail(tenant, params.queue, page, reply);
}

function render(
  exchange: Exchange,
  { form, paging }: DetailContext,
  outcome: QueueDetailView,
): void {
  const text = listText(form.head(outcome), 'partitions', partitionTexts(outcome), {
    ...(outcome.partitionsTruncated ? { partitionsTruncated: true } : {}),
    ...form.tail(outcome),
    ...nextAfterMember(paging, PARTITIONS, outcome.nextAfter),
  });
  sendSliced(exchange, text);
}

function* partitionTexts({ partitions }: QueueDetailView): Generator<string> {
  for (const one of partitions) yield jsonOf(partitionRow, rowOf(one));
}

/** The members of a `QueueDetailAnswer` that stand before its partitions. */
function detailHead({ view }: QueueDetailView): Partial<QueueDetailAnswer> {
  const { id, queue, options, createdAtUs } = view;
  return {
    id,
    name: queue,
    namespace: options.namespace,
    task: options.task,
    createdAt: formatStampUs(createdAtUs),
    options: optionsAnswer(options),
  };
}

function detailTail({ view }: QueueDetailView): Partial<QueueDetailAnswer> {
  const { counts, segments, retainedBytes } = view;
  return {
    segments: { segments, messages: counts.total },
    totals: messageFigures(counts),
    retainedBytes,
  };
}

function rowOf(view: PartitionView): PartitionRow {
  const messages = messageFigures(view.counts);
  return {
    id: view.id,
    name: view.partition,
    createdAt: formatStampUs(view.createdAtUs),
    messages,
    stats: messages,
    cursor: { totalConsumed: view.totalConsumed, batchesConsumed: 0 },
    lastActivity: stampOrNull(view.lastActivityUs),
    oldestMessage: stampOrNull(view.oldestMessageUs),
    newestMessage: stampOrNull(view.newestMessageUs),
    retainedBytes: view.retainedBytes,
  };
}

export function messageFigures(counts: MessageCounts): MessageFigures {
  const { total, pending, processing, completed, deadLetter } = counts;
  return { total, pending, processing, completed, failed: null, deadLetter };
}

function stampOrNull(stampUs: number | null): string | null {
  return stampUs === null ? null : formatStampUs(stampUs);
}

export const queueDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/resources/queues/{queue}',
  level: 'admin',
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

const renderer: OutcomeRenderer<DeleteQueueCommand, 'deleted'> = {
  kind: 'deleted',
  render: (exchange, { queue }, { existed }) => sendDeleted(exchange, queue, existed),
};

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
