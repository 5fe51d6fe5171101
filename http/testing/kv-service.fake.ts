/** The part of the fake service that stands for the key/value store: answers what a test says. */
import type { KvCall, KvOutcome, RefusedOutcome, Tenant } from '@svc/engine';
import type { KvListQuery, KvListView, KvNamespacesView, KvService } from '../ports/kv-service.js';
import type { Reply } from '../ports/service.js';

const REFUSED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'internal', error: 'the test expected no such call' },
};

export class FakeKv implements KvService {
  readonly calls: KvCall[] = [];
  readonly listed: KvListQuery[] = [];
  outcome: KvOutcome | RefusedOutcome = REFUSED;
  rows: KvListView | RefusedOutcome = REFUSED;
  names: KvNamespacesView | RefusedOutcome = REFUSED;

  call(call: KvCall, reply: Reply<KvOutcome | RefusedOutcome>): void {
    this.calls.push(call);
    reply.send(this.outcome);
  }

  namespaces(_: Tenant, reply: Reply<KvNamespacesView | RefusedOutcome>): void {
    reply.send(this.names);
  }

  list(query: KvListQuery, reply: Reply<KvListView | RefusedOutcome>): void {
    this.listed.push(query);
    reply.send(this.rows);
  }
}
