/** What the front asks about streaming state. It shows everything answered before it was asked. */
import type { RefusedOutcome, StreamStateAnswer, StreamStateFilter } from '@svc/engine';
import type { Reply } from './service.js';

export interface StreamService {
  state(filter: StreamStateFilter, reply: Reply<StreamStateView | RefusedOutcome>): void;
}

export interface StreamStateView {
  readonly kind: 'stream-state';
  /** Its pieces are texts of `streamRowsText`. */
  readonly answer: StreamStateAnswer<Uint8Array>;
}
