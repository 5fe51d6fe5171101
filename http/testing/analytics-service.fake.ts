/** The part of the fake service that shows the past: answers what a test tells it to. */
import type { QueueFilter, RefusedOutcome, Tenant } from '@svc/engine';
import type {
  AnalyticsService,
  LivenessView,
  MessageTotalView,
  ParkedSeriesView,
  ProcessSeriesView,
  QueuePageView,
  QueueSeriesQuery,
  QueueSeriesView,
  RetentionQuery,
  RetentionView,
  SeriesWindow,
  SharedStateView,
  StatusQuery,
  StatusView,
  WorkloadQuery,
  WorkloadView,
} from '../ports/analytics-service.js';
import type { Reply } from '../ports/service.js';

const REFUSED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'internal', error: 'the test expected no such call' },
};

export class FakeAnalytics implements AnalyticsService {
  /** What each call was given, tenants left out. */
  readonly asked: unknown[] = [];
  now = 0;
  statusView: StatusView | RefusedOutcome = REFUSED;
  queueView: QueueSeriesView | RefusedOutcome = REFUSED;
  workloadView: WorkloadView | RefusedOutcome = REFUSED;
  retentionView: RetentionView | RefusedOutcome = REFUSED;
  parkedView: ParkedSeriesView | RefusedOutcome = REFUSED;
  processView: ProcessSeriesView | RefusedOutcome = REFUSED;
  livenessView: LivenessView | RefusedOutcome = REFUSED;
  page: QueuePageView | RefusedOutcome = REFUSED;
  total: MessageTotalView | RefusedOutcome = REFUSED;
  shared: SharedStateView | RefusedOutcome = REFUSED;

  nowUs(): number {
    return this.now;
  }

  status({ filter, window }: StatusQuery, reply: Reply<StatusView | RefusedOutcome>): void {
    this.asked.push({ filter, window });
    reply.send(this.statusView);
  }

  queueSeries(query: QueueSeriesQuery, reply: Reply<QueueSeriesView | RefusedOutcome>): void {
    this.#note(query);
    reply.send(this.queueView);
  }

  workload(query: WorkloadQuery, reply: Reply<WorkloadView | RefusedOutcome>): void {
    this.asked.push({ filter: query.filter, groupBy: query.groupBy, window: query.window });
    reply.send(this.workloadView);
  }

  retention(query: RetentionQuery, reply: Reply<RetentionView | RefusedOutcome>): void {
    this.#note(query);
    reply.send(this.retentionView);
  }

  parked(query: QueueSeriesQuery, reply: Reply<ParkedSeriesView | RefusedOutcome>): void {
    this.#note(query);
    reply.send(this.parkedView);
  }

  processes(
    window: SeriesWindow,
    withQueues: boolean,
    reply: Reply<ProcessSeriesView | RefusedOutcome>,
  ): void {
    this.asked.push({ window, withQueues });
    reply.send(this.processView);
  }

  liveness(
    _: Tenant,
    filter: QueueFilter,
    limit: number,
    reply: Reply<LivenessView | RefusedOutcome>,
  ): void {
    this.asked.push({ filter, limit });
    reply.send(this.livenessView);
  }

  queuePage(
    _: Tenant,
    offset: number,
    limit: number,
    reply: Reply<QueuePageView | RefusedOutcome>,
  ): void {
    this.asked.push({ offset, limit });
    reply.send(this.page);
  }

  messageTotal(_: Tenant, reply: Reply<MessageTotalView | RefusedOutcome>): void {
    reply.send(this.total);
  }

  sharedState(reply: Reply<SharedStateView | RefusedOutcome>): void {
    reply.send(this.shared);
  }

  leads(): boolean {
    return true;
  }

  #note({ queue, window }: QueueSeriesQuery): void {
    this.asked.push({ queue, window });
  }
}
