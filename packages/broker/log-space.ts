/**
 * Gives back the space of the log: decides up to where it is dead, and lets go of whole segments
 * below that, on every node alike.
 *
 * The leader finds the floor F: nobody needs an entry before it. That is the least of
 *
 * - the lowest entry that a row of the state refers to (`LogSurvey`, a few partitions at a time),
 * - the entry after what every live member holds; a member that has been silent holds the log for
 *   `purgeHoldMs`, and comes back by a snapshot if it is silent for longer,
 * - the first entry of the log when a snapshot transfer began that is still alive,
 *
 * less `keepEntries`, which spare a member that is a moment behind the snapshot. The leader tells
 * it to all (`log-floor`), because followers that purged by themselves would be no leaders for
 * those who lag: it would be a full snapshot after seconds of absence.
 *
 * Each node then removes what is below the floor AND before the entry after its own newest durable
 * checkpoint, which has to be at or after `asOf`: rows of an earlier state may still refer to what
 * is dead at `asOf`, and after a restart the node is back at its checkpoint. Its own transfers hold
 * its log as well, whoever leads.
 *
 * A floor that was told late, twice or by a former leader is still true: what no row of the state
 * at `asOf` refers to, no later row does. Only the part about members may be outdated, and then
 * some member needs a snapshot. So floors are taken from anyone who leads or led a term not older
 * than the newest heard, and no promise rests on it.
 *
 * What stays: the term of the entry before the first (the log keeps it) and the configuration as of
 * it (a row of the state, `memberships`), which an offer of a snapshot names.
 *
 * Cost: a step each STEP_MS looks at SURVEY_PARTITIONS, one ordered read each, some 5 ms; segments
 * are dropped as files, in steps of at least PURGE_STEP entries; nothing here runs in a commit.
 */
import { type LogNeed, LogSurvey, type State } from '@svc/engine';
import type { NodeId } from '@svc/raft';
import type { Cancel, Clock } from './clock.js';
import type { FrameContent, LogFloor } from './frames.js';

const STEP_MS = 500;
const SURVEY_PARTITIONS = 500;
/** As few as are worth the unlinking. */
const PURGE_STEP = 1024;
/** A floor that did not change is told again this often: the last one may have been lost. */
const REPEAT_MS = 5000;

/** A member as the leader sees it. */
export interface HoldingMember {
  readonly id: NodeId;
  readonly match: number;
  /** Since its last reply; Infinity before the first of this leadership. */
  readonly lastReplyAgeMs: number;
}

export interface LogSpaceSettings {
  readonly purgeHoldMs: number;
  readonly keepEntries: number;
  /** PURGE_STEP unless given; tests and the simulator have short logs. */
  readonly purgeStep?: number;
}

export interface LogSpaceOptions {
  readonly state: State;
  readonly log: {
    readonly firstIndex: number;
    removeBefore(index: number, done: () => void): void;
  };
  readonly clock: Clock;
  readonly settings: LogSpaceSettings;
  readonly appliedIndex: () => number;
  /** Of the newest durable checkpoint. */
  readonly checkpointIndex: () => number;
  /** The term this node leads and its other members; null when it does not lead. */
  readonly leading: () => {
    readonly term: number;
    readonly members: readonly HoldingMember[];
  } | null;
  /** Of the snapshot sender: entries from here on must stay. */
  readonly heldFrom: () => number | null;
  readonly send: (to: NodeId, content: FrameContent) => boolean;
}

export class LogSpace {
  readonly #options: LogSpaceOptions;
  #survey: LogSurvey;
  #need: LogNeed | null = null;
  /** The newest floor heard or found; 0 before the first. */
  #floor: LogFloor = { kind: 'log-floor', term: 0, floor: 0, asOf: 0 };
  #ledTerm: number | null = null;
  #ledSinceMs = 0;
  #toldMs = Number.NEGATIVE_INFINITY;
  #stopStepping: Cancel | null = null;
  #removing = false;

  constructor(options: LogSpaceOptions) {
    this.#options = options;
    this.#survey = new LogSurvey(options.state);
  }

  /** The newest floor: entries before it are dead. */
  get floor(): number {
    return this.#floor.floor;
  }

  start(): void {
    this.#stopStepping = this.#options.clock.every(STEP_MS, () => this.step());
  }

  stop(): void {
    this.#stopStepping?.();
    this.#stopStepping = null;
  }

  onFloor(floor: LogFloor): void {
    if (this.#options.leading() !== null || floor.term < this.#floor.term) return;
    // One leader's floors only rise; a late one is no news.
    if (floor.term === this.#floor.term && floor.floor <= this.#floor.floor) return;
    this.#floor = floor;
    this.#purge();
  }

  step(): void {
    this.#lead();
    this.#purge();
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
      this.#ledSinceMs = nowMs;
      this.#toldMs = Number.NEGATIVE_INFINITY;
      this.#survey = new LogSurvey(this.#options.state);
      this.#need = null;
    }
    const need = this.#survey.step(SURVEY_PARTITIONS, appliedIndex());
    if (need !== null) this.#need = need;
    if (this.#need === null) return;
    const floor = this.#floorOf(this.#need, role.members, nowMs);
    const rises = floor > this.#floor.floor;
    if (rises) {
      this.#floor = { kind: 'log-floor', term: role.term, floor, asOf: this.#need.asOf };
    }
    if (rises || nowMs - this.#toldMs >= REPEAT_MS) this.#tell(role.term, role.members, nowMs);
  }

  #floorOf(need: LogNeed, members: readonly HoldingMember[], nowMs: number): number {
    const { settings, checkpointIndex, heldFrom } = this.#options;
    let floor = Math.min(need.floor, checkpointIndex() + 1, heldFrom() ?? Number.MAX_SAFE_INTEGER);
    for (const { match, lastReplyAgeMs } of members) {
      const silentMs = Math.min(lastReplyAgeMs, nowMs - this.#ledSinceMs);
      const isGone = lastReplyAgeMs > settings.purgeHoldMs && silentMs > settings.purgeHoldMs;
      if (!isGone) floor = Math.min(floor, match + 1);
    }
    return floor - settings.keepEntries;
  }

  #tell(term: number, members: readonly HoldingMember[], nowMs: number): void {
    if (this.#floor.floor <= 0) return;
    this.#toldMs = nowMs;
    const content: LogFloor = { ...this.#floor, term };
    for (const { id } of members) this.#options.send(id, content);
  }

  // --- every node's part -------------------------------------------------------------------------

  #purge(): void {
    const { log, checkpointIndex, heldFrom, settings } = this.#options;
    const { floor, asOf } = this.#floor;
    const checkpoint = checkpointIndex();
    if (this.#removing || checkpoint < asOf) return;
    const held = heldFrom() ?? Number.MAX_SAFE_INTEGER;
    const before = Math.min(floor, checkpoint + 1, held);
    if (before - log.firstIndex < (settings.purgeStep ?? PURGE_STEP)) return;
    this.#removing = true;
    log.removeBefore(before, () => {
      this.#removing = false;
    });
  }
}
