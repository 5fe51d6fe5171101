/**
 * Sums over the queues of a tenant: all of them, by namespace, by task, and those with timers
 * (inspection 6.1, 6.2).
 */

import type { Label, LabelSum, MessageCounts, TimerQueue } from '@svc/engine';
import { constant, count, describedAs, named, stamp, stampMs, text } from '@svc/schema';
import { formatStampMs, formatStampUs } from '@svc/wire';
import {
  AS_FOUND,
  type ListEnd,
  ListText,
  listForm,
  renderListed,
} from '../../exchange/list-text.js';
import { nextAfterOf, type Paged } from '../../exchange/paging.js';
import { partOf, rowsOf, shown } from '../../json/shown.js';
import type { OverviewView } from '../../ports/resource-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { replyBy, shownReply } from '../../routing/reply.js';
import type { AnyCall, Front } from '../../routing/route.js';
import { SURFACE_REFUSALS } from '../kv/kv-answers.js';

/** `failed`, `median` and `min` are part of the shape and always 0. */
const overviewMessages = shown<MessageCounts>()({
  total: count,
  pending: [count, ({ pending, processing }) => pending - processing],
  processing: count,
  completed: count,
  failed: constant(0),
  deadLetter: count,
});

interface Lag {
  readonly sum: number;
  readonly queues: number;
  readonly max: number;
}

const overviewLag = named(
  'OverviewLag',
  shown<Lag>()({
    avg: [count, ({ sum, queues }) => (queues === 0 ? 0 : Math.floor(sum / queues))],
    median: constant(0),
    min: constant(0),
    max: count,
  }),
);

const overviewLags = shown<OverviewView['lag']>()({
  time: partOf(overviewLag, ({ secondsSum: sum, secondsMax: max, queues }) => ({
    sum,
    queues,
    max,
  })),
  offset: partOf(overviewLag, ({ messagesSum: sum, messagesMax: max, queues }) => ({
    sum,
    queues,
    max,
  })),
});

const overviewAnswer = shown<OverviewView>()({
  queues: count,
  partitions: count,
  namespaces: count,
  tasks: count,
  messages: partOf(overviewMessages, ({ counts }) => counts),
  lag: partOf(overviewLags, ({ lag }) => lag),
  timestamp: [stampMs, ({ nowUs }) => formatStampMs(nowUs)],
  statsAge: describedAs('Seconds; 0, because the figures are counted for the answer.', constant(0)),
});

export const resourceOverviewEndpoint = endpoint({
  at: 'GET /api/v1/resources/overview',
  level: 'read-only',
  gateway: 'read',
  tag: 'queues',
  summary: 'What all queues come to; `pending` excludes what is leased.',
  answers: {
    200: answer('The figures, counted for the answer.', overviewAnswer),
  },
  handle: (front, { exchange, tenant }) =>
    front.service.resources.overview(tenant, shownReply(exchange, overviewAnswer)),
});

/** The letters of the two lists. */
const LETTERS = { namespace: 'm', task: 't' } as const;

/** `pending` excludes what is leased. */
const labelMessages = shown<MessageCounts>()({
  total: count,
  pending: [count, ({ pending, processing }) => pending - processing],
});

const LABEL_FIGURES = {
  queues: count,
  partitions: count,
  messages: partOf(labelMessages, ({ counts }: LabelSum) => counts),
} as const;

const namespaceRow = shown<LabelSum>()({
  namespace: [text, ({ label }) => label],
  ...LABEL_FIGURES,
});

const namespacesAnswer = shown<ListEnd, Paged>()({
  namespaces: rowsOf(namespaceRow, AS_FOUND),
  nextAfter: nextAfterOf(LETTERS.namespace),
});

const taskRow = shown<LabelSum>()({ task: [text, ({ label }) => label], ...LABEL_FIGURES });

const tasksAnswer = shown<ListEnd, Paged>()({
  tasks: rowsOf(taskRow, AS_FOUND),
  nextAfter: nextAfterOf(LETTERS.task),
});

const FORMS = {
  namespace: listForm(namespacesAnswer, 'namespaces', namespaceRow, LETTERS.namespace),
  task: listForm(tasksAnswer, 'tasks', taskRow, LETTERS.task),
};

export const namespacesEndpoint = endpoint({
  at: 'GET /api/v1/resources/namespaces',
  level: 'read-only',
  gateway: 'read',
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
  gateway: 'read',
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
  const form = FORMS[label]({ page });
  const reply = replyBy(exchange, false, renderListed);
  const newList = () => new ListText(exchange.newText(), form);
  front.service.resources.sumsByLabel(tenant, label, page, newList, reply);
}

/** The letter of the list. */
const LIST = 'd';

const timerQueueRow = named(
  'TimerQueueRow',
  shown<TimerQueue>()({
    queue: text,
    pending: count,
    nextAt: [
      describedAs('When the next timer is due.', stamp),
      ({ nextUs }) => formatStampUs(nextUs),
    ],
  }),
);

const timerQueuesAnswer = shown<ListEnd, Paged>()({
  timers: rowsOf(timerQueueRow, AS_FOUND),
  nextAfter: nextAfterOf(LIST),
});

const timerQueuesForm = listForm(timerQueuesAnswer, 'timers', timerQueueRow, LIST);

export const timerQueuesEndpoint = endpoint({
  at: 'GET /api/v1/resources/timers',
  level: 'read-only',
  gateway: 'read',
  tag: 'timers',
  summary: 'The queues that have timers, by name.',
  page: LIST,
  answers: {
    200: answer('The queues.', timerQueuesAnswer),
    ...SURFACE_REFUSALS,
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, page }) => {
    const pass = front.gate.enter(exchange, tenant, { kind: 'timer-read' });
    if (pass === null) return;
    const form = timerQueuesForm({ page });
    const reply = replyBy(exchange, false, renderListed, pass);
    const newList = () => new ListText(exchange.newText(), form);
    front.service.timers.queues(tenant, page, newList, reply);
  },
});
