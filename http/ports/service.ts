/**
 * The seam between the HTTP front and the broker. The front parses, validates and renders; whatever
 * needs state goes through `Service` and comes back through a `Reply`.
 *
 * A request is one object from its route to its answer: the `Exchange`. The front owns it. The
 * handler tells it how the answer is rendered, and gives it to the service as a `Reply`.
 *
 * A command that is submitted for a request is a `ClientRequest`
 * (`packages/broker/requests/held-request.ts`), which names its `Reply`. The broker's table of
 * requests owns it, and settles it.
 *
 *     exchange   open, answering, then answered or gone
 *     command    entering, held, at a leader here or elsewhere, in doubt, applying, ended
 *
 * - An outcome comes, from whichever node leads: the command ends, and the exchange is sent it.
 * - The deadline passes: the exchange is sent a refusal. The command ends, but for a pop that may
 *   have claimed, which goes on until it is known what is to be given back.
 * - The client goes: the exchange is gone. A pop claims nothing from then on, and what it has
 *   claimed is given back. Any other command goes on to its end.
 * - Leadership is lost or moves: the command is held, or in doubt until it is known which entry
 *   won. The exchange waits.
 * - The node stops: the command ends, and the exchange is sent a refusal.
 *
 * Rejected: one object for both. Neither lives within the other. A large push is many commands,
 * each with a deadline, an id and an outcome of its own; a lock is several; a read is none; and
 * what is given back is a command without an exchange. The command of a pop goes on for a minute
 * after its client has gone, and the answer of a pop waits for room and for the disk after its
 * command has ended.
 *
 * The broker calls `send` exactly once, in the call that brought the request or at any later time.
 * Between the two the client may go: then `gone` turns true and `onGone`, if the broker has set it,
 * runs once, after which `send` may be left out. `send` returns whether somebody could still
 * receive the answer, so that a pop whose client went in the last moment can be given back. A
 * command whose client has gone still holds its body, and the room that the body was admitted to,
 * until `send`.
 *
 * Units: `...Us` microseconds since the epoch, `...Ms` milliseconds.
 */
import type {
  AckCommand,
  AckedOutcome,
  ConfigureCommand,
  ConfiguredOutcome,
  DeadLettersDroppedOutcome,
  DeletedOutcome,
  DeleteQueueCommand,
  DeliveryTerms,
  DepthSums,
  DropDeadLettersCommand,
  EphemeralCommand,
  EphemeralConfiguredOutcome,
  EphemeralDeletedOutcome,
  ExtendCommand,
  ExtendedOutcome,
  GroupChangedOutcome,
  NextAfter,
  PageQuery,
  PartitionView,
  PopCommand,
  PromoteCommand,
  PromotedOutcome,
  PushCommand,
  PushedOutcome,
  QueueView,
  RedriveCommand,
  RedrivenOutcome,
  RefusedOutcome,
  RegisterStreamCommand,
  ReplayCommand,
  ReplayedOutcome,
  SeekCommand,
  StreamCycleCommand,
  StreamCycledOutcome,
  StreamRegisteredOutcome,
  SubscribeGroupCommand,
  SurfaceCommand,
  SurfaceOutcome,
  Tenant,
  TimerCall,
  TimersOutcome,
  TraceCommand,
  TracedOutcome,
  TransactedOutcome,
  TransactionCommand,
} from '@svc/engine';
import type {
  FetchEntryError,
  HealthAnswer,
  LinkAnswer,
  Membership,
  MembershipErrorCode,
  RaftFigures,
  RaftMembersAnswer,
  RaftStatusAnswer,
} from '@svc/wire';
import type { AnswerRoom } from '../exchange/answer-budget.js';
import type { ListEnd, ListedView, NewList } from '../exchange/list-text.js';
import type { AnalyticsService } from './analytics-service.js';
import type { EphemeralService } from './ephemeral-service.js';
import type { GroupService } from './group-service.js';
import type { KvService } from './kv-service.js';
import type { LockService } from './lock-service.js';
import type { NodeFigures } from './node-figures.js';
import type { RecordService } from './record-service.js';
import type { ResourceService } from './resource-service.js';
import type { StreamService } from './stream-service.js';
import type { SurfaceService } from './surface-service.js';
import type { TimerService } from './timer-service.js';

/** An `Exchange`, as the broker sees it. */
export interface Reply<Answer> {
  /** The client has gone: nothing that is sent can arrive. */
  readonly gone: boolean;
  /** Set by the broker; runs once if the client goes before `send`. */
  onGone: (() => void) | null;
  /**
   * Set by whoever counts what the answer holds in another thread; runs once, when the client has
   * taken all of the answer, or has gone. It costs the others nothing.
   */
  onTaken?: (() => void) | null;
  /** Left out: the answer stays within the node, and whoever takes it counts what becomes of it. */
  readonly room?: AnswerRoom | undefined;
  /** False: the answer reached nobody, for the client had gone or it could not be rendered. */
  send(answer: Answer): boolean;
}

/** The commands whose outcome the front renders without further data. */
export type SubmittedCommand =
  | PushCommand
  | AckCommand
  | ExtendCommand
  | ConfigureCommand
  | DeleteQueueCommand
  | TransactionCommand
  | SeekCommand
  | SubscribeGroupCommand
  | DropDeadLettersCommand
  | ReplayCommand
  | RedriveCommand
  | EphemeralCommand
  | PromoteCommand
  | RegisterStreamCommand
  | StreamCycleCommand
  | SurfaceCommand
  | TimerCall
  | TraceCommand;

export type SubmittedOutcome =
  | PushedOutcome
  | AckedOutcome
  | ExtendedOutcome
  | ConfiguredOutcome
  | DeletedOutcome
  | TransactedOutcome
  | GroupChangedOutcome
  | DeadLettersDroppedOutcome
  | ReplayedOutcome
  | RedrivenOutcome
  | EphemeralConfiguredOutcome
  | EphemeralDeletedOutcome
  | StreamRegisteredOutcome
  | StreamCycledOutcome
  | SurfaceOutcome
  | TimersOutcome
  | TracedOutcome
  | RefusedOutcome
  | PromotedOutcome;

export interface Service {
  /** The monotonic clock that `PopCommand.deadlineMs` and `FetchRequest.deadlineMs` are read on. */
  monotonicMs(): number;

  /** The outcome is a refusal or the one that belongs to the command's kind. */
  submit(command: SubmittedCommand, reply: Reply<SubmittedOutcome>): void;
  pop(command: PopCommand, reply: Reply<DeliveredOutcome | RefusedOutcome>): void;
  /**
   * Acknowledges, and pops behind it. Refused as a whole only where the acknowledgements are: then
   * nothing stays claimed. Whatever becomes of the pop, the verdicts of an `AckedPop` are final.
   */
  ackAndPop(acks: AckCommand, pop: PopCommand, reply: Reply<AckedPop | RefusedOutcome>): void;
  fetch(request: FetchRequest, reply: Reply<FetchedOutcome | RefusedOutcome>): void;

  readonly resources: ResourceService;
  readonly groups: GroupService;
  readonly records: RecordService;
  readonly timers: TimerService;
  readonly analytics: AnalyticsService;
  readonly ephemeral: EphemeralService;
  readonly kv: KvService;
  readonly locks: LockService;
  readonly streams: StreamService;
  readonly surfaces: SurfaceService;
  /** Newest queue first. */
  listQueues(
    tenant: Tenant,
    page: PageQuery,
    newList: NewList<QueueView, QueueListEnd>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void;
  queueDetail(
    tenant: Tenant,
    queue: string,
    page: PageQuery,
    reply: Reply<QueueDetailView | NotFoundOutcome | RefusedOutcome>,
  ): void;
  /** `group` null: the slowest reader (inspection 6.4). A linearizable read. */
  queueDepth(
    tenant: Tenant,
    queue: string,
    group: string | null,
    page: PageQuery,
    reply: Reply<QueueDepthView | NotFoundOutcome | RefusedOutcome>,
  ): void;

  /** Node-local and immediate. */
  health(): HealthAnswer;
  raftFigures(): RaftFigures;
  /** What this cluster is to another one. */
  link(): LinkAnswer;
  /** For a scrape. */
  figures(): NodeFigures;
  pressure(): Pressure;
  raftStatus(): RaftStatusAnswer;
  raftMembers(reply: Reply<RaftMembersView | RefusedOutcome>): void;

  /** As the leader sees it, or as this node does when no leader can be asked. */
  membership(reply: Reply<MembershipView | MembershipRefused>): void;
  /**
   * Answers once the change counts, also when there was nothing to change. `timeoutMs`, from 1 to
   * 120,000, is how long the client waits; the change may still complete after it.
   */
  changeMembership(
    change: MembershipChange,
    timeoutMs: number,
    reply: Reply<MembershipView | MembershipRefused>,
  ): void;
}

/** What keeps this node from taking more. */
export interface Pressure {
  /** Its own volume is too full for what grows. */
  readonly storageFull: boolean;
  /** Bytes of growing writes, from their admission to their outcome; `bytesMax` 0 for no bound. */
  readonly admission: {
    readonly bytesMax: number;
    readonly bytes: number;
    readonly waiting: number;
  };
}

// --- messages ----------------------------------------------------------------------------------

/**
 * Messages of one append, in columns. The columns may hold the whole append, so that a decoded
 * append can be shared by all who read it; `first..last` are the indexes, inclusive, that are
 * meant. The message at index `i` has the offset `baseOffset + i`.
 */
export interface MessageBatch {
  /** Payload texts stand in it; they are copied to the answer byte for byte. */
  readonly bytes: Uint8Array;
  readonly payloadStart: readonly number[];
  readonly payloadEnd: readonly number[];
  readonly stampUs: number;
  readonly baseOffset: number;
  readonly first: number;
  readonly last: number;
  /** null: the message's id is its transaction id. */
  readonly transactionIds: readonly (string | null)[];
  /** null instead of the column: no message of the append has one. */
  readonly producerSubs: readonly (string | null)[] | null;
  readonly traceIds: readonly (string | null)[] | null;
  /** Ids that were promised before; null in it: the id follows from the place. */
  readonly messageIds?: readonly (string | null)[] | null;
}

/** What one claim delivers, offsets ascending. */
export interface PoppedMessages {
  readonly queue: string;
  readonly partition: string;
  readonly partitionNumber: number;
  readonly deliveryAttempt: number;
  readonly batches: readonly MessageBatch[];
}

/** A pop's outcome with the bytes of its messages. */
export interface DeliveredOutcome {
  readonly kind: 'delivered';
  /** "" with autoAck or without a claim. */
  readonly leaseId: string;
  /** In claim order. */
  readonly claims: readonly PoppedMessages[];
  /** null: nothing to say of how it was served; then no claim is 204. */
  readonly terms: DeliveryTerms | null;
}

/** What became of acknowledgements and of the pop behind them. */
export interface AckedPop {
  readonly kind: 'acked-pop';
  readonly acked: AckedOutcome;
  readonly popped: DeliveredOutcome | RefusedOutcome;
}

// --- fetch (message-plane 10) ------------------------------------------------------------------

export interface FetchRequest {
  readonly tenant: Tenant;
  readonly entries: readonly FetchEntry[];
  /** 0: answer at once. */
  readonly maxWaitMs: number;
  /** <= 0: do not wait. */
  readonly minBytes: number;
  /** Monotonic; now + `maxWaitMs`. */
  readonly deadlineMs: number;
}

export interface FetchEntry {
  readonly queue: string;
  readonly partition: string;
  /** >= 0. */
  readonly offset: number;
  /** Payload bytes wanted at most, 1..8 MiB; the first record comes whatever its size. */
  readonly maxBytes: number;
}

export interface FetchedEntry {
  readonly partitionNumber: number;
  readonly batches: readonly MessageBatch[];
  readonly highWatermark: number;
  readonly logStartOffset: number;
  readonly error: FetchEntryError | null;
}

export interface FetchedOutcome {
  readonly kind: 'fetched';
  /** One per entry of the request, in its order. */
  readonly entries: readonly FetchedEntry[];
}

// --- queues (inspection 6) ---------------------------------------------------------------------

/** No queue of that name in the tenant. */
export interface NotFoundOutcome {
  readonly kind: 'not-found';
}

export interface QueueListEnd extends ListEnd {
  readonly kvRows: number;
  readonly kvBytes: number;
  readonly timerRows: number;
  readonly timerBytes: number;
}

export interface QueueDetailView {
  readonly kind: 'queue-detail';
  readonly view: QueueView;
  /** Ascending by name. */
  readonly partitions: readonly PartitionView[];
  readonly partitionsTruncated: boolean;
  readonly nextAfter: NextAfter;
}

export interface QueueDepthView {
  readonly kind: 'queue-depth';
  /** The group whose policy conflates counts partitions instead of messages. */
  readonly conflation: boolean;
  /** Ascending by name. `processing <= pending`. */
  /** A page carries the sums over all partitions. */
  readonly sums: DepthSums;
  readonly nextAfter: NextAfter;
  readonly partitions: readonly {
    readonly partition: string;
    readonly pending: number;
    readonly processing: number;
  }[];
}

export interface RaftMembersView {
  readonly kind: 'raft-members';
  readonly answer: RaftMembersAnswer;
}

// --- membership (cluster-and-config 5) -----------------------------------------------------------

/** Nodes are named by the operator's numbers, which are safe integers here and no more. */
export type MembershipChange =
  | {
      readonly kind: 'add-learner';
      readonly node: number;
      readonly raftAddress: string;
      readonly httpAddress: string;
    }
  /** `force`: also of learners that are behind or do not answer. */
  | { readonly kind: 'promote'; readonly nodes: readonly number[]; readonly force: boolean }
  /** Voters that are not among them leave the membership. */
  | { readonly kind: 'set-voters'; readonly nodes: readonly number[]; readonly force: boolean }
  | { readonly kind: 'remove'; readonly node: number }
  /** Leadership goes to this voter; the members stay. */
  | { readonly kind: 'transfer'; readonly node: number };

export interface MembershipView {
  readonly kind: 'membership';
  readonly membership: Membership;
}

export interface MembershipRefused {
  readonly kind: 'membership-refused';
  readonly code: MembershipErrorCode;
  readonly error: string;
}
