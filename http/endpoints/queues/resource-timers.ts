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
import { nextAfterText, placeToken } from '../../exchange/paging.js';
import { GatedReply } from '../../gate/gated-reply.js';
import { jsonOf } from '../../json/answer-writer.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { PendingReply } from '../../routing/reply.js';
import { SURFACE_REFUSALS } from '../kv/surface-refusals.js';

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
