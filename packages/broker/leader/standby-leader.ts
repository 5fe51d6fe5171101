/**
 * The leadership of a standby: it logs what its source has logged, and nothing of its own.
 *
 * The job. Take entries of the source one by one (`mirror`), prove that they can be applied and
 * that they belong here (`MirrorPlan`), propose them; refuse every command of a client; and, when
 * asked, end this: `promote` logs the entry that makes the cluster an ordinary one.
 *
 * What must hold:
 * - Nothing is planned. What a client may not do at the source's moment, no job of the planner may
 *   do either: retention, timers and expiry of the source arrive as entries.
 * - Entries are proposed at the index they were judged for. One that finds another place ends this
 *   leadership, as it does for every leader. So nothing is proposed while consensus tells what is
 *   applied: of several proposals in that moment all but the first would be judged for a place that
 *   is taken. What becomes possible then is done in a turn of its own.
 * - The promotion is answered when it is applied here and `onPromoted` has put a planner in this
 *   leadership's place: whoever is told may write at once.
 * - No entry of the source follows the promotion. From the moment it is asked for none is taken.
 *
 * A plan that was spoiled by an entry it refused is made anew when nothing is in flight; until then
 * nothing is taken, and whoever has entries waits for `onRoom`.
 */
import {
  isStandby,
  MirrorPlan,
  type Outcome,
  type Refusal,
  type SourceAdmission,
  type SourceEntry,
  type SourcePosition,
  type StandbyRoleRow,
  type State,
  sourcePositionOf,
} from '@svc/engine';
import { noteNewHead } from '@svc/storage';
import type { Cancel, Clock } from '../system/clock.js';
import type { ProposedEntry, Proposer, Request } from './leader.js';

export interface StandbyLeaderOptions {
  readonly state: State;
  readonly proposer: Pick<Proposer, 'nextIndex' | 'accepting' | 'propose'>;
  readonly clock: Pick<Clock, 'wallUs' | 'soon'>;
  /** Entries between proposing and applying. */
  readonly pipelineMax: number;
  /** The newest catalogue version that every member reads; null: not every member has said. */
  readonly readByAll: () => number | null;
  /** False: the volume of a member is full, and what is logged is stored on each. */
  readonly hasSpace: () => boolean;
  /** The role to begin with: the cluster is empty, or was. null: the state has it. */
  readonly begins: StandbyRoleRow | null;
  /** The promotion is applied: an ordinary leadership of the same term takes this one's place. */
  readonly onPromoted: () => void;
}

/** `full`: not now, `onRoom` says when. */
export type MirrorResult =
  | { readonly kind: 'proposed' }
  | { readonly kind: 'full' }
  | Exclude<SourceAdmission, { readonly kind: 'admitted' }>;

interface InFlight extends ProposedEntry {
  readonly bytes: number;
}

/** As the leader's: the memory of a full pipeline of the largest entries is bounded. */
const IN_FLIGHT_BYTES_MAX = 64 * 1024 * 1024;

/** What every command but a promotion gets from a standby (standby-link 4). */
export const STANDBY_REFUSAL: Refusal = {
  reason: 'standby',
  error:
    'this cluster is a standby: it replays its source and takes no writes until it is promoted',
};
const REFUSED: Outcome = { kind: 'refused', refusal: STANDBY_REFUSAL };
const PROMOTED: Outcome = { kind: 'promoted', wasStandby: true };

const FULL = { kind: 'full' } as const;
const MOVED = { kind: 'moved' } as const;
const NO_SPACE = { kind: 'waits', error: 'a volume of this standby is full' } as const;

export class StandbyLeader {
  readonly #options: StandbyLeaderOptions;
  /** There is room again for entries of the source. */
  onRoom: () => void = () => {};
  #plan: MirrorPlan;
  /** Taken when proposals are accepted. */
  #begins: StandbyRoleRow | null;
  /** The source's cluster, until the entry that names it is proposed. */
  #met: string | null = null;
  readonly #inFlight: InFlight[] = [];
  #inFlightBytes = 0;
  /** These asked for the promotion, which is not proposed yet. */
  #promoters: Request[] = [];
  #promotionIndex: number | null = null;
  #cancelTurn: Cancel | null = null;
  #stopped = false;

  constructor(options: StandbyLeaderOptions) {
    this.#options = options;
    this.#plan = new MirrorPlan(options.state);
    this.#begins = options.begins;
    this.#wake();
  }

  // --- for whoever brings requests, as a `Leader` ------------------------------------------------

  get stopped(): boolean {
    return this.#stopped;
  }

  /** No client waits. Entries of the source may be in flight. */
  get idle(): boolean {
    return this.#promoters.length === 0 && this.#promotionIndex === null;
  }

  submit(request: Request): void {
    if (this.#stopped) return;
    if (request.command.kind !== 'promote') {
      request.onOutcome(REFUSED, 0, 0);
      return;
    }
    this.#promoters.push(request);
    this.#wake();
  }

  /** Nothing waits here that would not wait without it. */
  hurry(): void {}

  withdraw(): boolean {
    return false;
  }

  knows(): boolean {
    return false;
  }

  /** Proposals are taken again, or the state has room. */
  resume(): void {
    this.#wake();
  }

  committed(): void {}

  /** The entry at (index, term) has been applied to the state. */
  applied(index: number, term: number): void {
    this.#plan.applied(index);
    const first = this.#inFlight[0];
    if (first === undefined || first.index > index) return;
    if (first.index !== index || first.term !== term) {
      throw new Error(`entry ${first.index} of term ${first.term} applied as ${index} of ${term}`);
    }
    this.#inFlight.shift();
    this.#inFlightBytes -= first.bytes;
    if (index === this.#promotionIndex) this.#becomePrimary(first);
    else this.#wake();
  }

  /** Ends this leadership; what comes back was proposed, in order, and may yet be applied. */
  stop(): readonly ProposedEntry[] {
    this.#stopped = true;
    this.#cancelTurn?.();
    this.#promoters = [];
    return this.#inFlight;
  }

  // --- for the follower --------------------------------------------------------------------------

  /** Where this cluster will be when what is in flight is applied. */
  get position(): SourcePosition {
    return this.#plan.position;
  }

  /** Where it is, for good. */
  get appliedPosition(): SourcePosition {
    return sourcePositionOf(this.#options.state);
  }

  get inFlight(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.#inFlight.length, bytes: this.#inFlightBytes };
  }

  get role(): StandbyRoleRow {
    const role = this.#plan.role ?? this.#begins;
    if (role === null) throw new Error('a cluster without a role has no standby to lead');
    return this.#met === null ? role : { ...role, sourceCluster: this.#met };
  }

  /** Proposes an entry of the source; `previous`: the index of the source's entry before it. */
  mirror(previous: number, entry: SourceEntry): MirrorResult {
    const { proposer, readByAll, hasSpace } = this.#options;
    const comesFirst = this.#begins !== null || this.#met !== null;
    if (comesFirst || this.#promoters.length > 0 || !this.#mayPropose() || this.#isFull)
      return FULL;
    if (!hasSpace()) return NO_SPACE;
    const index = proposer.nextIndex;
    // Until every member has said, nothing newer than what each build reads is let in.
    const readable = readByAll() ?? 0;
    const verdict = this.#plan.admit(index, previous, entry, readable);
    if (verdict.kind !== 'admitted') return verdict;
    noteNewHead(entry.body, verdict.body, verdict.rest);
    return this.#propose(index, verdict.body, []) ? { kind: 'proposed' } : MOVED;
  }

  /** The first contact with the source: no other cluster is followed from now on. */
  noteSource(clusterId: string): void {
    if (this.role.sourceCluster !== null) return;
    this.#met = clusterId;
    if (this.#begins === null && this.#mayPropose()) this.#noteMet();
  }

  #noteMet(): void {
    if (this.#met === null || this.#stopped) return;
    const { role } = this;
    this.#met = null;
    this.#takeRole(role, []);
  }

  get #isFull(): boolean {
    const { pipelineMax } = this.#options;
    return this.#inFlight.length >= pipelineMax || this.#inFlightBytes >= IN_FLIGHT_BYTES_MAX;
  }

  // --- the log -----------------------------------------------------------------------------------

  #wake(): void {
    if (this.#cancelTurn !== null || this.#stopped) return;
    this.#cancelTurn = this.#options.clock.soon(() => {
      this.#cancelTurn = null;
      this.#goOn();
    });
  }

  /** Does what waits, and says that there is room. */
  #goOn(): void {
    if (!this.#mayPropose()) return;
    if (this.#begins !== null) {
      const role = this.#begins;
      this.#begins = null;
      this.#takeRole(role, []);
    }
    this.#noteMet();
    if (this.#promoters.length > 0) this.#promote();
    else if (!this.#isFull) this.onRoom();
  }

  /** Also sees to it that there is a plan that was not spoiled. */
  #mayPropose(): boolean {
    if (this.#stopped || this.#promotionIndex !== null) return false;
    if (!this.#options.proposer.accepting) return false;
    if (!this.#plan.isSpoiled) return true;
    if (this.#inFlight.length > 0) return false;
    this.#plan = new MirrorPlan(this.#options.state);
    return true;
  }

  #promote(): void {
    const promoters = this.#promoters;
    this.#promoters = [];
    const { nextIndex } = this.#options.proposer;
    const answers = promoters.map((ticket) => ({ ticket, outcome: PROMOTED }));
    const wallUs = this.#options.clock.wallUs();
    const { position, stampUs: atUs } = this.#plan;
    this.#promotionIndex = nextIndex;
    this.#takeRole({ ...this.role, role: 'promoted', position, wallUs, atUs }, answers);
  }

  #takeRole(row: StandbyRoleRow, answers: ProposedEntry['answers']): void {
    const { nextIndex } = this.#options.proposer;
    this.#propose(nextIndex, this.#plan.takeRole(nextIndex, row), answers);
  }

  #propose(index: number, body: Uint8Array, answers: ProposedEntry['answers']): boolean {
    const placed = this.#options.proposer.propose(body);
    if (placed === null || placed.index !== index) {
      // What was judged stands on entries that will never be.
      this.stop();
      return false;
    }
    this.#inFlight.push({ ...placed, answers, bytes: body.length });
    this.#inFlightBytes += body.length;
    return true;
  }

  /** Clients that asked while the promotion was in flight are answered with the others. */
  #becomePrimary({ answers, index, term }: ProposedEntry): void {
    if (isStandby(this.#options.state)) throw new Error('promoted, and a standby still');
    const late = this.#promoters;
    this.stop();
    this.#options.onPromoted();
    for (const { ticket } of answers) (ticket as Request).onOutcome(PROMOTED, index, term);
    for (const request of late) request.onOutcome(PROMOTED, index, term);
  }
}
