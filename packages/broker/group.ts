/**
 * The other members, as a node deals with them while it runs: who and where they are, whether their
 * states are alike, and to whom leadership goes when this node gives it up.
 */
import { membershipAt, type State } from '@svc/engine';
import { decodeConfiguration, members as membersOf, type NodeId } from '@svc/raft';
import type { Backing } from '@svc/storage';
import type { Clock } from './clock.js';
import type { Config } from './config.js';
import type { Peer } from './config-peers.js';
import type { Consensus, MemberChangeDone } from './consensus.js';
import { DigestPoints } from './digest-points.js';
import { addressesAfter, decodeAddresses, encodeAddresses } from './group-addresses.js';
import { StateDivergedError } from './group-faults.js';
import type { GroupLink } from './group-link.js';
import {
  bestSuccessor,
  type MemberChange,
  type MembershipView,
  membershipView,
} from './group-membership.js';
import { nodeNumber } from './member-id.js';

/** Leadership goes only to a voter that was heard within this time. */
const SUCCESSOR_HEARD_MS = 1000;
const HAND_OVER_MS_MAX = 3000;
const HAND_OVER_POLL_MS = 10;

export interface GroupOptions {
  readonly self: NodeId;
  readonly config: Config;
  readonly clock: Clock;
  readonly consensus: Consensus;
  readonly state: State;
  readonly appliedIndex: () => number;
  readonly backing: Backing;
  /** null: there are no others. */
  readonly link: GroupLink | null;
  readonly onFatal: (error: Error) => void;
}

export class Group {
  readonly #options: GroupOptions;
  readonly #digests: DigestPoints;
  #addresses: { readonly index: number; readonly peers: readonly Peer[] } | null = null;

  constructor(options: GroupOptions) {
    this.#options = options;
    this.#digests = new DigestPoints(options.self, () => this.#voters());
  }

  // --- who and where -----------------------------------------------------------------------------

  /** Of the newest applied configuration; none before consensus starts. */
  members(): readonly NodeId[] {
    const status = this.#options.consensus.status();
    return status === null ? [] : membersOf(status.configuration);
  }

  #voters(): readonly NodeId[] {
    return this.#options.consensus.status()?.configuration.voters ?? [];
  }

  /** As the newest applied configuration says. */
  addresses(): readonly Peer[] {
    const { state, appliedIndex, config } = this.#options;
    const known = membershipAt(state, appliedIndex());
    if (known === undefined) return config.peers;
    if (this.#addresses?.index !== known.index) {
      const { context } = decodeConfiguration(known.data);
      this.#addresses = { index: known.index, peers: decodeAddresses(context) };
    }
    return this.#addresses.peers;
  }

  view(): MembershipView | null {
    const { consensus, config } = this.#options;
    const status = consensus.status();
    if (status === null) return null;
    return membershipView(status, this.addresses(), config.promoteMaxLag);
  }

  change(
    change: MemberChange,
    expectedIndex: number,
    force: boolean,
    done: MemberChangeDone,
  ): void {
    const { changes, transition, added } = change;
    const context = encodeAddresses(addressesAfter(this.addresses(), added, changes));
    const { consensus } = this.#options;
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
    const status = consensus.status();
    const target = status === null ? null : bestSuccessor(status, SUCCESSOR_HEARD_MS);
    if (target === null) return false;
    if (consensus.accepting) consensus.transfer(target);
    return true;
  }

  /** Asks until `leads` is false; false when it came to nothing in time. */
  async handOver(leads: () => boolean): Promise<boolean> {
    const { clock } = this.#options;
    const untilMs = clock.nowMs() + HAND_OVER_MS_MAX;
    while (leads()) {
      if (clock.nowMs() >= untilMs || !this.passOn()) return false;
      await new Promise<void>((resolve) => void clock.after(HAND_OVER_POLL_MS, resolve));
    }
    return true;
  }
}
