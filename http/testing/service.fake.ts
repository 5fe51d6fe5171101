/**
 * A service that answers what a test tells it to, and remembers what it was asked. Nothing of a
 * broker is in it: it lets tests look at the front alone.
 */
import type {
  AckCommand,
  GroupLags,
  PageQuery,
  PopCommand,
  QueueView,
  RefusedOutcome,
  Tenant,
} from '@svc/engine';
import type {
  HealthAnswer,
  LinkAnswer,
  LinkView,
  Membership,
  RaftFigures,
  RaftStatusAnswer,
} from '@svc/wire';
import type { ListedView, NewList } from '../exchange/list-text.js';
import type { AnalyticsService } from '../ports/analytics-service.js';
import type { EphemeralQueuesPage, EphemeralService } from '../ports/ephemeral-service.js';
import type { GroupService } from '../ports/group-service.js';
import type { KvService } from '../ports/kv-service.js';
import type { LockService } from '../ports/lock-service.js';
import type { NodeFigures, QueueCount } from '../ports/node-figures.js';
import type { RecordService } from '../ports/record-service.js';
import type { ResourceService } from '../ports/resource-service.js';
import type {
  AckedPop,
  DeliveredOutcome,
  FetchedOutcome,
  FetchRequest,
  MembershipChange,
  MembershipRefused,
  MembershipView,
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
} from '../ports/service.js';
import type { StreamService } from '../ports/stream-service.js';
import type { TimerService } from '../ports/timer-service.js';
import { type FakeList, fakePart, REFUSED, sendList } from './reads.fake.js';
import { FakeSurfaces } from './surface-service.fake.js';

const FIGURES: RaftFigures = {
  role: 'leader',
  leader: true,
  term: 5,
  applied: 112,
  commit: 112,
  lag: 0,
  storageReady: true,
};

/** The example of the contract. */
const MEMBERSHIP: Membership = {
  nodeId: 1,
  source: 'leader',
  viewAgeMs: 0,
  leader: 1,
  term: 7,
  voters: [1, 2, 3],
  learners: [4],
  joint: null,
  membershipIndex: 91002,
  membershipCommitted: true,
  changeInFlight: false,
  lastLogIndex: 91233,
  committedIndex: 91233,
  liveWithinMs: 2000,
  promoteMaxLag: 1000,
  members: [
    {
      nodeId: 1,
      voter: true,
      raft: 'svc-1:7400',
      http: 'svc-1:6632',
      matched: 91233,
      lag: 0,
      lastAckMs: 0,
      live: true,
    },
  ],
};

const NOT_FOUND: NotFoundOutcome = { kind: 'not-found' };
const NO_EPHEMERAL_QUEUES: EphemeralQueuesPage = {
  kind: 'ephemeral-queues',
  queues: [],
  truncated: false,
  nextAfter: null,
  nodeId: 1,
  cellBytes: 0,
  tenantBytes: 0,
};
const NOTHING_LISTED = { rows: [], end: { nextAfter: null } };

export class FakeService implements Service {
  readonly resources = fakePart<ResourceService>({
    rankPartitions: NOT_FOUND,
    queueSizes: NOT_FOUND,
  });
  readonly records = fakePart<RecordService>({ message: NOT_FOUND });
  readonly ephemeral = fakePart<EphemeralService>(
    {
      push: { kind: 'ephemeral-pushed' },
      pop: { kind: 'ephemeral-popped', messages: [] },
      ack: { kind: 'ephemeral-acked', outcomes: [] },
      configure: { kind: 'ephemeral-configured', isOverQuota: false },
      delete: { kind: 'ephemeral-deleted', wasDeclared: true },
      reset: { kind: 'ephemeral-reset', dropped: 3 },
      queues: NO_EPHEMERAL_QUEUES,
    },
    { depth: () => null },
  );
  readonly kv = fakePart<KvService>({});
  readonly streams = fakePart<StreamService>({
    state: { kind: 'stream-state', answer: { result: 'missing' } },
  });
  readonly surfaces = new FakeSurfaces();
  readonly locks = fakePart<LockService>({ run: { kind: 'locks', results: [] } });
  readonly submitted: SubmittedCommand[] = [];
  readonly pops: PopCommand[] = [];
  readonly fetches: FetchRequest[] = [];
  /** `tenant queue group` of each read. */
  readonly reads: string[] = [];
  readonly pages: PageQuery[] = [];
  nowMs = 1000;
  healthy = true;

  /** Called for each command; a test replaces what it needs. */
  onSubmit: (command: SubmittedCommand, reply: Reply<SubmittedOutcome>) => void = (_, reply) => {
    reply.send(REFUSED);
  };
  onAckAndPop: (
    acks: AckCommand,
    pop: PopCommand,
    reply: Reply<AckedPop | RefusedOutcome>,
  ) => void = (_acks, _pop, reply) => {
    reply.send(REFUSED);
  };
  onPop: (command: PopCommand, reply: Reply<DeliveredOutcome | RefusedOutcome>) => void = (
    _,
    reply,
  ) => {
    reply.send({ kind: 'delivered', leaseId: '', claims: [], terms: null });
  };
  onFetch: (request: FetchRequest, reply: Reply<FetchedOutcome | RefusedOutcome>) => void = (
    _,
    reply,
  ) => {
    reply.send(REFUSED);
  };
  list: FakeList<QueueView, QueueListEnd> = REFUSED;
  detail: QueueDetailView | NotFoundOutcome | RefusedOutcome = { kind: 'not-found' };
  depth: QueueDepthView | NotFoundOutcome | RefusedOutcome = { kind: 'not-found' };
  readonly analytics = fakePart<AnalyticsService>({}, { nowUs: () => 0 });
  readonly groups = fakePart<GroupService>({
    list: NOTHING_LISTED,
    detail: NOTHING_LISTED,
    lagging: { kind: 'lagging-groups', views: [], nextAfter: null },
    positions: { kind: 'group-positions', positions: [] },
    delete: { kind: 'group-deleted', cursors: 0, queues: [] },
  });
  readonly timers = fakePart<TimerService>({});
  members: RaftMembersView | RefusedOutcome = REFUSED;
  membershipView: MembershipView | MembershipRefused = {
    kind: 'membership',
    membership: MEMBERSHIP,
  };
  changed: MembershipView | MembershipRefused = { kind: 'membership', membership: MEMBERSHIP };
  parked: ReadonlyMap<string, number> = new Map();
  deadLetterDepths: Iterable<QueueCount | null> | null = null;
  queueSeriesMax = 20_000;
  groupLags: GroupLags | null = null;
  showsPipeline = true;
  linkView: LinkView | null = null;
  /** Passes with each look at the clock. */
  tickMs = 0;
  /** Looks at the clock so far. */
  looks = 0;
  readonly changes: { readonly change: MembershipChange; readonly timeoutMs: number }[] = [];

  monotonicMs(): number {
    this.looks++;
    this.nowMs += this.tickMs;
    return this.nowMs;
  }

  submit(command: SubmittedCommand, reply: Reply<SubmittedOutcome>): void {
    this.submitted.push(command);
    this.onSubmit(command, reply);
  }

  pop(command: PopCommand, reply: Reply<DeliveredOutcome | RefusedOutcome>): void {
    this.pops.push(command);
    this.onPop(command, reply);
  }

  ackAndPop(acks: AckCommand, pop: PopCommand, reply: Reply<AckedPop | RefusedOutcome>): void {
    this.submitted.push(acks);
    this.pops.push(pop);
    this.onAckAndPop(acks, pop, reply);
  }

  fetch(request: FetchRequest, reply: Reply<FetchedOutcome | RefusedOutcome>): void {
    this.fetches.push(request);
    this.onFetch(request, reply);
  }

  listQueues(
    tenant: Tenant,
    page: PageQuery,
    newList: NewList<QueueView, QueueListEnd>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    this.reads.push(tenant);
    this.pages.push(page);
    sendList(this.list, newList, reply);
  }

  queueDetail(
    tenant: Tenant,
    queue: string,
    page: PageQuery,
    reply: Reply<QueueDetailView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    this.reads.push(`${tenant} ${queue}`);
    this.pages.push(page);
    reply.send(this.detail);
  }

  queueDepth(
    tenant: Tenant,
    queue: string,
    group: string | null,
    page: PageQuery,
    reply: Reply<QueueDepthView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    this.reads.push(`${tenant} ${queue} ${group}`);
    this.pages.push(page);
    reply.send(this.depth);
  }

  health(): HealthAnswer {
    return {
      status: this.healthy ? 'healthy' : 'settling',
      engine: 'raft',
      version: '2.1.0',
      raft: { ...FIGURES, clusterVersion: 5, kinds: 5 },
    };
  }

  raftFigures(): RaftFigures {
    return FIGURES;
  }

  link(): LinkAnswer {
    return { role: 'primary', leader: true };
  }

  pressure(): Pressure {
    return { storageFull: true, admission: { bytesMax: 100, bytes: 7, waiting: 2 } };
  }

  figures(): NodeFigures {
    return {
      raft: this.raftStatus(),
      pressure: this.pressure(),
      loopLagMs: 0.5,
      parked: this.parked,
      memoryRows: [{ table: 'queues', level: 'active', rows: 3 }],
      names: {
        counts: { queues: 3, partitions: 5, consumer_groups: 2 },
        limits: { queues: 1000, partitions: null, consumer_groups: null },
      },
      tracesStored: 4,
      consumption: { groups: 1, parts: 2, partitions: 2 },
      totals: { pushed: 5, acked: 4, deadLettered: 1 },
      showsPipeline: this.showsPipeline,
      deadLetters: this.deadLetterDepths,
      queueSeriesMax: this.queueSeriesMax,
      groupLags: this.groupLags,
      link: this.linkView,
      wallUs: 10_000_000,
    };
  }

  raftStatus(): RaftStatusAnswer {
    return {
      engine: 'raft',
      clusterId: 'c-1',
      self: 1,
      voters: 1,
      singleNode: true,
      nodeId: 1,
      hostname: 'host-1',
      raftAddr: null,
      httpAddr: null,
      role: 'voter',
      state: 'leader',
      local: true,
      reachable: true,
      leaderId: 1,
      term: 5,
      lastLogIndex: 112,
      committedIndex: 112,
      appliedIndex: 112,
      durableIndex: null,
      inflight: 0,
      proposals: 0,
      log: { files: 1, bytes: 4096 },
      store: { mapBytes: 1, usedBytes: 1, mapUsedPct: 1, readersInUse: 1, maxReaders: 1 },
      version: '2.1.0',
      uptimeSeconds: 3,
      replication: null,
      refusedFrames: {},
      error: null,
    };
  }

  raftMembers(reply: Reply<RaftMembersView | RefusedOutcome>): void {
    reply.send(this.members);
  }

  membership(reply: Reply<MembershipView | MembershipRefused>): void {
    reply.send(this.membershipView);
  }

  changeMembership(
    change: MembershipChange,
    timeoutMs: number,
    reply: Reply<MembershipView | MembershipRefused>,
  ): void {
    this.changes.push({ change, timeoutMs });
    reply.send(this.changed);
  }
}
