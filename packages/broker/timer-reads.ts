/** Looking at pending timers: reads of the applied state that show everything answered before. */
import { findTimer, listTimers, type RefusedOutcome, type State, type Tenant } from '@svc/engine';
import type { Reply, TimerPageView, TimerPeekView, TimerService } from '@svc/http';
import type { StateReads } from './state-reads.js';

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
