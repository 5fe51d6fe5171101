/**
 * Gives back the space of the log: decides up to where it is dead, and lets go of whole segments
 * below that, on every node alike.
 *
 * The leader finds the floor F: nobody needs an entry before it. That is the least of
 *
 * - the oldest stretch of the log that an append row names (engine/log-use.ts: one read),
 * - the entry after what each member holds. A member that lacks something and has acknowledged
 *   nothing new for `purgeHoldMs`, because it is gone, cut off or stuck, holds nothing any more: it
 *   comes back by a snapshot. One that is slow but goes on holds what it lacks, however much that
 *   is, until space is short; then nobody who is behind holds anything,
 * - the first entry of the log when a snapshot transfer began that is still alive, unless a volume
 *   is full: no writes come then, and the receiver, which begins anew, finds a log that stays,
 * - the entry that a standby of this cluster has applied, unless this node keeps its log for none
 *   of them any more (standby/hold-keeper.ts),
 *
 * less `keepEntries`, which spare a member that is a moment behind the snapshot, unless space is
 * short or the log is too long already (log/budget.ts). The leader tells it to all (`log-floor`),
 * because followers that purged by themselves would be no leaders for those who lag: it would be a
 * full snapshot after seconds of absence.
 *
 * Each node then removes what is below the floor AND before the entry after its own newest durable
 * checkpoint, which has to be at or after `asOf`: rows of an earlier state may still refer to what
 * is dead at `asOf`, and after a restart the node is back at its checkpoint. Its own transfers, and
 * the standbys that read it, hold its log as well, whoever leads. Under load there is a newer floor
 * with every step, and no checkpoint ever reaches the newest; so each node waits with one floor
 * until its checkpoint has reached it, and takes the newest one up only then.
 *
 * A floor that was told late, twice or by a former leader is still true: what no row of the state
 * at `asOf` refers to, no later row does. Only the part about members may be outdated, and then
 * some member needs a snapshot. So floors are taken from anyone who leads or led a term not older
 * than the newest heard, and no promise rests on it.
 *
 * A node alone keeps its whole log for as long as that is not too long: nobody could send it a
 * state that its disk has lost, but the log from the first entry on can rebuild it. That is a
 * second net under the state store, bought with disk, so it has the bound of the budget: a queue
 * that is written all day would otherwise fill any disk with what is dead. Once the first entry has
 * gone, the rest rebuilds nothing, and what is dead goes as in a group.
 *
 * What stays: the term of the entry before the first (the log keeps it) and the configuration as of
 * it (a row of the state, `memberships`), which an offer of a snapshot names.
 *
 * Cost: a step each STEP_MS is one ordered read, and a thousand rows for the budget; segments are
 * dropped as files, in steps of at least PURGE_STEP entries while there is space; what they held is
 * given back little by little, at once when space is short; nothing here runs in a commit.
 */
import { liveStretches, type State } from '@svc/engine';
import type { NodeId } from '@svc/raft';
import type { FrameContent, LogFloor } from '../peers/frames.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { LogBudget } from './budget.js';
import type { LogRelocation } from './relocation.js';

const STEP_MS = 500;
/** As few as are worth the unlinking. */
const PURGE_STEP = 1024;
/** A floor that did not change is told again this often: the last one may have been lost. */
const REPEAT_MS = 5000;
/** Dead entries that are damaged are given up if they were not repaired within this time. */
const REPAIR_MS = 10_000;

const NO_FLOOR: LogFloor = { kind: 'log-floor', term: 0, floor: 0, asOf: 0 };

/** A member as the leader sees it. */
export interface HoldingMember {
  readonly id: NodeId;
  readonly match: number;
}

/** Since when a member that lacks something has acknowledged nothing new. */
interface Standstill {
  match: number;
  sinceMs: number;
}

export interface LogSpaceSettings {
  readonly purgeHoldMs: number;
  readonly keepEntries: number;
  /** PURGE_STEP unless given; tests and the simulator have short logs. */
  readonly purgeStep?: number;
  /** STEP_MS unless given. */
  readonly stepMs?: number;
  /** For the budget and for the moves; tests and the simulator have short logs. */
  readonly slackBytes?: number;
  readonly bytesPerS?: number;
}

/**
 * Space on the volumes of the log: `short` from the low mark on, where nothing is refused yet;
 * `full` while any member refuses what would need more.
 */
export type SpaceLeft = 'enough' | 'short' | 'full';

export interface LogSpaceOptions {
  readonly state: State;
  readonly log: {
    readonly firstIndex: number;
    isDamagedBefore(index: number): boolean;
    /** Damage there is no loss, and those who gave the entries up cannot put it right. */
    buryBefore(index: number): void;
    removeBefore(index: number, done: () => void): void;
    hurrySpace(): void;
  };
  readonly clock: Clock;
  readonly budget: Pick<LogBudget, 'step' | 'isExceededFrom'>;
  /** Runs while this does. */
  readonly relocation: Pick<LogRelocation, 'start' | 'stop'>;
  readonly settings: LogSpaceSettings;
  /** No other node is there, nor will be in this life. */
  readonly alone: boolean;
  readonly space: () => SpaceLeft;
  readonly appliedIndex: () => number;
  /** The index of the newest durable checkpoint. */
  readonly checkpointIndex: () => number;
  /** The term this node leads and its other members; null when it does not lead. */
  readonly leading: () => {
    readonly term: number;
    readonly members: readonly HoldingMember[];
  } | null;
  /** `heldFrom`: entries from here on must stay in the log. null: there is nobody to send to. */
  readonly sender: { readonly heldFrom: number | null } | null;
  /** The same for what standbys read; null: nobody may follow this cluster. */
  readonly holds: { readonly heldFrom: number | null } | null;
  readonly send: (to: NodeId, content: FrameContent) => boolean;
}

export class LogSpace {
  readonly #options: LogSpaceOptions;
  /** The newest floor heard or found; 0 before the first. */
  #floor: LogFloor = NO_FLOOR;
  /** The one that the checkpoint has to reach next; null: it has reached the newest. */
  #awaited: LogFloor | null = null;
  /** The highest one that the checkpoint has reached. */
  #reached = 0;
  #ledTerm: number | null = null;
  /** Standstills of members in this leadership. */
  readonly #standstills = new Map<NodeId, Standstill>();
  #toldMs = Number.NEGATIVE_INFINITY;
  #stopStepping: Cancel | null = null;
  #removing = false;
  #damagedSinceMs: number | null = null;

  constructor(options: LogSpaceOptions) {
    this.#options = options;
  }

  /** The newest floor: entries before it are dead. */
  get floor(): number {
    return this.#floor.floor;
  }

  start(): void {
    this.#stopStepping = this.#options.clock.every(this.#options.settings.stepMs ?? STEP_MS, () =>
      this.step(),
    );
    this.#options.relocation.start();
  }

  stop(): void {
    this.#stopStepping?.();
    this.#stopStepping = null;
    this.#options.relocation.stop();
    // No tick gives it back any more, and a node that found no space stays up.
    this.#options.log.hurrySpace();
  }

  onFloor(floor: LogFloor): void {
    if (this.#options.leading() !== null || floor.term < this.#floor.term) return;
    // One leader's floors only rise; a late one is no news.
    if (floor.term === this.#floor.term && floor.floor <= this.#floor.floor) return;
    this.#setFloor(floor);
    this.#purge();
  }

  step(): void {
    const { alone, log, budget, space } = this.#options;
    if (space() !== 'enough') log.hurrySpace();
    budget.step();
    const isWhole = log.firstIndex === 1;
    if (alone && isWhole && !this.#isPressed()) return;
    this.#lead();
    this.#purge();
  }

  /** Dead entries that are kept cost too much. */
  #isPressed(): boolean {
    const { space, budget, log } = this.#options;
    return space() !== 'enough' || budget.isExceededFrom(log.firstIndex);
  }

  // --- the leader's part -------------------------------------------------------------------------

  #lead(): void {
    const { leading, appliedIndex, clock } = this.#options;
    const role = leading();
    if (role === null) {
      this.#ledTerm = null;
      return;
    }
    const nowMs = clock.nowMs();
    if (role.term !== this.#ledTerm) {
      this.#ledTerm = role.term;
      this.#standstills.clear();
      this.#toldMs = Number.NEGATIVE_INFINITY;
    }
    this.#watch(role.members, nowMs);
    const asOf = appliedIndex();
    const floor = this.#floorOf(asOf, role.members, nowMs);
    const rises = floor > this.#floor.floor;
    if (rises) this.#setFloor({ kind: 'log-floor', term: role.term, floor, asOf });
    if (rises || nowMs - this.#toldMs >= REPEAT_MS) this.#tell(role.term, role.members, nowMs);
  }

  /** One that lacks nothing begins to hold with the next entry, not with the time it was idle. */
  #watch(members: readonly HoldingMember[], nowMs: number): void {
    const applied = this.#options.appliedIndex();
    for (const { id, match } of members) {
      const known = this.#standstills.get(id);
      if (known?.match === match && match < applied) continue;
      this.#standstills.set(id, { match, sinceMs: nowMs });
    }
    if (this.#standstills.size <= members.length) return;
    const ids = new Set(members.map(({ id }) => id));
    for (const id of this.#standstills.keys()) if (!ids.has(id)) this.#standstills.delete(id);
  }

  /** The floor of the state after entry `asOf`, which is the one that is applied. */
  #floorOf(asOf: number, members: readonly HoldingMember[], nowMs: number): number {
    const { settings, state, checkpointIndex, space } = this.#options;
    const oldest = liveStretches(state, 0, 1)[0]?.firstIndex ?? asOf + 1;
    let floor = Math.min(oldest, asOf + 1, checkpointIndex() + 1, this.#heldFrom());
    if (space() === 'enough') {
      for (const { id, match } of members) {
        const sinceMs = this.#standstills.get(id)?.sinceMs ?? nowMs;
        if (nowMs - sinceMs <= settings.purgeHoldMs) floor = Math.min(floor, match + 1);
      }
    }
    return floor - (this.#isPressed() ? 0 : settings.keepEntries);
  }

  #heldFrom(): number {
    const { sender, holds, space } = this.#options;
    const sending = (space() === 'full' ? null : sender?.heldFrom) ?? Number.MAX_SAFE_INTEGER;
    return Math.min(sending, holds?.heldFrom ?? Number.MAX_SAFE_INTEGER);
  }

  #tell(term: number, members: readonly HoldingMember[], nowMs: number): void {
    if (this.#floor.floor <= 0) return;
    this.#toldMs = nowMs;
    const content: LogFloor = { ...this.#floor, term };
    for (const { id } of members) this.#options.send(id, content);
  }

  // --- every node's part -------------------------------------------------------------------------

  #setFloor(floor: LogFloor): void {
    this.#floor = floor;
    this.#awaited ??= floor;
  }

  #purge(): void {
    const { log, checkpointIndex, settings } = this.#options;
    const checkpoint = checkpointIndex();
    while (this.#awaited !== null && checkpoint >= this.#awaited.asOf) {
      this.#reached = Math.max(this.#reached, this.#awaited.floor);
      this.#awaited = this.#awaited === this.#floor ? null : this.#floor;
    }
    if (this.#removing) return;
    const before = Math.min(this.#reached, checkpoint + 1, this.#heldFrom());
    this.#bury(before);
    const step = this.#isPressed() ? 1 : (settings.purgeStep ?? PURGE_STEP);
    if (before - log.firstIndex < step) return;
    this.#removing = true;
    log.removeBefore(before, () => {
      this.#removing = false;
    });
  }

  /** Others may still have what is damaged here, so repair goes first. */
  #bury(before: number): void {
    const { log, clock } = this.#options;
    if (!log.isDamagedBefore(before)) {
      this.#damagedSinceMs = null;
      return;
    }
    const nowMs = clock.nowMs();
    this.#damagedSinceMs ??= nowMs;
    if (nowMs - this.#damagedSinceMs >= REPAIR_MS) log.buryBefore(before);
  }
}
