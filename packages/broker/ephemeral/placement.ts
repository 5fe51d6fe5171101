/**
 * Knows which nodes can hold rings, as this node sees it, and so which node owns which ring.
 *
 * A member counts while two things hold: raft hears it (its report is younger than the limit), and
 * it has said within that time that it serves, and is not leaving. Each node finds that out for
 * itself, so for a moment nodes may differ; nothing is passed on twice, so that costs a client an
 * `owner_moved` and never a loop.
 *
 * A node that has just begun sees nobody, and would take everything for its own: it is `settled`
 * when every other member counts, or has had time to. A node that hears a question whether it
 * serves, from one that does not count yet, asks back at once: so that one that comes is seen by
 * all within a round trip.
 *
 * Rejected: the membership alone. Its members may be down for days. Rejected: one view by
 * agreement, in the log: rings would stand still while there is no leader, and they need none.
 */
import { ownerOf, type RingPlace } from '@svc/ephemeral';
import type { PeerCalls } from '../peers/calls.js';
import type { Cancel, Clock } from '../system/clock.js';
import { questionParts, readAnswer } from './frames.js';

export interface PlacementOptions {
  /** The operator's number of this node. */
  readonly self: number;
  /** The number of this life of the node. */
  readonly epoch: number;
  readonly clock: Clock;
  /** null: there are no other nodes. */
  readonly calls: Pick<PeerCalls, 'call'> | null;
  /** Numbers of all members, this one too if it is one. */
  readonly members: () => readonly number[];
  /** How long ago raft heard the member; null: never. */
  readonly heardAgoMs: (node: number) => number | null;
  /** A member that is silent for longer owns nothing (SVC_EPHEMERAL_MEMBER_TTL_MS). */
  readonly silentMsMax: number;
  /** The nodes that count have changed, or this one is settled. */
  readonly onChange: () => void;
}

interface Peer {
  /** When it said last that it serves. */
  readyMs: number;
  epoch: number;
  asking: boolean;
}

const PROBE_MS = 1000;
/** How long a node that has said that it leaves does not count, unless it begins another life. */
const LEAVING_MS = 30_000;

export class EphemeralPlacement {
  readonly #options: PlacementOptions;
  readonly #peers = new Map<number, Peer>();
  /** By node: the life that leaves, and until when. */
  readonly #leaving = new Map<number, { readonly epoch: number; readonly untilMs: number }>();
  #live: readonly number[] = [];
  #servesSinceMs = Number.POSITIVE_INFINITY;
  #isLeaving = false;
  #settled = false;
  #cancel: Cancel = () => {};

  constructor(options: PlacementOptions) {
    this.#options = options;
  }

  /** This node serves from here on. */
  start(): void {
    const { clock, silentMsMax } = this.#options;
    this.#servesSinceMs = clock.nowMs();
    const everyMs = Math.min(PROBE_MS, silentMsMax / 4);
    this.#cancel = clock.every(everyMs, () => this.#tick());
    this.#tick();
  }

  stop(): void {
    this.#cancel();
    this.#servesSinceMs = Number.POSITIVE_INFINITY;
    this.#settled = false;
  }

  get serves(): boolean {
    return this.#servesSinceMs < Number.POSITIVE_INFINITY;
  }

  /** What it says of owners can be relied upon; from then on it stays so. */
  get settled(): boolean {
    return this.#settled;
  }

  /** Ascending. */
  get live(): readonly number[] {
    return this.#live;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** 0: nobody that this node knows. */
  owner({ tenant, queue, partition }: RingPlace): number {
    return ownerOf(tenant, queue, partition, this.#live);
  }

  owns(place: RingPlace): boolean {
    return this.owner(place) === this.#options.self;
  }

  /** This node owns nothing from here on, and the others are told. */
  leave(): void {
    const { calls, epoch } = this.#options;
    this.#isLeaving = true;
    const question = questionParts({ ask: 'leaving', epoch });
    for (const node of this.#others()) calls?.call(node, 'ephemeral', question, PROBE_MS, () => {});
    this.#look();
  }

  /** A member says that it leaves. */
  hearLeaving(node: number, epoch: number): void {
    this.#leaving.set(node, { epoch, untilMs: this.#options.clock.nowMs() + LEAVING_MS });
    this.#look();
  }

  /** A member asks whether this node serves. */
  hearQuestion(node: number): void {
    if (!this.serves || this.#live.includes(node) || !this.#others().includes(node)) return;
    this.#probe(node);
  }

  #others(): number[] {
    const { members, self } = this.#options;
    return [...new Set(members())].filter((node) => node !== self);
  }

  #tick(): void {
    for (const node of this.#others()) this.#probe(node);
    this.#look();
  }

  #probe(node: number): void {
    const { calls, clock } = this.#options;
    let peer = this.#peers.get(node);
    if (peer === undefined) {
      peer = { readyMs: Number.NEGATIVE_INFINITY, epoch: 0, asking: false };
      this.#peers.set(node, peer);
    }
    if (calls === null || peer.asking) return;
    const asked = peer;
    asked.asking = true;
    calls.call(node, 'ephemeral', questionParts({ ask: 'ready' }), PROBE_MS, (answer) => {
      asked.asking = false;
      if (!this.serves) return;
      if (typeof answer !== 'string') {
        // One that says that it does not serve is not waited for to fall silent.
        const epoch = epochOf(answer);
        asked.readyMs = epoch === null ? Number.NEGATIVE_INFINITY : clock.nowMs();
        asked.epoch = epoch ?? 0;
      }
      this.#look();
    });
  }

  #look(): void {
    const { self, members, onChange } = this.#options;
    const others = this.#others();
    for (const node of this.#peers.keys()) if (!others.includes(node)) this.#peers.delete(node);
    const live = others.filter((node) => this.#counts(node));
    if (this.serves && !this.#isLeaving && members().includes(self)) live.push(self);
    live.sort((one, other) => one - other);
    const isSame = live.length === this.#live.length && live.every((n, i) => n === this.#live[i]);
    this.#live = live;
    const isSettledNow = !this.#settled && this.#canSettle(others);
    if (isSettledNow) this.#settled = true;
    if (!isSame || isSettledNow) onChange();
  }

  #canSettle(others: readonly number[]): boolean {
    const { clock, silentMsMax } = this.#options;
    if (!this.serves) return false;
    const hadTime = clock.nowMs() - this.#servesSinceMs >= silentMsMax;
    return hadTime || others.every((node) => this.#live.includes(node));
  }

  #counts(node: number): boolean {
    const { clock, heardAgoMs, silentMsMax } = this.#options;
    const peer = this.#peers.get(node);
    const nowMs = clock.nowMs();
    if (peer === undefined || nowMs - peer.readyMs > silentMsMax) return false;
    const leaving = this.#leaving.get(node);
    if (leaving !== undefined) {
      if (leaving.untilMs > nowMs && leaving.epoch === peer.epoch) return false;
      this.#leaving.delete(node);
    }
    const heardMs = heardAgoMs(node);
    return heardMs !== null && heardMs <= silentMsMax;
  }
}

function epochOf(answer: Uint8Array): number | null {
  const said = readAnswer(answer)?.said;
  return said?.kind === 'ready' ? said.epoch : null;
}
