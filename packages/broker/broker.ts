/**
 * The broker as the HTTP front sees it: commands go to the leader and come back as answers, reads
 * are served from the applied state.
 */
import type {
  Command,
  Outcome,
  PopCommand,
  PoppedOutcome,
  RefusedOutcome,
  Tenant,
} from '@svc/engine';
import { listQueues, queueDepth, queueDetail } from '@svc/engine';
import type {
  DeliveredOutcome,
  FetchedOutcome,
  FetchRequest,
  NotFoundOutcome,
  PoppedMessages,
  QueueDepthView,
  QueueDetailView,
  QueueListView,
  RaftMembersView,
  Reply,
  Service,
  SubmittedCommand,
  SubmittedOutcome,
} from '@svc/http';
import { NO_NODE } from '@svc/raft';
import type { Checkpoint } from '@svc/storage';
import type { HealthAnswer, RaftFigures, RaftStatusAnswer } from '@svc/wire';
import type { Clock } from './clock.js';
import type { Consensus } from './consensus.js';
import type { Fetches } from './fetch.js';
import type { Leader, Request } from './leader.js';
import { nodeNumber } from './member-id.js';
import type { MessageReader } from './message-reader.js';
import type { NodeStatus } from './node-status.js';

export interface Deadlines {
  /** Push and management. */
  readonly writeMs: number;
  /** Ack and lease extension. */
  readonly statementMs: number;
}

/** A parked pop is answered by the planner before its deadline; this is only the net below it. */
const POP_SLACK_MS = 2000;
const DEADLINE_MS_MAX = 60_000;
/** How long a management walk may hold the loop at a stretch. */
const WALK_SLICE_MS = 4;

const NO_LEADER: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'no_leader', error: 'no leader is known; retry after' },
};
const UNCONFIRMED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'retry', error: 'no quorum-ack lease; retry' },
};

export class Broker implements Service {
  readonly #state: Checkpoint;
  readonly #reader: MessageReader;
  readonly #fetches: Fetches;
  readonly #clock: Clock;
  readonly #status: NodeStatus;
  readonly #consensus: Consensus;
  readonly #deadlines: Deadlines;
  /** This node has caught up once: what it shows is a state that the group had. */
  serving = false;
  /** Set while this node leads. */
  leader: Leader | null = null;

  constructor(parts: {
    readonly state: Checkpoint;
    readonly reader: MessageReader;
    readonly fetches: Fetches;
    readonly clock: Clock;
    readonly status: NodeStatus;
    readonly consensus: Consensus;
    readonly deadlines: Deadlines;
  }) {
    this.#state = parts.state;
    this.#reader = parts.reader;
    this.#fetches = parts.fetches;
    this.#clock = parts.clock;
    this.#status = parts.status;
    this.#consensus = parts.consensus;
    this.#deadlines = parts.deadlines;
  }

  monotonicMs(): number {
    return this.#clock.nowMs();
  }

  submit(command: SubmittedCommand, reply: Reply<SubmittedOutcome>): void {
    const drains = command.kind === 'ack' || command.kind === 'extend';
    const allowedMs = drains ? this.#deadlines.statementMs : this.#deadlines.writeMs;
    const deadlineMs = this.#clock.nowMs() + Math.min(allowedMs, DEADLINE_MS_MAX);
    this.#request(command, deadlineMs, (outcome) => reply.send(outcome as SubmittedOutcome));
  }

  pop(command: PopCommand, reply: Reply<DeliveredOutcome | RefusedOutcome>): void {
    const deadlineMs = command.deadlineMs + POP_SLACK_MS;
    let answered = false;
    const request = this.#request(command, deadlineMs, (outcome) => {
      if (outcome.kind === 'popped' && (answered || reply.gone)) {
        // The claim came after the client had gone or was told of a time-out.
        this.#giveBack(command, outcome);
        return;
      }
      answered = true;
      if (outcome.kind === 'popped') this.#deliver(command, outcome, reply);
      else reply.send(outcome as RefusedOutcome);
    });
    if (request !== null) reply.onGone = () => this.leader?.withdraw(request);
  }

  fetch(request: FetchRequest, reply: Reply<FetchedOutcome | RefusedOutcome>): void {
    if (this.serving) this.#fetches.fetch(request, reply);
    else reply.send(NO_LEADER);
  }

  listQueues(tenant: Tenant, reply: Reply<QueueListView | RefusedOutcome>): void {
    const walk = () => listQueues(this.#state, tenant, this.#clock.wallUs());
    this.#read(walk, reply, (queues) =>
      reply.send({
        kind: 'queue-list',
        queues,
        kvRows: 0,
        kvBytes: 0,
        timerRows: 0,
        timerBytes: 0,
      }),
    );
  }

  queueDetail(
    tenant: Tenant,
    queue: string,
    reply: Reply<QueueDetailView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    const walk = () => queueDetail(this.#state, tenant, queue, this.#clock.wallUs());
    this.#read(walk, reply, (detail) =>
      reply.send(detail === null ? { kind: 'not-found' } : { kind: 'queue-detail', ...detail }),
    );
  }

  queueDepth(
    tenant: Tenant,
    queue: string,
    group: string | null,
    reply: Reply<QueueDepthView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    const walk = () => queueDepth(this.#state, tenant, queue, group, this.#clock.wallUs());
    this.#read(walk, reply, (partitions) =>
      reply.send(
        partitions === null
          ? { kind: 'not-found' }
          : { kind: 'queue-depth', conflation: false, partitions },
      ),
    );
  }

  health(): HealthAnswer {
    return this.#status.health();
  }

  raftFigures(): RaftFigures {
    return this.#status.figures();
  }

  raftStatus(): RaftStatusAnswer {
    return this.#status.raftStatus();
  }

  raftMembers(reply: Reply<RaftMembersView | RefusedOutcome>): void {
    reply.send({ kind: 'raft-members', answer: this.#status.members() });
  }

  /** null: refused at once. */
  #request(
    command: Command,
    deadlineMs: number,
    onOutcome: (outcome: Outcome) => void,
  ): Request | null {
    if (this.leader === null) {
      onOutcome(this.#elsewhere());
      return null;
    }
    const request: Request = { command, deadlineMs, onOutcome, answered: false };
    this.leader.submit(request);
    return request;
  }

  #deliver(
    command: PopCommand,
    outcome: PoppedOutcome,
    reply: Reply<DeliveredOutcome | RefusedOutcome>,
  ): void {
    const { claims, leaseId } = outcome;
    const slices = claims.flatMap((claim) => claim.slices);
    this.#reader.read(slices, (error, batches) => {
      if (error !== null) {
        this.#giveBack(command, outcome);
        reply.send({ kind: 'refused', refusal: { reason: 'internal', error: error.message } });
        return;
      }
      let at = 0;
      const popped = claims.map((claim): PoppedMessages => {
        const own = batches.slice(at, at + claim.slices.length);
        at += claim.slices.length;
        return {
          queue: claim.queue,
          partition: claim.partition,
          partitionNumber: claim.partitionNumber,
          deliveryAttempt: claim.deliveryAttempt,
          batches: own,
        };
      });
      const received = reply.send({ kind: 'delivered', leaseId, claims: popped });
      if (!received) this.#giveBack(command, outcome);
    });
  }

  /** Nobody received the claims of this pop: undo them, attempt included. */
  #giveBack(command: PopCommand, outcome: PoppedOutcome): void {
    if (outcome.leaseId === '' || outcome.claims.length === 0) return;
    const giveBack: Command = {
      kind: 'give-back',
      tenant: command.tenant,
      consumerGroup: outcome.consumerGroup,
      leaseId: outcome.leaseId,
      partitionNumbers: outcome.claims.map((claim) => claim.partitionNumber),
    };
    this.#request(giveBack, this.#clock.nowMs() + DEADLINE_MS_MAX, () => {});
  }

  /** This node does not lead: who does, as far as it knows. */
  #elsewhere(): RefusedOutcome {
    const leader = nodeNumber(this.#consensus.leader);
    if (leader === 0 || leader === this.#status.nodeId) return NO_LEADER;
    const error = `not the leader; retry against ${leader}`;
    return { kind: 'refused', refusal: { reason: 'retry', error, leader } };
  }

  /**
   * A read that shows everything answered before it was asked (cluster-and-config 6): alone, what
   * is applied is that; in a group a quorum has to confirm the leader first.
   */
  #read<Result>(
    walk: () => Generator<void, Result>,
    reply: { readonly gone: boolean; send(refused: RefusedOutcome): boolean },
    done: (result: Result) => void,
  ): void {
    if (this.#consensus.alone) {
      this.#walk(walk(), reply, done);
      return;
    }
    if (this.#consensus.leader === NO_NODE) {
      reply.send(NO_LEADER);
      return;
    }
    this.#consensus.read((confirmed) => {
      if (confirmed) this.#walk(walk(), reply, done);
      else reply.send(UNCONFIRMED);
    });
  }

  /** Runs a walk over the state in slices, so that a large queue does not hold the loop. */
  #walk<Result>(
    walk: Generator<void, Result>,
    reply: { readonly gone: boolean },
    done: (result: Result) => void,
  ): void {
    const untilMs = this.#clock.nowMs() + WALK_SLICE_MS;
    for (;;) {
      const step = walk.next();
      if (step.done === true) {
        done(step.value);
        return;
      }
      if (reply.gone) return;
      if (this.#clock.nowMs() >= untilMs) break;
    }
    this.#clock.soon(() => this.#walk(walk, reply, done));
  }
}
