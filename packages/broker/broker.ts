/**
 * The broker as the HTTP front sees it: commands go to the leader, wherever it is, and come back as
 * answers (`held-requests.ts`); reads are served from the state that is applied here.
 */
import type {
  Command,
  PopCommand,
  PoppedOutcome,
  Refusal,
  RefusedOutcome,
  RequestSession,
  Tenant,
} from '@svc/engine';
import { listQueues, queueDepth, queueDetail } from '@svc/engine';
import type {
  DeliveredOutcome,
  FetchedOutcome,
  FetchRequest,
  MembershipChange,
  MembershipRefused,
  MembershipView,
  NotFoundOutcome,
  PoppedMessages,
  Pressure,
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
import type { Admission } from './admission.js';
import type { Clock } from './clock.js';
import type { Consensus } from './consensus.js';
import type { Fetches } from './fetch.js';
import { ForwardSender, type Leadership } from './forward-sender.js';
import { ForwardServer } from './forward-server.js';
import { HeldReads } from './held-reads.js';
import { Requests } from './held-requests.js';
import type { Leader } from './leader.js';
import type { MemberBlocks } from './member-blocks.js';
import { nodeNumber } from './member-id.js';
import type { MembershipService } from './membership-service.js';
import type { MessageReader } from './message-reader.js';
import type { NodeStatus } from './node-status.js';
import type { PeerCalls } from './peer-calls.js';

export interface Deadlines {
  /** Push and management. */
  readonly writeMs: number;
  /** Ack and lease extension. */
  readonly statementMs: number;
}

/** The way of commands to the node that leads, and from the others when this one does. */
export interface Forwarding {
  readonly calls: PeerCalls;
  readonly session: RequestSession;
  /** SVC_RAFT_FWD_INFLIGHT. */
  readonly inFlightMax: number;
}

export interface BrokerParts {
  readonly state: Checkpoint;
  readonly reader: MessageReader;
  readonly fetches: Fetches;
  readonly clock: Clock;
  readonly status: NodeStatus;
  readonly membership: MembershipService;
  readonly blocks: MemberBlocks;
  readonly consensus: Consensus;
  readonly deadlines: Deadlines;
  /** null: there are no other nodes. */
  readonly forwarding: Forwarding | null;
  /** null: what grows the store is not bounded. */
  readonly admission: Admission | null;
  readonly appliedIndex: () => number;
  /** False: no configuration that this node knows names it. */
  readonly isMember: () => boolean;
  /** Why a command is not to be planned at all, if it has never been; null: it may be. */
  readonly refusal: (command: Command) => Refusal | null;
  readonly pressure: () => Pressure;
}

const DEADLINE_MS_MAX = 60_000;
/** How long a management walk may hold the loop at a stretch. */
const WALK_SLICE_MS = 4;

const NO_LEADER: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'no_leader', error: 'no leader is known; retry after' },
};

export class Broker implements Service {
  readonly #state: Checkpoint;
  readonly #reader: MessageReader;
  readonly #fetches: Fetches;
  readonly #clock: Clock;
  readonly #status: NodeStatus;
  readonly #pressure: () => Pressure;
  readonly #membership: MembershipService;
  readonly #blocks: MemberBlocks;
  readonly #consensus: Consensus;
  readonly #deadlines: Deadlines;
  readonly #requests: Requests;
  readonly #reads: HeldReads;
  /** null: there are no other nodes. */
  readonly #server: ForwardServer | null;
  /** This node has caught up once: what it shows is a state that the group had. */
  serving = false;
  #leading: { readonly leader: Leader; readonly term: number } | null = null;

  constructor(parts: BrokerParts) {
    const { clock, consensus, forwarding, isMember } = parts;
    this.#state = parts.state;
    this.#reader = parts.reader;
    this.#fetches = parts.fetches;
    this.#clock = clock;
    this.#status = parts.status;
    this.#pressure = parts.pressure;
    this.#membership = parts.membership;
    this.#blocks = parts.blocks;
    this.#consensus = consensus;
    this.#deadlines = parts.deadlines;
    const leadership = () => this.#leadership();
    const sender = forwarding === null ? null : new ForwardSender({ ...forwarding, clock });
    this.#requests = new Requests({ ...parts, sender, leadership });
    this.#reads = new HeldReads(
      {
        get alone() {
          return consensus.alone;
        },
        get isLed() {
          return consensus.leader !== NO_NODE;
        },
        isMember,
        read: (done) => consensus.read(done),
      },
      clock,
    );
    this.#server = forwarding === null ? null : this.#newServer(parts, forwarding);
  }

  #newServer({ clock, admission, refusal }: BrokerParts, { calls }: Forwarding): ForwardServer {
    return new ForwardServer({
      calls,
      clock,
      leading: () => this.#leading,
      leaderNode: () => nodeNumber(this.#consensus.leader),
      admission,
      refusal,
    });
  }

  // --- who leads -------------------------------------------------------------------------------

  /** Set while this node leads. */
  get leader(): Leader | null {
    return this.#leading?.leader ?? null;
  }

  lead(leader: Leader, term: number): void {
    this.#leading = { leader, term };
    this.#requests.lead(leader);
    this.#reads.follow();
  }

  /** What waited for this leadership goes on elsewhere; its clients notice nothing but time. */
  endLeadership(): void {
    const proposed = this.#leading?.leader.stop() ?? [];
    this.#leading = null;
    this.#server?.endLeadership();
    this.#requests.endLeadership(proposed);
  }

  /** Another node may lead, or none. */
  roleChanged(): void {
    this.#requests.follow();
    this.#reads.follow();
  }

  /** The entry at (index, term) has been applied to the state. */
  applied(index: number, term: number): void {
    this.#leading?.leader.applied(index, term);
    this.#requests.applied(index, term);
  }

  #leadership(): Leadership | null {
    const node = nodeNumber(this.#consensus.leader);
    const status = this.#consensus.status();
    if (node === 0 || node === this.#status.nodeId || status === null) return null;
    return { node, term: status.term };
  }

  // --- stopping --------------------------------------------------------------------------------

  /** Nothing that a client or another node asked for is without its answer. */
  get idle(): boolean {
    const isLeaderIdle = this.#leading?.leader.idle ?? true;
    return isLeaderIdle && this.#requests.idle && this.#reads.idle;
  }

  /** Whoever waits for messages is answered; what waits for a leader does not wait long. */
  drain(): void {
    this.#requests.drain();
    this.#reads.drain();
    this.#fetches.stop();
  }

  /** Answers whatever is left. Nothing is called and nothing is kept from here on. */
  stop(): void {
    this.endLeadership();
    this.#server?.stop();
    this.#requests.stop();
    this.#reads.stop();
    this.#fetches.stop();
  }

  // --- messages --------------------------------------------------------------------------------

  monotonicMs(): number {
    return this.#clock.nowMs();
  }

  submit(command: SubmittedCommand, reply: Reply<SubmittedOutcome>): void {
    const drains = command.kind === 'ack' || command.kind === 'extend';
    const allowedMs = drains ? this.#deadlines.statementMs : this.#deadlines.writeMs;
    const deadlineMs = this.#clock.nowMs() + Math.min(allowedMs, DEADLINE_MS_MAX);
    this.#requests.submit(command, deadlineMs, (outcome) =>
      reply.send(outcome as SubmittedOutcome),
    );
  }

  pop(command: PopCommand, reply: Reply<DeliveredOutcome | RefusedOutcome>): void {
    const { deadlineMs } = command;
    const request = this.#requests.submit(command, deadlineMs, (outcome, late) => {
      if (outcome.kind !== 'popped') reply.send(outcome as RefusedOutcome);
      else if (late || reply.gone) this.#giveBack(command, outcome);
      else this.#deliver(command, outcome, reply);
    });
    if (request.place !== 'ended') reply.onGone = () => this.#requests.abandon(request);
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

  pressure(): Pressure {
    return this.#pressure();
  }

  raftStatus(): RaftStatusAnswer {
    return this.#status.raftStatus();
  }

  membership(reply: Reply<MembershipView | MembershipRefused>): void {
    this.#membership.view(reply);
  }

  changeMembership(
    change: MembershipChange,
    timeoutMs: number,
    reply: Reply<MembershipView | MembershipRefused>,
  ): void {
    this.#membership.change(change, timeoutMs, reply);
  }

  raftMembers(reply: Reply<RaftMembersView | RefusedOutcome>): void {
    this.#blocks.read(reply);
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
    this.#requests.submit(giveBack, this.#clock.nowMs() + DEADLINE_MS_MAX, () => {}, true);
  }

  /** A read that shows everything answered before it was asked. */
  #read<Result>(
    walk: () => Generator<void, Result>,
    reply: { readonly gone: boolean; send(refused: RefusedOutcome): boolean },
    done: (result: Result) => void,
  ): void {
    const deadlineMs = this.#clock.nowMs() + Math.min(this.#deadlines.writeMs, DEADLINE_MS_MAX);
    this.#reads.read(deadlineMs, reply, () => this.#walk(walk(), reply, done));
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
