/** GET /api/v1/resources/queues (message-plane 8, inspection 6.5): the queues of the tenant. */
import type { MessageCounts, QueueName, QueueView } from '@svc/engine';
import { constant, count, describedAs, either, named, stamp, text, uuid } from '@svc/schema';
import { formatStampUs } from '@svc/wire';
import {
  AS_FOUND,
  type ListEnd,
  ListText,
  listForm,
  renderListed,
} from '../../exchange/list-text.js';
import { nextAfterOf, type Paged } from '../../exchange/paging.js';
import { partOf, rowsOf, shown } from '../../json/shown.js';
import type { QueueListEnd } from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { textParameter } from '../../routing/query-parameter.js';
import { replyBy } from '../../routing/reply.js';
import { optionsAnswer } from './queue-options.js';

/** Both orders are by age, but a place in one is not taken for a place in the other. */
const ROWS = 'q';
const NAMES = 'n';

export const segmentFigures = shown<QueueView>()({
  segments: count,
  messages: [count, ({ counts }) => counts.total],
});

const messages = shown<MessageCounts>()({
  total: count,
  pending: [
    describedAs('Messages that are leased are not counted here.', count),
    ({ pending, processing }) => pending - processing,
  ],
  processing: count,
  completed: count,
  deadLetter: count,
});

export const queueRow = named(
  'Queue',
  shown<QueueView>()({
    id: uuid,
    name: [text, ({ queue }) => queue],
    queue: text,
    namespace: [text, ({ options }) => options.namespace],
    task: [text, ({ options }) => options.task],
    storage: constant('segments'),
    partitions: count,
    segments: segmentFigures,
    messages: partOf(messages, ({ counts }) => counts),
    retainedBytes: count,
    options: partOf(optionsAnswer, ({ options }) => options),
    createdAt: [stamp, ({ createdAtUs }) => formatStampUs(createdAtUs)],
  }),
);

const queueListAnswer = shown<QueueListEnd, Paged>()({
  queues: rowsOf(queueRow, AS_FOUND),
  kvRows: count,
  kvBytes: count,
  timerRows: count,
  timerBytes: count,
  nextAfter: nextAfterOf(ROWS),
});

const rowsForm = listForm(queueListAnswer, 'queues', queueRow, ROWS);

const queueNameRow = shown<QueueName>()({
  id: uuid,
  name: [text, ({ queue }) => queue],
  queue: text,
  partitions: count,
  createdAt: [stamp, ({ createdAtUs }) => formatStampUs(createdAtUs)],
});

/** What a caller needs that only wants to know which queues there are. */
const queueNamesAnswer = shown<ListEnd, Paged>()({
  queues: rowsOf(queueNameRow, AS_FOUND),
  stats: constant('lanes'),
  nextAfter: nextAfterOf(NAMES),
});

const namesForm = listForm(queueNamesAnswer, 'queues', queueNameRow, NAMES);

export const queueListEndpoint = endpoint({
  at: 'GET /api/v1/resources/queues',
  level: 'read-only',
  gateway: 'read',
  tag: 'queues',
  summary: 'Every queue, newest first; `pending` excludes what is leased.',
  query: { stats: textParameter('`lanes`: names and numbers of partitions alone.') },
  page: ({ stats }) => (stats === 'lanes' ? NAMES : ROWS),
  answers: {
    200: answer('The queues, with figures or without.', either(queueListAnswer, queueNamesAnswer)),
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, query, page }) => {
    const reply = replyBy(exchange, false, renderListed);
    if (query.stats === 'lanes') {
      const form = namesForm({ page });
      const newList = () => new ListText(exchange.newText(), form);
      front.service.resources.queueNames(tenant, page, newList, reply);
    } else {
      const form = rowsForm({ page });
      front.service.listQueues(tenant, page, () => new ListText(exchange.newText(), form), reply);
    }
  },
});
