/**
 * The other members, as a node deals with them while it runs: who and where they are, whether their
 * states are alike, and to whom leadership goes when this node gives it up.
 */
import { members as membersOf, type NodeId, type Status } from '@svc/raft';
import type { Backing } from '@svc/storage';
import type { Membership } from '@svc/wire';
import type { Config } from '../config/config.js';
import { nodeNumber } from '../config/member-id.js';
import type { Clock } from '../system/clock.js';
import type { Consensus, MemberChangeDone } from './consensus.js';
import { DigestPoints } from './digest-points.js';
import { addressesAfter, encodeAddresses, type MemberAddresses } from './group-addresses.js';
import { StateDivergedError } from './group-faults.js';
import type { GroupLink } from './group-link.js';
import { type MemberChange, membershipView, successors } from './group-membership.js';

/** Leadership goes only to a voter that was heard within this time. */
const SUCCESSOR_HEARD_MS = 1000;
const HAND_OVER_MS_MAX = 3000;
/** How long one successor has before another is asked. */
const HAND_OVER_EACH_MS = 100;
const HAND_OVER_POLL_MS = 10;
/** A member that answered within this time counts as alive when the members are changed. */
const LIVE_WITHIN_MS_MIN = 1000;

export function liveWithinMs({ electionMs }: Config): number {
  return Math.max(2 * electionMs, LIVE_WITHIN_MS_MIN);
}

export interface GroupOptions {
  readonly self: NodeId;
  readonly config: Config;
  readonly clock: Clock;
  readonly consensus: Consensus;
  readonly addresses: MemberAddresses;
  readonly backing: Backing;
  /** null: there are no others. */
  readonly link: GroupLink | null;
  readonly onFatal: (error: Error) => void;
}

export class Group {
  readonly #options: GroupOptions;
  readonly #digests: DigestPoints;
  /** A member that answered within this time counts as alive. */
  readonly liveWithinMs: number;
  readonly promoteMaxLag: number;

  constructor(options: GroupOptions) {
    this.#options = options;
    this.liveWithinMs = liveWithinMs(options.config);
    this.promoteMaxLag = options.config.promoteMaxLag;
    this.#digests = new DigestPoints(options.self, () => this.#voters());
  }

  // --- who and where -----------------------------------------------------------------------------

  /** The members of the newest applied configuration; none before consensus starts. */
  members(): readonly NodeId[] {
    const status = this.#options.consensus.status();
    return status === null ? [] : membersOf(status.configuration);
  }

  #voters(): readonly NodeId[] {
    return this.#options.consensus.status()?.configuration.voters ?? [];
  }

  /** While the log is being repaired no configuration is known: requests are held. */
  get isMember(): boolean {
    return this.#options.consensus.status() === null || this.members().includes(this.#options.self);
  }

  /** null: this node does not lead. */
  leading(): Status | null {
    const { consensus } = this.#options;
    const status = consensus.isRunning ? consensus.status() : null;
    return status?.leading === true ? status : null;
  }

  /** null before consensus starts. */
  view(): Membership | null {
    const { consensus, addresses } = this.#options;
    const status = consensus.status();
    return status === null ? null : membershipView(status, addresses.get(), this);
  }

  change(
    change: MemberChange,
    expectedIndex: number,
    force: boolean,
    done: MemberChangeDone,
  ): void {
    const { changes, transition, added } = change;
    const { consensus, addresses } = this.#options;
    const context = encodeAddresses(addressesAfter(addresses.get(), added));
    consensus.changeMembers({ changes, transition, context }, expectedIndex, force, done);
  }

  unreachable(node: number): void {
    for (const member of this.members()) {
      if (nodeNumber(member) === node) this.#options.consensus.unreachable(member);
    }
  }

  // --- whether the states are alike --------------------------------------------------------------

  /** The newest durable checkpoint is the state after entry `index`. */
  tellDigest(index: number): void {
    const { self, link, backing } = this.#options;
    const { digest } = backing.applied;
    for (const member of this.members()) {
      if (member !== self) link?.sendContent(member, { kind: 'digest', index, digest });
    }
    this.hearDigest(self, index, digest);
  }

  hearDigest(from: NodeId, index: number, digest: string): void {
    const { self, backing, onFatal } = this.#options;
    const members = this.members();
    if (!members.includes(from)) return;
    this.#digests.keepOnly(members);
    const divergence = this.#digests.tell(from, index, digest);
    if (divergence === null) return;
    const error = new StateDivergedError(nodeNumber(self), divergence);
    backing.markDamaged(error.message);
    onFatal(error);
  }

  // --- who leads next ----------------------------------------------------------------------------

  /** Asks a voter to take over; false when none that is alive could. */
  passOn(): boolean {
    const { consensus } = this.#options;
    const [target] = this.#successors([]);
    if (target === undefined) return false;
    if (consensus.accepting) consensus.transfer(target);
    return true;
  }

  /**
   * Asks voters to take over, those that are `leaving` excepted, one after the other: the first may
   * be about to stop, too. `done` runs once this node does not lead, with who was asked last, or
   * with null when nobody took over in time.
   */
  handOver(leaving: readonly NodeId[], done: (to: NodeId | null) => void): void {
    const untilMs = this.#options.clock.nowMs() + HAND_OVER_MS_MAX;
    this.#handOver({ leaving, done, untilMs, asked: 0, to: null });
  }

  #handOver(giving: Giving): void {
    const { clock, consensus } = this.#options;
    const { leaving, done, untilMs, asked, to } = giving;
    if (this.leading() === null) {
      done(to);
      return;
    }
    const successors = this.#successors(leaving);
    const target = successors[asked % successors.length];
    const nowMs = clock.nowMs();
    if (target === undefined || nowMs >= untilMs) {
      done(null);
      return;
    }
    consensus.transfer(target);
    const againMs = nowMs + HAND_OVER_EACH_MS;
    const look = () => {
      if (this.leading() !== null && clock.nowMs() < againMs) clock.after(HAND_OVER_POLL_MS, look);
      else this.#handOver({ ...giving, asked: asked + 1, to: target });
    };
    look();
  }

  #successors(leaving: readonly NodeId[]): readonly NodeId[] {
    const status = this.#options.consensus.status();
    return status === null ? [] : successors(status, SUCCESSOR_HEARD_MS, leaving);
  }
}

interface Giving {
  readonly leaving: readonly NodeId[];
  readonly done: (to: NodeId | null) => void;
  readonly untilMs: number;
  readonly asked: number;
  readonly to: NodeId | null;
}
