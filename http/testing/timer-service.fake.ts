/** The part of the fake service that stands for looking at timers: answers what a test says. */
import type { PageQuery, RefusedOutcome, Tenant, TimerQueue } from '@svc/engine';
import type { ListedView, NewList } from '../exchange/list-text.js';
import type { Reply } from '../ports/service.js';
import type { TimerPageView, TimerPeekView, TimerService } from '../ports/timer-service.js';
import { type FakeList, sendList } from './list.fake.js';

const REFUSED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'internal', error: 'the test expected no such call' },
};

export class FakeTimers implements TimerService {
  /** Of the lists: queue, key to begin behind, and limit. */
  readonly listed: (readonly [queue: string, after: string, limit: number])[] = [];
  page: TimerPageView | RefusedOutcome = REFUSED;
  queueList: FakeList<TimerQueue> = REFUSED;
  peeked: TimerPeekView | RefusedOutcome = REFUSED;

  list(
    _: Tenant,
    queue: string,
    after: string,
    limit: number,
    reply: Reply<TimerPageView | RefusedOutcome>,
  ): void {
    this.listed.push([queue, after, limit]);
    reply.send(this.page);
  }

  queues(
    _: Tenant,
    _page: PageQuery,
    newList: NewList<TimerQueue>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    sendList(this.queueList, newList, reply);
  }

  peek(
    _tenant: Tenant,
    _queue: string,
    _timerKey: string,
    reply: Reply<TimerPeekView | RefusedOutcome>,
  ): void {
    reply.send(this.peeked);
  }
}
