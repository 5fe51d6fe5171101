/**
 * What the leader remembers between commands so that a pop need not search: per group a line of
 * ready partitions, who waits, and which leases are live on the monotonic clock.
 *
 * The rows are the truth. Everything here can be dropped at any moment and found again by a scan of
 * the queue's partitions; a status that says "ready" means "worth a look". What must hold:
 *
 * - Of a watched group (`scan` is not 'none') every partition with unread messages is ready, held
 *   or delayed, or lies ahead of the scan, or a further scan is due (`rescan`).
 * - A partition whose cursor is caught up has no status and costs nothing.
 * - A lease read from a row is converted to the monotonic clock once, when it is first seen. The
 *   wall clock, which may jump, cannot end a lease or prolong it afterwards. A lease forgotten with
 *   its group is the exception: read again it never ends earlier than it would have, but it can end
 *   later, at most when the last of the forgotten ones does.
 *
 * Groups that only pinned pops, acks and extensions touched are not watched: they have a status for
 * the partitions that are leased or waited for, and no scan.
 */

import type { PopCommand } from '../base/commands/commands.js';
import {
  type DeliveryLimits,
  DROP_LOOKS,
  DROP_SPARES_MS,
  IDLE_MS,
} from '../base/delivery-limits.js';
import { type Due, DueHeap } from '../base/due-heap.js';
import { numberKey, numberNameKey } from '../base/keys.js';
import type { GroupRow, LeaseState } from '../base/rows.js';
import { groups, queues } from '../base/tables.js';
import { Fifo, type Linked } from '../base/waiters-fifo.js';
import type { Draft } from '../draft/draft.js';
import { AUTOPILOT_LIMITS, type AutopilotLimits, DrainRate } from './autopilot.js';

export interface PartitionStatus extends Due, Linked<PartitionStatus> {
  readonly kind: 'partition';
  readonly group: DeliveryGroup;
  readonly partition: number;
  /** idle: being looked at; ready: stands in `group.ready`; held, delayed: due at `dueMs`. */
  state: 'idle' | 'ready' | 'held' | 'delayed';
  /** The lease last seen on this cursor ('' = none) and its end on the monotonic clock. */
  leaseId: string;
  leaseEndsMs: number;
  /** The lease ends later than its row says: this node prolonged it by less than its grace. */
  graced: boolean;
}

/** A parked pop. It stands in one line: of a group, of one partition of it, or of its labels. */
export interface Waiter extends Due, Linked<Waiter> {
  readonly kind: 'waiter';
  readonly ticket: object;
  readonly command: PopCommand;
  /** Rises with every parked pop: the lowest is the oldest. */
  readonly order: number;
  readonly arrivedUs: number;
  readonly arrivedMs: number;
  /** When it is answered empty. It may fall due before that, while it gathers. */
  readonly answerByMs: number;
  /** The group in whose line it stands; null: it is gone, or the pop names no queue that exists. */
  group: DeliveryGroup | null;
  /** Null: any partition of the group. */
  partition: number | null;
  /** The line in which a discovery pop waits; null: the pop is of one queue. */
  line: LabelLine | null;
  /** Others may wait behind it although something is ready (pop-gather.ts). */
  gathers: boolean;
  /** Names of the queue and partition that do not exist yet (pinned). */
  missing: string | null;
}

export interface DeliveryGroup extends Due {
  readonly kind: 'group';
  readonly queue: number;
  readonly name: string;
  /** null: not registered. */
  policy: GroupRow | null;
  /** From the queue's options (pop-gather.ts). */
  minPopWaitMs: number;
  /** null: nobody asked the autopilot for it. */
  drainRate: DrainRate | null;
  scan: 'none' | 'running' | 'done';
  scanFrom: number;
  /** The scan has to start over when it ends: a ready partition was not remembered. */
  rescan: boolean;
  readonly statuses: Map<number, PartitionStatus>;
  readonly ready: Fifo<PartitionStatus>;
  /** Those that wait for any partition of this queue; by labels others do (`lines`). */
  readonly waiters: Fifo<Waiter>;
  /** With the labels of one queue there are four at most: each label is given or not. */
  readonly lines: LabelLine[];
  readonly pinned: Map<number, Fifo<Waiter>>;
  /** Ready partitions that somebody waits for by name. */
  readonly pinnedReady: Set<PartitionStatus>;
  held: number;
  usedAtMs: number;
}

/**
 * Parked pops by the same labels of one consumer group, at all queues that have the labels. They
 * stand in it once, however many queues there are, and a queue that comes to match knows the line
 * and not who stands in it: both numbers are the clients' to choose, and their product would be
 * places. A line exists while somebody stands in it, and until its group is registered at the
 * queues that were found by then (label-joins.ts).
 */
export interface LabelLine {
  readonly matches: QueueMatches;
  readonly consumerGroup: string;
  /** By which its group registers: of the oldest who waits, or of one who has waited. */
  command: PopCommand;
  readonly waiters: Fifo<Waiter>;
  /** Ascending by queue number; none while nobody waits. */
  readonly groups: DeliveryGroup[];
  /** The last join that was under way when nobody waited any more. */
  lastJoin: number;
}

/** The queues of a tenant that carry the labels of a discovery pop (delivery/discovery.ts). */
export interface QueueMatches extends Due {
  readonly kind: 'matches';
  readonly key: string;
  readonly tenant: string;
  readonly namespace: string | null;
  readonly task: string | null;
  /** Ascending. */
  readonly queues: number[];
  /** Where the walk over the tenant's queues goes on; null when it has ended. */
  scanFrom: string | null;
  /** By consumer group. */
  readonly lines: Map<string, LabelLine>;
  /** The newest queue that not all lines have joined yet (label-joins.ts); 0: there is none. */
  lastJoin: number;
  usedAtMs: number;
}

/** What delivery remembers of groups and partitions. */
export interface Consumption {
  readonly groups: number;
  /** Pairs of group and partition. */
  readonly parts: number;
  /** Sum over queues: the partitions remembered by the queue's largest group. */
  readonly partitions: number;
}

export interface Turnover {
  readonly loaded: number;
  readonly unloaded: number;
}

export type DueItem = PartitionStatus | Waiter | DeliveryGroup | QueueMatches;

export class DeliveryMemory {
  readonly due = new DueHeap<DueItem>();
  /** Groups in which something became ready while somebody waits. */
  readonly woken = new Set<DeliveryGroup>();
  /** Groups whose scan can go on. */
  readonly scanning = new Set<DeliveryGroup>();
  readonly limits: DeliveryLimits;
  /** The bytes of an entry that dead letters may fill. */
  readonly entryBytesMax: number;
  readonly autopilot: AutopilotLimits;
  readonly #leaseGraceMs: number;
  readonly #queues = new Map<number, Map<string, DeliveryGroup>>();
  /** All groups in the order in which they are looked at for an early drop. */
  readonly #byAge = new Set<DeliveryGroup>();
  /**
   * Stamp minus monotonic clock, the least so far. A lease ends no later on the monotonic clock
   * than its row says by this difference, whenever in the term it was converted.
   */
  #clockDifferenceUs = Number.POSITIVE_INFINITY;
  /** The latest end of a lease that was live when its group was dropped. */
  #forgottenUntilMs = 0;
  /** Groups that have a drain rate. */
  #measured = 0;
  /** Pairs of group and partition that were taken in since the start, and let go. */
  #loaded = 0;
  #unloaded = 0;

  constructor(
    leaseGraceMs: number,
    limits: DeliveryLimits,
    entryBytesMax: number,
    autopilot: AutopilotLimits = AUTOPILOT_LIMITS,
  ) {
    this.#leaseGraceMs = leaseGraceMs;
    this.limits = limits;
    this.entryBytesMax = entryBytesMax;
    this.autopilot = autopilot;
  }

  groupsOf(queue: number): ReadonlyMap<string, DeliveryGroup> | undefined {
    return this.#queues.get(queue);
  }

  /** How many groups are remembered. */
  get groupCount(): number {
    return this.#byAge.size;
  }

  /** Counts what is remembered. It looks at every group, so it is to be asked seldom. */
  get consumption(): Consumption {
    let partitions = 0;
    for (const ofQueue of this.#queues.values()) {
      let most = 0;
      for (const { statuses } of ofQueue.values()) most = Math.max(most, statuses.size);
      partitions += most;
    }
    return { groups: this.groupCount, parts: this.#loaded - this.#unloaded, partitions };
  }

  /** Pairs of group and partition that were taken in since the leadership began, and let go. */
  get turnover(): Turnover {
    return { loaded: this.#loaded, unloaded: this.#unloaded };
  }

  /** To be called in every turn, before a lease of it is looked at. */
  observeClock(draft: Draft): void {
    const differenceUs = draft.nowUs - draft.nowMs * 1000;
    if (differenceUs < this.#clockDifferenceUs) this.#clockDifferenceUs = differenceUs;
  }

  group(draft: Draft, queue: number, name: string): DeliveryGroup {
    const known = this.#queues.get(queue)?.get(name);
    if (known !== undefined) {
      known.usedAtMs = draft.nowMs;
      return known;
    }
    if (this.#byAge.size >= this.limits.groupsMax) this.#dropEarly(draft.nowMs);
    let ofQueue = this.#queues.get(queue);
    if (ofQueue === undefined) {
      ofQueue = new Map();
      this.#queues.set(queue, ofQueue);
    }
    const group: DeliveryGroup = {
      kind: 'group',
      queue,
      name,
      policy: draft.state.get(groups, numberNameKey(queue, name)) ?? null,
      minPopWaitMs: draft.state.get(queues, numberKey(queue))?.options.minPopWaitTime ?? 0,
      drainRate: null,
      scan: 'none',
      scanFrom: 0,
      rescan: false,
      statuses: new Map(),
      ready: new Fifo(),
      waiters: new Fifo(),
      lines: [],
      pinned: new Map(),
      pinnedReady: new Set(),
      held: 0,
      usedAtMs: draft.nowMs,
      dueMs: 0,
      heapAt: -1,
    };
    ofQueue.set(name, group);
    this.#byAge.add(group);
    this.due.set(group, draft.nowMs + IDLE_MS);
    return group;
  }

  /** Every partition of the queue will be found and every append noticed from here on. */
  watch(group: DeliveryGroup): void {
    if (group.scan !== 'none') return;
    group.scan = 'running';
    this.scanning.add(group);
  }

  drop(group: DeliveryGroup): void {
    for (const status of group.statuses.values()) this.due.remove(status);
    this.#unloaded += group.statuses.size;
    if (group.drainRate !== null) this.#measured--;
    this.#byAge.delete(group);
    this.due.remove(group);
    this.woken.delete(group);
    this.scanning.delete(group);
    const ofQueue = this.#queues.get(group.queue);
    ofQueue?.delete(group.name);
    if (ofQueue?.size === 0) this.#queues.delete(group.queue);
  }

  /** How fast the group acknowledges; measured from the first call on. */
  measured(group: DeliveryGroup, nowMs: number): DrainRate {
    if (group.drainRate === null) {
      group.drainRate = new DrainRate(nowMs);
      this.#measured++;
    }
    return group.drainRate;
  }

  /** The group is done with so many more messages of the queue. */
  drained(queue: number, group: string, messages: number, nowMs: number): void {
    if (this.#measured === 0) return;
    this.#queues.get(queue)?.get(group)?.drainRate?.add(messages, nowMs);
  }

  /** Its leases may be live, and be read from their rows once more. */
  dropWithLeases(group: DeliveryGroup): void {
    for (const { leaseEndsMs } of group.statuses.values()) {
      this.#forgottenUntilMs = Math.max(this.#forgottenUntilMs, leaseEndsMs);
    }
    this.drop(group);
  }

  /** The start point changed: partitions that the group has not touched may have messages now. */
  policyChanged(queue: number, name: string, policy: GroupRow): void {
    const group = this.#queues.get(queue)?.get(name);
    if (group === undefined) return;
    group.policy = policy;
    if (group.scan === 'none') return;
    if (group.scan === 'running') group.rescan = true;
    else {
      group.scan = 'running';
      group.scanFrom = 0;
    }
    this.scanning.add(group);
  }

  /** When an unused group falls due: dropped, unless somebody waits or a lease is live. */
  dropIfIdle(group: DeliveryGroup, nowMs: number): void {
    const used = isWaitedFor(group) || group.pinned.size > 0 || group.held > 0;
    const idleAtMs = used ? nowMs + IDLE_MS : group.usedAtMs + IDLE_MS;
    if (idleAtMs > nowMs) this.due.set(group, idleAtMs);
    else this.drop(group);
  }

  /**
   * Too many groups: the oldest go before their time, unless somebody waits. Live leases do not
   * keep a group, or pops with ever new names would never be bounded; they are read again from
   * their rows (`leaseLive`). A group used in this very turn stays: the turn may hold it.
   */
  #dropEarly(nowMs: number): void {
    let looks = DROP_LOOKS;
    for (const group of this.#byAge) {
      if (looks-- === 0) return;
      const sparedMs = group.scan === 'none' ? 0 : DROP_SPARES_MS;
      const used = group.usedAtMs + sparedMs >= nowMs;
      if (used || isWaitedFor(group) || group.pinned.size > 0 || isGraced(group)) {
        this.#byAge.delete(group);
        this.#byAge.add(group);
        continue;
      }
      this.dropWithLeases(group);
    }
  }

  /**
   * The partition may have messages for the group: it joins the line, unless it is held or delayed.
   */
  arm(group: DeliveryGroup, partition: number): void {
    const known = group.statuses.get(partition);
    if (known !== undefined) {
      if (known.state === 'idle') this.makeReady(known);
      else if (known.state === 'ready' && group.minPopWaitMs > 0) this.rouse(known);
      return;
    }
    const pinned = group.pinned.has(partition);
    if (group.scan === 'none' && !pinned) return;
    if (group.ready.size >= this.limits.readyMax && !pinned) {
      if (group.scan === 'running') group.rescan = true;
      else {
        group.scan = 'running';
        group.scanFrom = 0;
      }
      return;
    }
    this.makeReady(this.status(group, partition));
  }

  /** Something changed about a partition that is ready: a pop that gathers may be served now. */
  rouse(status: PartitionStatus): void {
    const { group } = status;
    if (group.pinned.has(status.partition)) group.pinnedReady.add(status);
    if (isWaitedFor(group) || group.pinnedReady.size > 0) this.woken.add(group);
  }

  makeReady(status: PartitionStatus): void {
    const { group } = status;
    this.#leave(status);
    status.state = 'ready';
    group.ready.push(status);
    if (group.pinned.has(status.partition)) group.pinnedReady.add(status);
    if (isWaitedFor(group) || group.pinnedReady.size > 0) this.woken.add(group);
  }

  hold(status: PartitionStatus, leaseId: string, endsMs: number): void {
    this.#leave(status);
    status.state = 'held';
    if (status.leaseId !== leaseId) status.graced = false;
    status.leaseId = leaseId;
    status.leaseEndsMs = endsMs;
    status.group.held++;
    this.due.set(status, endsMs);
  }

  /** Looked at again at `dueMs`. */
  delay(status: PartitionStatus, dueMs: number): void {
    this.#leave(status);
    status.state = 'delayed';
    this.due.set(status, dueMs);
  }

  forget(status: PartitionStatus): void {
    this.#leave(status);
    if (status.group.statuses.delete(status.partition)) this.#unloaded++;
    this.#resumeScan(status.group);
  }

  /** A lease has ended or the delay is over. */
  wake(status: PartitionStatus): void {
    const { group } = status;
    if (group.scan === 'none' && !group.pinned.has(status.partition)) this.forget(status);
    else this.makeReady(status);
  }

  status(group: DeliveryGroup, partition: number): PartitionStatus {
    const known = group.statuses.get(partition);
    if (known !== undefined) return known;
    const status: PartitionStatus = {
      kind: 'partition',
      group,
      partition,
      state: 'idle',
      leaseId: '',
      leaseEndsMs: 0,
      graced: false,
      dueMs: 0,
      heapAt: -1,
      previous: null,
      next: null,
      linked: false,
    };
    group.statuses.set(partition, status);
    this.#loaded++;
    return status;
  }

  /** Takes the status out of the line while its partition is looked at. */
  take(status: PartitionStatus): void {
    this.#leave(status);
    this.#resumeScan(status.group);
  }

  /** Whether the lease on record of this cursor is live. The first sight of it fixes its end. */
  leaseLive(draft: Draft, group: DeliveryGroup, partition: number, lease: LeaseState): boolean {
    const known = group.statuses.get(partition);
    if (known !== undefined && known.leaseId === lease.id) {
      const live = known.leaseEndsMs > draft.nowMs;
      if (live && known.state !== 'held') this.hold(known, lease.id, known.leaseEndsMs);
      return live;
    }
    const graceMs = lease.grantedBy === draft.surroundings.nodeId ? 0 : this.#leaseGraceMs;
    let endsMs = draft.nowMs + Math.ceil((lease.expiresAtUs - draft.nowUs) / 1000) + graceMs;
    if (this.#forgottenUntilMs > draft.nowMs) {
      // It may be one that was forgotten, and the wall clock may have leapt ahead since.
      const firstUs = lease.expiresAtUs - this.#clockDifferenceUs;
      const latestMs = Math.ceil(firstUs / 1000) + graceMs;
      endsMs = Math.max(endsMs, Math.min(latestMs, this.#forgottenUntilMs));
    }
    if (endsMs <= draft.nowMs) return false;
    this.hold(this.status(group, partition), lease.id, endsMs);
    return true;
  }

  #leave(status: PartitionStatus): void {
    const { group } = status;
    if (status.state === 'held') group.held--;
    if (status.state === 'ready') {
      group.ready.remove(status);
      group.pinnedReady.delete(status);
      // The next in line comes within reach of a pop that gathers, and may fill it.
      if (group.minPopWaitMs > 0 && isWaitedFor(group)) this.woken.add(group);
    }
    this.due.remove(status);
    status.state = 'idle';
  }

  #resumeScan(group: DeliveryGroup): void {
    if (group.scan !== 'running' || group.ready.size >= this.limits.readyLow) return;
    this.scanning.add(group);
  }
}

/** Pops wait for any partition of the group. */
export function isWaitedFor(group: DeliveryGroup): boolean {
  return group.waiters.size > 0 || group.lines.length > 0;
}

/** Its row could not tell the end of such a lease again; only leases of earlier leaders are. */
function isGraced(group: DeliveryGroup): boolean {
  for (const status of group.statuses.values()) if (status.graced) return true;
  return false;
}
