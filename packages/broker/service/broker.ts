/**
 * The service that the HTTP front calls. Commands go to the leader, wherever it is
 * (`requests/held-requests.ts`), and come back as answers; reads are served from the state that is
 * applied here.
 */
import type {
  AckCommand,
  Command,
  GiveBackCommand,
  Outcome,
  PopCommand,
  PushCommand,
  QueueFigures,
  RefusedOutcome,
  State,
  TransactionIndex,
} from '@svc/engine';
import { ReadAhead } from '@svc/engine';
import type {
  AckedPop,
  DeliveredOutcome,
  FetchedOutcome,
  FetchRequest,
  LoopShare,
  NodeFigures,
  Pressure,
  Reply,
  Service,
  SubmittedCommand,
  SubmittedOutcome,
} from '@svc/http';
import type { Checkpoint } from '@svc/storage';
import type {
  HealthAnswer,
  LinkAnswer,
  Meters,
  QueueFigures as QueueCounts,
  RaftFigures,
  RaftStatusAnswer,
} from '@svc/wire';
import type { Activity } from '../analytics/activity.js';
import type { SeriesGather } from '../analytics/series-gather.js';
import type { Config } from '../config/config.js';
import type { Ephemeral } from '../ephemeral/ephemeral.js';
import type { ClusterRole } from '../leader/cluster-role.js';
import type { Replica } from '../leader/replica.js';
import type { DiskGate } from '../log/disk-gate.js';
import type { MembershipService } from '../membership/service.js';
import type { Fetches } from '../reads/fetch.js';
import type { MessageReader } from '../reads/message-reader.js';
import type { StateReads } from '../reads/state-reads.js';
import { AckSlices, isUnfinished, mayNeedAckSlices } from '../requests/ack-slices.js';
import type { Admission } from '../requests/admission.js';
import type { OnOutcome } from '../requests/held-request.js';
import type { Requests } from '../requests/held-requests.js';
import { mayNeedSlices, PushSlices } from '../requests/push-slices.js';
import { type CallSlices, runSlices } from '../requests/sliced-call.js';
import type { Clock } from '../system/clock.js';
import type { NodeLife } from '../system/node-life.js';
import { type AckAndPopParts, ackAndPop } from './ack-and-pop.js';
import { AnalyticsReads } from './analytics-reads.js';
import { groupRequests } from './consumer-group-requests.js';
import { KvRequests, planInRoom } from './kv-requests.js';
import { Locks } from './locks.js';
import type { MemberBlocks } from './member-blocks.js';
import type { NodeStatus } from './node-status.js';
import { PopDelivery } from './pop-delivery.js';
import { RecordReads } from './record-reads.js';
import { NOT_LED, type QueueReads, queueReads, resourceReads } from './resource-reads.js';
import { nodeFigures, type ScrapeSources } from './scrape-figures.js';
import { streamReads } from './stream-reads.js';
import { surfaceReads } from './surface-reads.js';
import { timerReads } from './timer-reads.js';

/** How long calls may take. */
export interface Deadlines {
  /** Push and management. */
  readonly writeMs: number;
  /** Ack, lease extension and transaction. */
  readonly statementMs: number;
}

type PopReply = Reply<DeliveredOutcome | RefusedOutcome>;

const DEADLINE_MS_MAX = 60_000;

export function deadlinesOf({ writeTimeoutMs, statementTimeoutMs }: Config): Deadlines {
  return {
    writeMs: Math.min(writeTimeoutMs, DEADLINE_MS_MAX),
    statementMs: Math.min(statementTimeoutMs, DEADLINE_MS_MAX),
  };
}

export interface BrokerParts {
  readonly state: Checkpoint;
  readonly role: ClusterRole;
  readonly transactions: TransactionIndex;
  readonly reader: MessageReader;
  /** Kept as entries are applied. */
  readonly queueFigures: QueueFigures;
  readonly fetches: Fetches;
  readonly ephemeral: Ephemeral;
  readonly requests: Requests;
  readonly leadership: { readonly office: object | null };
  readonly reads: StateReads;
  readonly clock: Clock;
  readonly loop: LoopShare;
  readonly life: NodeLife;
  /** 0 <= fraction < 1, at random. */
  readonly fraction: () => number;
  readonly status: NodeStatus;
  readonly membership: MembershipService;
  readonly blocks: MemberBlocks;
  readonly deadlines: Deadlines;
  /** Submits a command with the deadline of writes. */
  readonly submit: (command: Command, onOutcome: (outcome: Outcome) => void) => void;
  /** SVC_DASH_SIZES_MAX: partitions that one read shows. */
  readonly partitionsMax: number;
  readonly appliedIndex: () => number;
  /** Its index is that of the newest entry that `state` shows. */
  readonly replica: Replica;
  readonly gate: DiskGate;
  readonly admission: Admission;
  readonly meters: Meters;
  readonly scrape: ScrapeSources;
  /** Counts what clients of this node do; null: it is not wanted. */
  readonly activity: Activity | null;
  readonly gather: SeriesGather;
}

/** Their deadline is `SVC_STMT_TIMEOUT_MS`. */
const STATEMENTS: ReadonlySet<Command['kind']> = new Set([
  'ack',
  'extend',
  'transaction',
  'timers',
]);

export class Broker implements Service {
  readonly #parts: BrokerParts;
  readonly #state: Checkpoint;
  readonly #clock: Clock;
  readonly #requests: Requests;
  readonly #reads: StateReads;
  readonly #activity: Activity | null;
  readonly #deadlines: Deadlines;
  readonly #pops: PopDelivery;
  readonly #both: AckAndPopParts;
  readonly listQueues: QueueReads['listQueues'];
  readonly queueDetail: QueueReads['queueDetail'];
  readonly queueDepth: QueueReads['queueDepth'];
  readonly resources: Service['resources'];
  readonly records: RecordReads;
  readonly timers: Service['timers'];
  readonly ephemeral: Ephemeral;
  readonly kv: KvRequests;
  readonly locks: Locks;
  readonly groups: Service['groups'];
  readonly streams: Service['streams'];
  readonly surfaces: Service['surfaces'];
  readonly analytics: AnalyticsReads;

  constructor(parts: BrokerParts) {
    const { state, clock, requests, reads, deadlines, fraction, replica, queueFigures } = parts;
    const allowedMs = deadlines.statementMs;
    const walkState = () => new ReadAhead(state, () => replica.appliedIndex);
    const walked = { ...parts, walkState, figures: queueFigures };
    this.#parts = parts;
    this.#state = state;
    this.#clock = clock;
    this.#requests = requests;
    this.#reads = reads;
    this.#activity = parts.activity;
    this.#deadlines = deadlines;
    this.ephemeral = parts.ephemeral;
    this.#pops = new PopDelivery({
      ...parts,
      pipeline: parts.meters.pipeline,
      giveBack: (command) => this.giveBack(command),
    });
    this.#both = {
      requests,
      pops: this.#pops,
      submit: (acks, reply) => this.submit(acks, reply),
    };
    this.groups = groupRequests(walked);
    this.resources = resourceReads(walked);
    const queues = queueReads(walked);
    this.listQueues = queues.listQueues;
    this.queueDetail = queues.queueDetail;
    this.queueDepth = queues.queueDepth;
    this.analytics = new AnalyticsReads(walked);
    this.records = new RecordReads({ ...parts, deadlineMs: deadlines.writeMs });
    this.kv = new KvRequests({ state, reads, clock, allowedMs, requests });
    const isStandby = () => parts.role.isStandby;
    this.locks = new Locks({ isStandby, kv: this.kv, clock, allowedMs, fraction });
    this.timers = timerReads(state, reads);
    this.streams = streamReads(state, reads);
    this.surfaces = surfaceReads(state, reads);
  }

  // --- stopping --------------------------------------------------------------------------------

  /** Every claim has reached its client, and no search is under way. */
  get idle(): boolean {
    return this.#pops.idle && this.records.idle;
  }

  stop(): void {
    this.#pops.stop();
    this.records.stop();
  }

  // --- messages --------------------------------------------------------------------------------

  monotonicMs(): number {
    return this.#clock.nowMs();
  }

  submit(command: SubmittedCommand, reply: Reply<SubmittedOutcome>): void {
    if (command.kind === 'push' && mayNeedSlices(command)) {
      this.#submitSlices(command, 'pushed', new PushSlices(command, this.#state), reply);
      return;
    }
    if (command.kind === 'ack' && mayNeedAckSlices(command)) {
      this.#submitSlices(command, 'acked', new AckSlices(command), reply);
      return;
    }
    if (command.kind === 'transaction' && command.kv !== null) {
      const untilMs = this.#clock.nowMs() + this.#deadlines.statementMs;
      const plan = () => this.#submitOne(command, this.#onCommandOutcome, reply);
      planInRoom(this.#reads, reply, command.kv, plan, untilMs);
      return;
    }
    this.#submitOne(command, this.#onCommandOutcome, reply);
  }

  readonly #onCommandOutcome: OnOutcome = (outcome, _late, request) => {
    const { command } = request;
    const reply = request.reply as Reply<SubmittedOutcome>;
    if (command.kind === 'ack' && outcome.kind === 'acked' && isUnfinished(outcome)) {
      const slices = new AckSlices(command);
      slices.resume(outcome);
      this.#submitSlices(command, 'acked', slices, reply, outcome);
      return;
    }
    this.#activity?.answered(this.#state, command, outcome);
    reply.send(outcome as SubmittedOutcome);
  };

  #submitOne(
    command: SubmittedCommand,
    onOutcome: OnOutcome,
    reply: Reply<SubmittedOutcome> | null,
  ): void {
    const isStatement = STATEMENTS.has(command.kind);
    const allowedMs = isStatement ? this.#deadlines.statementMs : this.#deadlines.writeMs;
    this.#requests.submit(command, this.#clock.nowMs() + allowedMs, onOutcome, reply);
  }

  /**
   * Counted as one call, for what was done. `begun`: the outcome of the whole command, of which the
   * slices are what is left.
   */
  #submitSlices<C extends PushCommand | AckCommand, O extends SubmittedOutcome>(
    command: C,
    kind: O['kind'],
    slices: CallSlices<C, O>,
    reply: Reply<SubmittedOutcome>,
    begun: O | null = null,
  ): void {
    const touched = new Set<QueueCounts>();
    const answered = (part: C, outcome: Outcome) =>
      this.#activity?.sliceAnswered(this.#state, part, outcome, touched);
    if (begun !== null) answered(command, begun);
    runSlices<C, O>({
      slices,
      kind,
      submit: (slice, onOutcome) =>
        this.#submitOne(
          slice,
          (outcome) => {
            answered(slice, outcome);
            onOutcome(outcome);
          },
          null,
        ),
      soon: (work) => this.#clock.soon(work),
      isGone: () => reply.gone,
      done: (outcome, refusal) => {
        if (outcome !== null) this.#activity?.slicesEnded(command.kind, touched);
        reply.send((refusal ?? outcome ?? NOT_LED) as SubmittedOutcome);
      },
    });
  }

  pop(command: PopCommand, reply: PopReply): void {
    const request = this.#requests.submit(command, command.deadlineMs, this.#onPopOutcome, reply);
    if (request.place !== 'ended') reply.onGone = () => this.#requests.abandon(request);
  }

  /** Undoes what a pop has claimed and no client received; it is taken whatever waits. */
  giveBack(command: GiveBackCommand): void {
    this.#requests.submit(command, this.#clock.nowMs() + DEADLINE_MS_MAX, () => {}, null, true);
  }

  readonly #onPopOutcome: OnOutcome = (outcome, late, request) => {
    const command = request.command as PopCommand;
    const reply = request.reply as PopReply;
    if (outcome.kind !== 'popped') reply.send(outcome as RefusedOutcome);
    else if (late || reply.gone) this.#pops.giveBack(command, outcome);
    else this.#pops.deliver(command, outcome, reply);
  };

  ackAndPop(acks: AckCommand, pop: PopCommand, reply: Reply<AckedPop | RefusedOutcome>): void {
    ackAndPop(this.#both, acks, pop, reply);
  }

  fetch(request: FetchRequest, reply: Reply<FetchedOutcome | RefusedOutcome>): void {
    if (this.#parts.life.serving) this.#parts.fetches.fetch(request, reply);
    else reply.send(NOT_LED);
  }

  /** The state that is applied here, for those who watch this node. */
  get appliedState(): State {
    return this.#state;
  }

  eachParked(visit: (command: PopCommand) => void): void {
    this.#requests.eachParked(visit);
  }

  health(): HealthAnswer {
    return this.#parts.status.health();
  }

  figures(): NodeFigures {
    return nodeFigures(this.#parts.scrape, this.pressure());
  }

  raftFigures(): RaftFigures {
    return this.#parts.status.figures();
  }

  link(): LinkAnswer {
    return this.#parts.status.link();
  }

  pressure(): Pressure {
    const { gate, admission } = this.#parts;
    return { storageFull: gate.full, admission };
  }

  raftStatus(): RaftStatusAnswer {
    return this.#parts.status.raftStatus();
  }

  membership: Service['membership'] = (reply) => this.#parts.membership.view(reply);

  changeMembership: Service['changeMembership'] = (change, timeoutMs, reply) =>
    this.#parts.membership.change(change, timeoutMs, reply);

  raftMembers: Service['raftMembers'] = (reply) => this.#parts.blocks.read(reply);
}
