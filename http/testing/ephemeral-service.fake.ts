/** Ephemeral queues that answer what a test tells them to, and remember what they were asked. */
import type {
  EphemeralConfigureCommand,
  EphemeralConfiguredOutcome,
  EphemeralDeleteCommand,
  EphemeralDeletedOutcome,
  RefusedOutcome,
} from '@svc/engine';
import type { EphemeralDepthAnswer } from '@svc/wire';
import type {
  EphemeralAcked,
  EphemeralAcks,
  EphemeralPop,
  EphemeralPopped,
  EphemeralPush,
  EphemeralPushed,
  EphemeralQueuesPage,
  EphemeralRefused,
  EphemeralReset,
  EphemeralService,
} from '../ports/ephemeral-service.js';
import type { Reply } from '../ports/service.js';

export class FakeEphemeral implements EphemeralService {
  readonly pushes: EphemeralPush[] = [];
  readonly pops: EphemeralPop[] = [];
  readonly acks: EphemeralAcks[] = [];
  readonly commands: (EphemeralConfigureCommand | EphemeralDeleteCommand)[] = [];
  pushed: EphemeralPushed | EphemeralRefused = { kind: 'ephemeral-pushed' };
  popped: EphemeralPopped | EphemeralRefused = { kind: 'ephemeral-popped', messages: [] };
  acked: EphemeralAcked | EphemeralRefused = { kind: 'ephemeral-acked', outcomes: [] };
  configured: EphemeralConfiguredOutcome = { kind: 'ephemeral-configured', isOverQuota: false };
  deleted: EphemeralDeletedOutcome = { kind: 'ephemeral-deleted', wasDeclared: true };
  readonly lists: { readonly after: string; readonly limit: number }[] = [];
  list: EphemeralQueuesPage = {
    kind: 'ephemeral-queues',
    queues: [],
    truncated: false,
    nextAfter: null,
    cellBytes: 0,
  };
  shown: EphemeralDepthAnswer | null = null;

  push(request: EphemeralPush, reply: Reply<EphemeralPushed | EphemeralRefused>): void {
    this.pushes.push(request);
    reply.send(this.pushed);
  }

  pop(request: EphemeralPop, reply: Reply<EphemeralPopped | EphemeralRefused>): void {
    this.pops.push(request);
    reply.send(this.popped);
  }

  ack(request: EphemeralAcks, reply: Reply<EphemeralAcked | EphemeralRefused>): void {
    this.acks.push(request);
    reply.send(this.acked);
  }

  configure(
    command: EphemeralConfigureCommand,
    reply: Reply<EphemeralConfiguredOutcome | RefusedOutcome>,
  ): void {
    this.commands.push(command);
    reply.send(this.configured);
  }

  delete(
    command: EphemeralDeleteCommand,
    reply: Reply<EphemeralDeletedOutcome | RefusedOutcome>,
  ): void {
    this.commands.push(command);
    reply.send(this.deleted);
  }

  reset(_tenant: string, _queue: string, reply: Reply<EphemeralReset>): void {
    reply.send({ kind: 'ephemeral-reset', dropped: 3 });
  }

  queues(
    _tenant: string,
    after: string,
    limit: number,
    reply: Reply<EphemeralQueuesPage | RefusedOutcome>,
  ): void {
    this.lists.push({ after, limit });
    reply.send(this.list);
  }

  depth(): EphemeralDepthAnswer | null {
    return this.shown;
  }
}
