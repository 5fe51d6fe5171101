/** The seam to the broker for looking at timers (state-surfaces 3.1). See `service.ts`. */
import type {
  PageQuery,
  RefusedOutcome,
  Tenant,
  TimerPage,
  TimerQueue,
  TimerView,
} from '@svc/engine';
import type { ListedView, NewList } from '../exchange/list-text.js';
import type { Reply } from './service.js';

export interface TimerService {
  /** All show everything answered before they were asked. `after` "": from the first on. */
  list(
    tenant: Tenant,
    queue: string,
    after: string,
    limit: number,
    reply: Reply<TimerPageView | RefusedOutcome>,
  ): void;
  /** The queues that have timers. */
  queues(
    tenant: Tenant,
    page: PageQuery,
    newList: NewList<TimerQueue>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void;
  peek(
    tenant: Tenant,
    queue: string,
    timerKey: string,
    reply: Reply<TimerPeekView | RefusedOutcome>,
  ): void;
}

export interface TimerPageView extends TimerPage {
  readonly kind: 'timer-page';
}

export interface TimerPeekView {
  readonly kind: 'timer-peek';
  /** null: there is none. */
  readonly timer: TimerView | null;
}
