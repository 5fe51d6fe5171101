/** GET /api/v1/resources/timers: queues that have timers (decisions 26). */
import type { TimerQueue } from '@svc/engine';
import { formatStampUs, type TimerQueueRow, timerQueueRow, timerQueuesAnswer } from '@svc/wire';
import {
  joined,
  type ListEnd,
  type ListForm,
  ListText,
  renderListed,
} from '../../exchange/list-text.js';
import { listPagingOf, nextAfterText, placeToken } from '../../exchange/paging.js';
import { GatedReply } from '../../gate/gated-reply.js';
import { jsonOf } from '../../json/answer-writer.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { PAGE_QUERY } from '../../routing/page-query.js';
import { PendingReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { SURFACE_REFUSALS } from '../kv/surface-refusals.js';

export const timerQueuesEndpoint = endpoint({
  at: 'GET /api/v1/resources/timers',
  level: 'read-only',
  tag: 'timers',
  summary: 'The queues that have timers, by name.',
  query: PAGE_QUERY,
  answers: {
    200: answer('The queues.', timerQueuesAnswer),
    ...SURFACE_REFUSALS,
  },
  largeAnswer: 'read',
  handle,
});

/** The letter of the list. */
const LIST = 'd';

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  const paging = listPagingOf(exchange, query, LIST);
  if (paging === null) return;
  const pass = front.gate.enter(exchange, tenant, { kind: 'timer-read' });
  if (pass === null) return;
  const form: ListForm<TimerQueue, ListEnd> = {
    open: '{"timers":[',
    row: joined((row) => jsonOf(timerQueueRow, rowOf(row))),
    close: ({ nextAfter }) => `]${nextAfterText(paging, LIST, nextAfter)}}`,
    token: (place) => placeToken(LIST, place),
  };
  const reply = new PendingReply(exchange, front.logger, false, renderListed);
  const newList = () => new ListText(exchange.newText(), form);
  front.service.timers.queues(tenant, paging, newList, new GatedReply(pass, reply));
}

function rowOf({ queue, pending, nextUs }: TimerQueue): TimerQueueRow {
  return { queue, pending, nextAt: formatStampUs(nextUs) };
}
