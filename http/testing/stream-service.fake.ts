/** The part of the fake service that reads streaming state: answers what a test tells it to. */
import type { RefusedOutcome, StreamStateFilter } from '@svc/engine';
import type { Reply } from '../ports/service.js';
import type { StreamService, StreamStateView } from '../ports/stream-service.js';

export class FakeStreams implements StreamService {
  readonly asked: StreamStateFilter[] = [];
  view: StreamStateView | RefusedOutcome = { kind: 'stream-state', answer: { result: 'missing' } };

  state(filter: StreamStateFilter, reply: Reply<StreamStateView | RefusedOutcome>): void {
    this.asked.push(filter);
    reply.send(this.view);
  }
}
