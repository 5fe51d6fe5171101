/** GET /api/v1/resources/queues (message-plane 8, inspection 6.5): the queues of the tenant. */
import type { QueueName, QueueView } from '@svc/engine';
import { either } from '@svc/schema';
import {
  formatStampUs,
  type QueueRow,
  queueListAnswer,
  queueNameRow,
  queueNamesAnswer,
  queueRow,
} from '@svc/wire';
import {
  joined,
  type ListEnd,
  type ListForm,
  ListText,
  renderListed,
} from '../../exchange/list-text.js';
import { nextAfterText, type Paging, placeToken } from '../../exchange/paging.js';
import { jsonOf } from '../../json/answer-writer.js';
import type { QueueListEnd } from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { textParameter } from '../../routing/query-parameter.js';
import { PendingReply } from '../../routing/reply.js';
import { optionsAnswer } from './queue-options.js';

export const queueListEndpoint = endpoint({
  at: 'GET /api/v1/resources/queues',
  level: 'read-only',
  tag: 'queues',
  summary: 'Every queue, newest first; `pending` excludes what is leased.',
  query: { stats: textParameter('`lanes`: names and numbers of partitions alone.') },
  page: ({ stats }) => (stats === 'lanes' ? NAMES : ROWS),
  answers: {
    200: answer('The queues, with figures or without.', either(queueListAnswer, queueNamesAnswer)),
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, query, page }) => {
    const reply = new PendingReply(exchange, front.logger, false, renderListed);
    if (query.stats === 'lanes') {
      const form = namesForm(page);
      const newList = () => new ListText(exchange.newText(), form);
      front.service.resources.queueNames(tenant, page, newList, reply);
    } else {
      const form = rowsForm(page);
      front.service.listQueues(tenant, page, () => new ListText(exchange.newText(), form), reply);
    }
  },
});

/** Both orders are by age, but a place in one is not taken for a place in the other. */
const ROWS = 'q';
const NAMES = 'n';

/** A `QueueListAnswer`. */
function rowsForm(paging: Paging): ListForm<QueueView, QueueListEnd> {
  return {
    open: '{"queues":[',
    row: joined((view) => jsonOf(queueRow, queueShown(view))),
    close: ({ nextAfter, kvRows, kvBytes, timerRows, timerBytes }) =>
      `],"kvRows":${kvRows},"kvBytes":${kvBytes},"timerRows":${timerRows},` +
      `"timerBytes":${timerBytes}${nextAfterText(paging, ROWS, nextAfter)}}`,
    token: (place) => placeToken(ROWS, place),
  };
}

export function queueShown(view: QueueView): QueueRow {
  const { id, queue, options, partitions, segments, counts, retainedBytes } = view;
  const { total, pending, processing, completed, deadLetter } = counts;
  return {
    id,
    name: queue,
    queue,
    namespace: options.namespace,
    task: options.task,
    storage: 'segments',
    partitions,
    segments: { segments, messages: total },
    messages: { total, pending: pending - processing, processing, completed, deadLetter },
    retainedBytes,
    options: optionsAnswer(options),
    createdAt: formatStampUs(view.createdAtUs),
  };
}

/** A `QueueNamesAnswer`: what a caller needs that only wants to know which queues there are. */
function namesForm(paging: Paging): ListForm<QueueName, ListEnd> {
  return {
    open: '{"queues":[',
    row: joined(({ id, queue, partitions, createdAtUs }) => {
      const createdAt = formatStampUs(createdAtUs);
      return jsonOf(queueNameRow, { id, name: queue, queue, partitions, createdAt });
    }),
    close: ({ nextAfter }) => `],"stats":"lanes"${nextAfterText(paging, NAMES, nextAfter)}}`,
    token: (place) => placeToken(NAMES, place),
  };
}
