/** GET /api/v1/resources/namespaces and /tasks (inspection 6.2). */
import type { Label, LabelSum } from '@svc/engine';
import { type LabelFigures, namespaceRow, namespacesAnswer, taskRow, tasksAnswer } from '@svc/wire';
import {
  joined,
  type ListEnd,
  type ListForm,
  ListText,
  renderListed,
} from '../../exchange/list-text.js';
import { nextAfterText, placeToken } from '../../exchange/paging.js';
import { jsonOf } from '../../json/answer-writer.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { PendingReply } from '../../routing/reply.js';
import type { AnyCall, Front } from '../../routing/route.js';

/** The letters of the two lists. */
const LETTERS = { namespace: 'm', task: 't' } as const;

export const namespacesEndpoint = endpoint({
  at: 'GET /api/v1/resources/namespaces',
  level: 'read-only',
  tag: 'queues',
  summary: 'Queues by namespace; `pending` excludes what is leased.',
  page: LETTERS.namespace,
  answers: {
    200: answer('Namespaces that are not empty, ascending.', namespacesAnswer),
  },
  largeAnswer: 'read',
  handle: (front, call) => sendSums(front, call, 'namespace'),
});

export const tasksEndpoint = endpoint({
  at: 'GET /api/v1/resources/tasks',
  level: 'read-only',
  tag: 'queues',
  summary: 'Queues by task; `pending` excludes what is leased.',
  page: LETTERS.task,
  answers: {
    200: answer('Tasks that are not empty, ascending.', tasksAnswer),
  },
  largeAnswer: 'read',
  handle: (front, call) => sendSums(front, call, 'task'),
});

function sendSums(front: Front, { exchange, tenant, page }: AnyCall, label: Label): void {
  const letter = LETTERS[label];
  const form: ListForm<LabelSum, ListEnd> = {
    open: `{"${label}s":[`,
    row: joined(ROW_TEXTS[label]),
    close: ({ nextAfter }) => `]${nextAfterText(page, letter, nextAfter)}}`,
    token: (place) => placeToken(letter, place),
  };
  const reply = new PendingReply(exchange, front.logger, false, renderListed);
  const newList = () => new ListText(exchange.newText(), form);
  front.service.resources.sumsByLabel(tenant, label, page, newList, reply);
}

const ROW_TEXTS = {
  namespace: (sum: LabelSum) => jsonOf(namespaceRow, { namespace: sum.label, ...figures(sum) }),
  task: (sum: LabelSum) => jsonOf(taskRow, { task: sum.label, ...figures(sum) }),
};

function figures({ queues, partitions, counts }: LabelSum): LabelFigures {
  const { total, pending, processing } = counts;
  return { queues, partitions, messages: { total, pending: pending - processing } };
}
