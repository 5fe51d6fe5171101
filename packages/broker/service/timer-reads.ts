/** Shows pending timers: reads of the applied state that show everything answered before. */
import {
  findTimer,
  listTimerQueues,
  listTimers,
  type PageQuery,
  type RefusedOutcome,
  type State,
  type TakeRow,
  type Tenant,
  type TimerQueue,
} from '@svc/engine';
import type {
  ListEnd,
  ListedView,
  NewList,
  Reply,
  TimerPageView,
  TimerPeekView,
  TimerService,
} from '@svc/http';
import { sendList } from '../reads/listed.js';
import type { StateReads } from '../reads/state-reads.js';
import { pageKeyOf } from './resource-reads.js';

export class TimerReads implements TimerService {
  readonly #state: State;
  readonly #reads: StateReads;

  constructor(state: State, reads: StateReads) {
    this.#state = state;
    this.#reads = reads;
  }

  list(
    tenant: Tenant,
    queue: string,
    after: string,
    limit: number,
    reply: Reply<TimerPageView | RefusedOutcome>,
  ): void {
    const walk = () => listTimers(this.#state, tenant, queue, after, limit);
    this.#reads.confirmed(null, walk, reply, (page) => reply.send({ kind: 'timer-page', ...page }));
  }

  queues(
    tenant: Tenant,
    page: PageQuery,
    newList: NewList<TimerQueue>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    const state = this.#state;
    const walk = function* (take: TakeRow<TimerQueue>): Generator<void, ListEnd> {
      return { nextAfter: yield* listTimerQueues(state, tenant, page, take) };
    };
    sendList(this.#reads, pageKeyOf('timers', tenant, page), walk, newList, reply);
  }

  peek(
    tenant: Tenant,
    queue: string,
    timerKey: string,
    reply: Reply<TimerPeekView | RefusedOutcome>,
  ): void {
    const walk = () => findTimer(this.#state, tenant, queue, timerKey);
    this.#reads.confirmed(null, walk, reply, (timer) => reply.send({ kind: 'timer-peek', timer }));
  }
}
