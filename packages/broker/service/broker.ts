/**
 * The service that the HTTP front calls. Commands go to the leader, wherever it is
 * (`requests/leadership.ts`), and come back as answers; reads are served from the state that is
 * applied here.
 */
import type {
  AckCommand,
  Command,
  Outcome,
  PageQuery,
  PopCommand,
  PushCommand,
  QueueFigures,
  QueueView,
  RefusedOutcome,
  State,
  TakeRow,
  Tenant,
  TransactionIndex,
} from '@svc/engine';
import { kvUseOf, listQueues, queueDepth, queueDetail, ReadAhead, timerUseOf } from '@svc/engine';
import type {
  DeliveredOutcome,
  FetchedOutcome,
  FetchRequest,
  ListedView,
  MembershipChange,
  MembershipRefused,
  MembershipView,
  NewList,
  NodeFigures,
  NotFoundOutcome,
  Pressure,
  QueueDepthView,
  QueueDetailView,
  QueueListEnd,
  RaftMembersView,
  Reply,
  Service,
  SubmittedCommand,
  SubmittedOutcome,
} from '@svc/http';
import type { Checkpoint } from '@svc/storage';
import type {
  HealthAnswer,
  Meters,
  QueueFigures as QueueCounts,
  RaftFigures,
  RaftStatusAnswer,
} from '@svc/wire';
import type { Activity } from '../analytics/activity.js';
import type { SeriesGather } from '../analytics/series-gather.js';
import type { Config } from '../config/config.js';
import type { Ephemeral } from '../ephemeral/ephemeral.js';
import type { Replica } from '../leader/replica.js';
import type { DiskGate } from '../log/disk-gate.js';
import type { MembershipService } from '../membership/service.js';
import type { Fetches } from '../reads/fetch.js';
import { sendList } from '../reads/listed.js';
import type { MessageReader } from '../reads/message-reader.js';
import type { StateReads } from '../reads/state-reads.js';
import { AckSlices, isUnfinished, mayNeedAckSlices } from '../requests/ack-slices.js';
import type { Admission } from '../requests/admission.js';
import type { OnOutcome } from '../requests/held-request.js';
import type { Leadership } from '../requests/leadership.js';
import { mayNeedSlices, PushSlices } from '../requests/push-slices.js';
import { type CallSlices, runSlices } from '../requests/sliced-call.js';
import type { Clock } from '../system/clock.js';
import type { NodeLife } from '../system/node-life.js';
import { AnalyticsReads } from './analytics-reads.js';
import { GroupRequests } from './consumer-group-requests.js';
import { KvRequests, planInRoom } from './kv-requests.js';
import { Locks } from './locks.js';
import type { MemberBlocks } from './member-blocks.js';
import type { NodeStatus } from './node-status.js';
import { PopDelivery } from './pop-delivery.js';
import { RecordReads } from './record-reads.js';
import { keyOf, pageKeyOf, ResourceReads } from './resource-reads.js';
import { nodeFigures, type ScrapeSources } from './scrape-figures.js';
import { StreamReads } from './stream-reads.js';
import { SurfaceReads } from './surface-reads.js';
import { TimerReads } from './timer-reads.js';

/** How long calls may take. */
export interface Deadlines {
  /** Push and management. */
  readonly writeMs: number;
  /** Ack, lease extension and transaction. */
  readonly statementMs: number;
}

const DEADLINE_MS_MAX = 60_000;

export function deadlinesOf({ writeTimeoutMs, statementTimeoutMs }: Config): Deadlines {
  return {
    writeMs: Math.min(writeTimeoutMs, DEADLINE_MS_MAX),
    statementMs: Math.min(statementTimeoutMs, DEADLINE_MS_MAX),
  };
}

export interface BrokerParts {
  readonly state: Checkpoint;
  readonly transactions: TransactionIndex;
  readonly reader: MessageReader;
  /** Kept as entries are applied. */
  readonly queueFigures: QueueFigures;
  readonly fetches: Fetches;
  readonly ephemeral: Ephemeral;
  readonly leadership: Leadership;
  readonly reads: StateReads;
  readonly clock: Clock;
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

const NO_LEADER: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'no_leader', error: 'no leader is known; retry after' },
};

export class Broker implements Service {
  readonly #parts: BrokerParts;
  readonly #state: Checkpoint;
  readonly #clock: Clock;
  readonly #leadership: Leadership;
  readonly #reads: StateReads;
  readonly #activity: Activity | null;
  readonly #deadlines: Deadlines;
  /** For each walk: a view that reads ahead of it. */
  readonly #walkState: () => State;
  readonly #pops: PopDelivery;
  readonly resources: ResourceReads;
  readonly records: RecordReads;
  readonly timers: TimerReads;
  readonly ephemeral: Ephemeral;
  readonly kv: KvRequests;
  readonly locks: Locks;
  readonly groups: GroupRequests;
  readonly streams: StreamReads;
  readonly surfaces: SurfaceReads;
  readonly analytics: AnalyticsReads;

  constructor(parts: BrokerParts) {
    const { state, clock, leadership, reads, deadlines, fraction, replica, queueFigures } = parts;
    const allowedMs = deadlines.statementMs;
    const walkState = () => new ReadAhead(state, () => replica.appliedIndex);
    const walked = { ...parts, walkState, figures: queueFigures };
    this.#parts = parts;
    this.#state = state;
    this.#clock = clock;
    this.#leadership = leadership;
    this.#reads = reads;
    this.#activity = parts.activity;
    this.#deadlines = deadlines;
    this.#walkState = walkState;
    this.ephemeral = parts.ephemeral;
    this.#pops = new PopDelivery({
      ...parts,
      pipeline: parts.meters.pipeline,
      giveBack: (command) => {
        const untilMs = clock.nowMs() + DEADLINE_MS_MAX;
        leadership.submit(command, untilMs, () => {}, { isOwed: true });
      },
    });
    this.groups = new GroupRequests(walked);
    this.resources = new ResourceReads(walked);
    this.analytics = new AnalyticsReads(walked);
    this.records = new RecordReads({ ...parts, deadlineMs: deadlines.writeMs });
    this.kv = new KvRequests({
      state,
      reads,
      clock,
      allowedMs,
      submit: (call, deadlineMs, onOutcome) => {
        leadership.submit(call, deadlineMs, onOutcome);
      },
    });
    this.locks = new Locks({ kv: this.kv, clock, allowedMs, fraction });
    this.timers = new TimerReads(state, reads);
    this.streams = new StreamReads(state, reads);
    this.surfaces = new SurfaceReads(state, reads);
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
      planInRoom(this.#reads, reply, command.kv, () => this.#submitWhole(command, reply), untilMs);
      return;
    }
    this.#submitWhole(command, reply);
  }

  #submitWhole(command: SubmittedCommand, reply: Reply<SubmittedOutcome>): void {
    this.#submitOne(command, (outcome) => {
      if (command.kind === 'ack' && outcome.kind === 'acked' && isUnfinished(outcome)) {
        const slices = new AckSlices(command);
        slices.resume(outcome);
        this.#submitSlices(command, 'acked', slices, reply, outcome);
        return;
      }
      this.#activity?.answered(this.#state, command, outcome);
      reply.send(outcome as SubmittedOutcome);
    });
  }

  #submitOne(command: SubmittedCommand, onOutcome: (outcome: Outcome) => void): void {
    const isStatement = STATEMENTS.has(command.kind);
    const allowedMs = isStatement ? this.#deadlines.statementMs : this.#deadlines.writeMs;
    this.#leadership.submit(command, this.#clock.nowMs() + allowedMs, onOutcome);
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
        this.#submitOne(slice, (outcome) => {
          answered(slice, outcome);
          onOutcome(outcome);
        }),
      soon: (work) => this.#clock.soon(work),
      isGone: () => reply.gone,
      done: (outcome, refusal) => {
        if (outcome !== null) this.#activity?.slicesEnded(command.kind, touched);
        reply.send((refusal ?? outcome ?? NO_LEADER) as SubmittedOutcome);
      },
    });
  }

  pop(command: PopCommand, reply: Reply<DeliveredOutcome | RefusedOutcome>): void {
    const { deadlineMs } = command;
    const onOutcome: OnOutcome = (outcome, late) => {
      if (outcome.kind !== 'popped') reply.send(outcome as RefusedOutcome);
      else if (late || reply.gone) this.#pops.giveBack(command, outcome);
      else this.#pops.deliver(command, outcome, reply);
    };
    const request = this.#leadership.submit(command, deadlineMs, onOutcome, { room: reply.room });
    if (request.place !== 'ended') reply.onGone = () => this.#leadership.abandon(request);
  }

  fetch(request: FetchRequest, reply: Reply<FetchedOutcome | RefusedOutcome>): void {
    if (this.#parts.life.serving) this.#parts.fetches.fetch(request, reply);
    else reply.send(NO_LEADER);
  }

  listQueues(
    tenant: Tenant,
    page: PageQuery,
    newList: NewList<QueueView, QueueListEnd>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    const { state, clock, queueFigures } = this.#parts;
    const walkState = this.#walkState;
    const walk = function* (take: TakeRow<QueueView>): Generator<void, QueueListEnd> {
      const nowUs = clock.wallUs();
      const nextAfter = yield* listQueues(walkState(), queueFigures, tenant, page, nowUs, take);
      const kv = kvUseOf(state, tenant);
      const timer = timerUseOf(state, tenant);
      return {
        nextAfter,
        kvRows: kv.rows,
        kvBytes: kv.bytes,
        timerRows: timer.timers,
        timerBytes: timer.bytes,
      };
    };
    sendList(this.#reads, pageKeyOf('list', tenant, page), walk, newList, reply);
  }

  queueDetail(
    tenant: Tenant,
    queue: string,
    page: PageQuery,
    reply: Reply<QueueDetailView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    const { partitionsMax: most, queueFigures: figures, clock } = this.#parts;
    const walk = () =>
      queueDetail(this.#walkState(), figures, tenant, queue, page, most, clock.wallUs());
    const key = keyOf(pageKeyOf('detail', tenant, page), queue);
    this.#reads.confirmed(key, walk, reply, (detail) =>
      reply.send(detail === null ? { kind: 'not-found' } : { kind: 'queue-detail', ...detail }),
    );
  }

  queueDepth(
    tenant: Tenant,
    queue: string,
    group: string | null,
    page: PageQuery,
    reply: Reply<QueueDepthView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    const { partitionsMax: most, clock } = this.#parts;
    const walk = () =>
      queueDepth(this.#walkState(), tenant, queue, group, page, most, clock.wallUs());
    const key = keyOf(pageKeyOf('depth', tenant, page), queue, group ?? '');
    this.#reads.confirmed(key, walk, reply, (depth) =>
      reply.send(depth === null ? { kind: 'not-found' } : { kind: 'queue-depth', ...depth }),
    );
  }

  /** The state that is applied here, for those who watch this node. */
  get appliedState(): State {
    return this.#state;
  }

  eachParked(visit: (command: PopCommand) => void): void {
    this.#leadership.eachParked(visit);
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

  pressure(): Pressure {
    const { gate, admission } = this.#parts;
    return { storageFull: gate.full, admission };
  }

  raftStatus(): RaftStatusAnswer {
    return this.#parts.status.raftStatus();
  }

  membership(reply: Reply<MembershipView | MembershipRefused>): void {
    this.#parts.membership.view(reply);
  }

  changeMembership(
    change: MembershipChange,
    timeoutMs: number,
    reply: Reply<MembershipView | MembershipRefused>,
  ): void {
    this.#parts.membership.change(change, timeoutMs, reply);
  }

  raftMembers(reply: Reply<RaftMembersView | RefusedOutcome>): void {
    this.#parts.blocks.read(reply);
  }
}
