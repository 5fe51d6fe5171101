/** The part of the fake service that stands for locks: answers what a test says. */
import type { RefusedOutcome, Tenant } from '@svc/engine';
import type { LockOp, LockService, LocksView } from '../ports/lock-service.js';
import type { Reply } from '../ports/service.js';

export class FakeLocks implements LockService {
  readonly runs: (readonly LockOp[])[] = [];
  outcome: LocksView | RefusedOutcome = { kind: 'locks', results: [] };

  run(_: Tenant, ops: readonly LockOp[], reply: Reply<LocksView | RefusedOutcome>): void {
    this.runs.push(ops);
    reply.send(this.outcome);
  }
}
