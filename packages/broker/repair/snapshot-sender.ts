/**
 * Serves the rows of this node's newest checkpoint to members that lack the log behind them, and to
 * standbys that begin with them. It answers questions and remembers little: a view of the rows as
 * they were at one moment, who reads it, and since when the log behind it has to stay.
 *
 * What must hold:
 * - All chunks of one name come from one view, so they are the rows of one moment. Receivers that
 *   begin about the same time share a view.
 * - The log from the first entry that this node had when a transfer began stays as long as the
 *   transfer is alive (`heldFrom`): rows without the entries behind them would be of no use. A
 *   transfer is alive while it asks, and for GRACE_MS after, in which its receiver opens its
 *   directory anew; never longer than TRANSFER_MS_MAX, so that a receiver that asks for ever does
 *   not keep the log for ever: it is told that its rows are gone, and has to begin anew.
 * - Members are served, and standbys of this cluster that its token lets in; any member may serve:
 *   whoever leads now, the view goes on.
 *
 * Bounds: TRANSFERS_MAX receivers; one chunk (SNAPSHOT_CHUNK_BYTES or one row) per question, and
 * one question at a time per receiver, so 4 MiB are on the way. A view that nobody asked for within
 * IDLE_MS is let go: the store keeps replaced pages for it.
 */
import type { NodeId } from '@svc/raft';
import type { BackingView } from '@svc/storage';
import {
  type FrameContent,
  SNAPSHOT_CHUNK_BYTES,
  type SnapshotAsk,
  type SnapshotName,
  type SnapshotRefusal,
} from '../peers/frames.js';
import type { Clock } from '../system/clock.js';

const TRANSFERS_MAX = 4;
/** Places for standbys among these, so that a member that lacks rows finds one. */
const STANDBYS_MAX = 2;
const IDLE_MS = 30_000;
const GRACE_MS = 60_000;
const TRANSFER_MS_MAX = 3_600_000;
/** A view this young is shared by who begins. */
const SHARED_MS = 10_000;
/** The same question again within this time was repeated on the way. */
const REPEATED_MS = 50;

export interface SnapshotSenderOptions {
  /** A view of the newest checkpoint; null when too many are open. */
  readonly openView: () => BackingView | null;
  readonly firstIndex: () => number;
  readonly isMember: (member: NodeId) => boolean;
  readonly send: (to: NodeId, content: FrameContent) => boolean;
  readonly clock: Clock;
}

/** A member, or a standby of this cluster by its name. */
export type Receiver = NodeId | string;

export type SnapshotAnswer = Extract<
  FrameContent,
  { readonly kind: 'snapshot-chunk' | 'snapshot-refused' }
>;

interface OpenView {
  readonly view: BackingView;
  /** The first entry of the log when it was opened. */
  readonly firstIndex: number;
  readonly openedMs: number;
  askedMs: number;
}

interface Transfer {
  readonly attempt: number;
  readonly startedMs: number;
  /** The first entry of the log when it began. */
  readonly firstIndex: number;
  askedMs: number;
  after: string | null;
  view: OpenView;
}

export class SnapshotSender {
  readonly #options: SnapshotSenderOptions;
  readonly #views: OpenView[] = [];
  /** The latest transfer of each receiver. */
  readonly #transfers = new Map<Receiver, Transfer>();
  /** By receiver, the attempt whose time ran out, kept until the receiver begins another. */
  readonly #ended = new Map<Receiver, number>();
  #chunks = 0;
  #bytes = 0;

  constructor(options: SnapshotSenderOptions) {
    this.#options = options;
  }

  get figures(): { readonly transfers: number; readonly chunks: number; readonly bytes: number } {
    return { transfers: this.#transfers.size, chunks: this.#chunks, bytes: this.#bytes };
  }

  /** Entries from here on must stay in the log; null when nobody is served. */
  get heldFrom(): number | null {
    let held: number | null = null;
    for (const { firstIndex } of this.#transfers.values()) {
      held = Math.min(held ?? firstIndex, firstIndex);
    }
    return held;
  }

  onAsk(from: NodeId, ask: SnapshotAsk): void {
    const { isMember, send } = this.#options;
    if (!isMember(from)) return;
    const answer = this.answer(from, ask);
    if (answer !== null) send(from, answer);
  }

  /** null: it was repeated on the way. */
  answer(receiver: Receiver, ask: SnapshotAsk): SnapshotAnswer | null {
    this.tick();
    const nowMs = this.#options.clock.nowMs();
    const before = this.#transfers.get(receiver);
    if (before !== undefined && isRepeated(before, ask, nowMs)) return null;
    const transfer = this.#transferOf(receiver, ask, nowMs);
    if (typeof transfer === 'string') return refused(ask, transfer);
    return this.#portionOf(ask, transfer);
  }

  /** Lets go of what nobody asks for any more; to be called about once a second. */
  tick(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const [receiver, { attempt, askedMs, startedMs }] of this.#transfers) {
      const isTooLong = nowMs - startedMs > TRANSFER_MS_MAX;
      if (isTooLong) this.#ended.set(receiver, attempt);
      if (isTooLong || nowMs - askedMs > GRACE_MS) this.#transfers.delete(receiver);
    }
    for (const receiver of this.#ended.keys()) {
      const isGone = typeof receiver === 'number' && !this.#options.isMember(receiver);
      if (isGone) this.#ended.delete(receiver);
    }
    for (const open of [...this.#views]) {
      if (nowMs - open.askedMs > IDLE_MS) this.#close(open);
    }
  }

  /** Releases everything; the store may be closed afterwards. */
  stop(): void {
    for (const open of [...this.#views]) this.#close(open);
    this.#transfers.clear();
    this.#ended.clear();
  }

  #transferOf(from: Receiver, ask: SnapshotAsk, nowMs: number): Transfer | SnapshotRefusal {
    if (this.#ended.get(from) === ask.attempt) return 'gone';
    this.#ended.delete(from);
    const before = this.#transfers.get(from);
    const goesOn = before?.attempt === ask.attempt;
    if (before === undefined && !this.#hasPlace(from)) return 'busy';
    const view = ask.name === null ? this.#newest(nowMs) : this.#named(ask.name, nowMs);
    if (typeof view === 'string') return view;
    view.askedMs = nowMs;
    const transfer: Transfer = {
      attempt: ask.attempt,
      startedMs: goesOn ? before.startedMs : nowMs,
      firstIndex: goesOn ? before.firstIndex : this.#options.firstIndex(),
      askedMs: nowMs,
      after: ask.after,
      view,
    };
    this.#transfers.set(from, transfer);
    return transfer;
  }

  #hasPlace(from: Receiver): boolean {
    const receivers = [...this.#transfers.keys()];
    if (receivers.length >= TRANSFERS_MAX) return false;
    const isStandby = (one: Receiver) => typeof one === 'string';
    return !isStandby(from) || receivers.filter(isStandby).length < STANDBYS_MAX;
  }

  #newest(nowMs: number): OpenView | SnapshotRefusal {
    const young = this.#views.find((open) => {
      return nowMs - open.openedMs <= SHARED_MS && this.#hasLog(open);
    });
    return young ?? this.#open(nowMs);
  }

  #named(name: SnapshotName, nowMs: number): OpenView | SnapshotRefusal {
    const open = this.#views.find((one) => isNamed(one.view, name) && this.#hasLog(one));
    if (open !== undefined) return open;
    // After a restart, or at another member, the newest rows may be the very same.
    const opened = this.#open(nowMs);
    if (typeof opened === 'string') return opened;
    if (isNamed(opened.view, name)) return opened;
    this.#close(opened);
    return 'gone';
  }

  /** A full volume takes the log behind rows, whoever needs it: the rows may name what has gone. */
  #hasLog({ firstIndex }: OpenView): boolean {
    return firstIndex === this.#options.firstIndex();
  }

  #open(nowMs: number): OpenView | SnapshotRefusal {
    const view = this.#options.openView();
    if (view === null) return 'busy';
    const firstIndex = this.#options.firstIndex();
    if (view.applied.index < firstIndex - 1) {
      view.release();
      return 'not-ready';
    }
    const open: OpenView = { view, firstIndex, openedMs: nowMs, askedMs: nowMs };
    this.#views.push(open);
    return open;
  }

  #portionOf(ask: SnapshotAsk, transfer: Transfer): SnapshotAnswer {
    const { view } = transfer.view;
    const portion = view.rows(ask.after, SNAPSHOT_CHUNK_BYTES);
    if (portion === null) {
      this.#close(transfer.view);
      return refused(ask, 'gone');
    }
    const { index, term, digest, localDigest } = view.applied;
    this.#chunks++;
    for (const { key, value } of portion.rows) this.#bytes += key.length + value.length;
    return {
      kind: 'snapshot-chunk',
      attempt: ask.attempt,
      name: { index, term, digest, localDigest },
      after: ask.after,
      rows: portion.rows,
      isLast: portion.isLast,
    };
  }

  #close(open: OpenView): void {
    const at = this.#views.indexOf(open);
    if (at !== -1) this.#views.splice(at, 1);
    open.view.release();
  }
}

function isNamed({ applied }: BackingView, name: SnapshotName): boolean {
  return (
    applied.index === name.index &&
    applied.term === name.term &&
    applied.digest === name.digest &&
    applied.localDigest === name.localDigest
  );
}

function isRepeated(before: Transfer, ask: SnapshotAsk, nowMs: number): boolean {
  return (
    before.attempt === ask.attempt &&
    before.after === ask.after &&
    nowMs - before.askedMs < REPEATED_MS
  );
}

function refused({ attempt }: SnapshotAsk, reason: SnapshotRefusal): SnapshotAnswer {
  return { kind: 'snapshot-refused', attempt, reason };
}
