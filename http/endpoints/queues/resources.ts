/**
 * Sums over the queues of a tenant: all of them, by namespace, by task, and those with timers
 * (inspection 6.1, 6.2).
 */

import type { Label, LabelSum, TimerQueue } from '@svc/engine';
import {
  formatStampMs,
  formatStampUs,
  type LabelFigures,
  namespaceRow,
  namespacesAnswer,
  type OverviewAnswer,
  type OverviewLag,
  overviewAnswer,
  type TimerQueueRow,
  taskRow,
  tasksAnswer,
  timerQueueRow,
  timerQueuesAnswer,
} from '@svc/wire';
import {
  joined,
  type ListEnd,
  type ListForm,
  ListText,
  renderListed,
} from '../../exchange/list-text.js';
import { nextAfterText, placeToken } from '../../exchange/paging.js';
import { GatedReply } from '../../gate/gated-reply.js';
import { jsonOf } from '../../json/answer-writer.js';
import type { OverviewView } from '../../ports/resource-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { PendingReply, shownReply } from '../../routing/reply.js';
import type { AnyCall, Front } from '../../routing/route.js';
import { SURFACE_REFUSALS } from '../kv/kv-answers.js';

export const resourceOverviewEndpoint = endpoint({
  at: 'GET /api/v1/resources/overview',
  level: 'read-only',
  tag: 'queues',
  summary: 'What all queues come to; `pending` excludes what is leased.',
  answers: {
    200: answer('The figures, counted for the answer.', overviewAnswer),
  },
  handle: (front, { exchange, tenant }) =>
    front.service.resources.overview(tenant, shownReply(front, exchange, overviewAnswer, shown)),
});

function shown(view: OverviewView): OverviewAnswer {
  const { total, pending, processing, completed, deadLetter } = view.counts;
  const { secondsSum, secondsMax, messagesSum, messagesMax, queues: lagging } = view.lag;
  return {
    queues: view.queues,
    partitions: view.partitions,
    namespaces: view.namespaces,
    tasks: view.tasks,
    messages: {
      total,
      pending: pending - processing,
      processing,
      completed,
      failed: 0,
      deadLetter,
    },
    lag: {
      time: lag(secondsSum, lagging, secondsMax),
      offset: lag(messagesSum, lagging, messagesMax),
    },
    timestamp: formatStampMs(view.nowUs),
    statsAge: 0,
  };
}

function lag(sum: number, queues: number, max: number): OverviewLag {
  return { avg: queues === 0 ? 0 : Math.floor(sum / queues), median: 0, min: 0, max };
}

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

/** The letter of the list. */
const LIST = 'd';

export const timerQueuesEndpoint = endpoint({
  at: 'GET /api/v1/resources/timers',
  level: 'read-only',
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
    const form: ListForm<TimerQueue, ListEnd> = {
      open: '{"timers":[',
      row: joined((row) => jsonOf(timerQueueRow, rowOf(row))),
      close: ({ nextAfter }) => `]${nextAfterText(page, LIST, nextAfter)}}`,
      token: (place) => placeToken(LIST, place),
    };
    const reply = new PendingReply(exchange, front.logger, false, renderListed);
    const newList = () => new ListText(exchange.newText(), form);
    front.service.timers.queues(tenant, page, newList, new GatedReply(pass, reply));
  },
});

function rowOf({ queue, pending, nextUs }: TimerQueue): TimerQueueRow {
  return { queue, pending, nextAt: formatStampUs(nextUs) };
}
