/** The part of the fake service that reads records: answers what a test tells it to. */
import type { DeadLetterFilter, Paging, RefusedOutcome, Tenant } from '@svc/engine';
import type {
  DeadLetterListView,
  MessageListView,
  MessageQuery,
  MessageView,
  RecordService,
  SignaturesView,
  TraceListView,
  TraceNamesView,
} from '../ports/record-service.js';
import type { NotFoundOutcome, Reply } from '../ports/service.js';

const REFUSED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'internal', error: 'the test expected no such call' },
};

export class FakeRecords implements RecordService {
  /** What each call was given, tenants left out. */
  readonly asked: unknown[] = [];
  list: MessageListView | RefusedOutcome = REFUSED;
  one: MessageView | NotFoundOutcome | RefusedOutcome = { kind: 'not-found' };
  letters: DeadLetterListView | RefusedOutcome = REFUSED;
  signatures: SignaturesView | RefusedOutcome = REFUSED;
  traces: TraceListView | RefusedOutcome = REFUSED;
  names: TraceNamesView | RefusedOutcome = REFUSED;

  messages({ tenant: _, ...query }: MessageQuery, reply: Reply<MessageListView | RefusedOutcome>) {
    this.asked.push(query);
    reply.send(this.list);
  }

  message(
    _: Tenant,
    partitionId: string,
    transactionId: string,
    reply: Reply<MessageView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    this.asked.push([partitionId, transactionId]);
    reply.send(this.one);
  }

  deadLetters(
    { tenant: _, ...filter }: DeadLetterFilter,
    reply: Reply<DeadLetterListView | RefusedOutcome>,
  ): void {
    this.asked.push(filter);
    reply.send(this.letters);
  }

  deadLetterSignatures(
    _: Tenant,
    queue: string,
    limit: number,
    reply: Reply<SignaturesView | RefusedOutcome>,
  ): void {
    this.asked.push([queue, limit]);
    reply.send(this.signatures);
  }

  messageTraces(
    _: Tenant,
    partitionId: string,
    transactionId: string,
    paging: Paging,
    reply: Reply<TraceListView | RefusedOutcome>,
  ): void {
    this.asked.push([partitionId, transactionId, paging]);
    reply.send(this.traces);
  }

  namedTraces(
    _: Tenant,
    name: string,
    paging: Paging,
    reply: Reply<TraceListView | RefusedOutcome>,
  ): void {
    this.asked.push([name, paging]);
    reply.send(this.traces);
  }

  traceNames(_: Tenant, paging: Paging, reply: Reply<TraceNamesView | RefusedOutcome>): void {
    this.asked.push(paging);
    reply.send(this.names);
  }
}
