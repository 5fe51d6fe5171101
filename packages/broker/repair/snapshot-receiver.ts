/**
 * Takes over the state of another member when the leader's log does not reach back to this node's.
 *
 * The job. The leader offers: "this stands for the log up to F - 1". The rows of a state at some
 * A >= F - 1 are pulled chunk by chunk into a second store beside the one in use, verified as a
 * whole, and put in place when the directory is opened anew (snapshot-install.ts). The entries from
 * F on come as ordinary appends. So the offer and the rows are two things: rows of any member will
 * do, and if the leader changes or gives up more of its log meanwhile, what was pulled stays good
 * as long as A is not before the newest offer's index.
 *
 * What may happen on the way:
 * - A question or a chunk is lost, repeated, late: every question names the key it goes on after,
 *   every chunk repeats it, and only the chunk that fits is taken. Silence is asked again.
 * - This node restarts: the second store knows the name of the rows and the last key it has. If
 *   they were complete already, they are received anew: nobody had decided to install them.
 * - The source is gone or has let go of the rows (`gone`): begin anew, with whoever offered last.
 *   A source that is only slow or deposed is kept: it is asked until it has been silent for
 *   SILENT_MS and somebody else has offered.
 * - The offer moved past A: the rows are too old. Begin anew.
 * - Heartbeats and votes go on in between; nothing here touches consensus.
 * - Ordinary appends caught this node up by themselves (another leader, whose log reaches back
 *   further): it is asked for at the end, and the rows are not used.
 * - This node is removed: no more offers; what is pulled to the end is installed and does no harm.
 * - The rows do not add up to the digest: thrown away, begun anew. They were wrong where they came
 *   from or on this disk, and the next source may be another.
 *
 * What must hold at the end: between `stillNeeded` and the reopening consensus learns nothing more
 * (the reset would drop what it acknowledges in between), so `onReceived` writes the marker and
 * stops the node in the same turn.
 *
 * Bounds: one transfer, one chunk on the way, one chunk being written.
 */
import type { NodeId } from '@svc/raft';
import { nodeNumber } from '../config/member-id.js';
import { type Incoming, SnapshotError } from '../directory/state-store.js';
import type {
  FrameContent,
  SnapshotChunk,
  SnapshotName,
  SnapshotRefused,
} from '../peers/frames.js';
import type { Cancel, Clock } from '../system/clock.js';

const RETRY_MS = 500;
/** After `busy` or `not-ready`. */
const REFUSED_RETRY_MS = 1000;
/** A source that says nothing for so long is given up for another one. */
const SILENT_MS = 5000;

/** What of the leader's snapshot message counts here. */
export interface SnapshotOffer {
  /** The leader that made it. */
  readonly from: NodeId;
  /** F - 1 and its term. */
  readonly index: number;
  readonly term: number;
}

/** What of `StateStore` a receiver needs. */
export interface IncomingStore {
  /** What has arrived so far, in an earlier life too. */
  received(): Incoming | null;
  /** Begins with these rows; what has arrived of any goes. */
  receive(name: SnapshotName, done: (incoming: Incoming) => void): void;
}

export interface SnapshotReceiverOptions {
  readonly store: IncomingStore;
  readonly send: (to: NodeId, content: FrameContent) => boolean;
  readonly clock: Clock;
  /** 0..2^32-1, drawn at random: answers to earlier attempts are recognised. */
  readonly drawAttempt: () => number;
  readonly report: (text: string) => void;
  /** Whether consensus still needs what was offered. */
  readonly stillNeeded: (offer: SnapshotOffer) => boolean;
  /** All rows are there and verified. Writes the marker and stops the node before it returns. */
  readonly onReceived: (offer: SnapshotOffer, name: SnapshotName) => void;
  /** The second store failed: the process has to end, as with any failed write. */
  readonly onFailure: (error: Error) => void;
}

interface Transfer {
  readonly source: NodeId;
  readonly attempt: number;
  /** null until the source has said what it has. */
  rows: Incoming | null;
  lastKey: string | null;
  heardMs: number;
  /** A chunk is being written, or all of it verified. */
  busy: boolean;
  cancel: Cancel;
}

export class SnapshotReceiver {
  readonly #options: SnapshotReceiverOptions;
  #offer: SnapshotOffer | null = null;
  #transfer: Transfer | null = null;
  #ended = false;

  constructor(options: SnapshotReceiverOptions) {
    this.#options = options;
  }

  /** A transfer is under way. */
  get active(): boolean {
    return this.#transfer !== null;
  }

  /** The leader offers a snapshot that consensus needs; repeated as often as it likes. */
  onOffer(offer: SnapshotOffer): void {
    if (this.#ended) return;
    this.#offer = offer;
    const transfer = this.#transfer;
    if (transfer === null) {
      this.#begin(offer);
      return;
    }
    if (transfer.busy) return;
    const isTooOld = transfer.rows !== null && transfer.rows.name.index < offer.index;
    const silentMs = this.#options.clock.nowMs() - transfer.heardMs;
    const isGone = transfer.source !== offer.from && silentMs >= SILENT_MS;
    if (isTooOld) this.#beginAnew('the leader has given up more of its log');
    else if (isGone) this.#changeSource(transfer, offer);
  }

  onChunk(from: NodeId, chunk: SnapshotChunk): void {
    const transfer = this.#transfer;
    if (this.#ended || transfer === null || transfer.busy) return;
    if (!isFrom(transfer, from, chunk.attempt)) return;
    if (chunk.after !== transfer.lastKey) return;
    transfer.heardMs = this.#options.clock.nowMs();
    const { rows } = transfer;
    if (rows === null) {
      this.#accept(transfer, chunk);
      return;
    }
    if (!sameName(rows.name, chunk.name)) return;
    if (chunk.rows.length === 0 && !chunk.isLast) return;
    transfer.cancel();
    transfer.busy = true;
    // The frame's memory belongs to whoever received it.
    const copies = chunk.rows.map(({ key, value }) => ({ key, value: new Uint8Array(value) }));
    rows.write(copies, (error) => {
      if (!this.#goesOn(transfer, error)) return;
      transfer.lastKey = chunk.rows.at(-1)?.key ?? transfer.lastKey;
      if (chunk.isLast) this.#finish(transfer, rows);
      else this.#ask(transfer);
    });
  }

  /** After a step of the second store: whether it succeeded and the transfer is still this one. */
  #goesOn(transfer: Transfer, error: Error | null): boolean {
    if (this.#ended || this.#transfer !== transfer) return false;
    transfer.busy = false;
    if (error === null) return true;
    if (error instanceof SnapshotError) this.#beginAnew(error.message);
    else {
      this.stop();
      this.#options.onFailure(error);
    }
    return false;
  }

  onRefused(from: NodeId, { attempt, reason }: SnapshotRefused): void {
    const transfer = this.#transfer;
    if (this.#ended || transfer === null || transfer.busy) return;
    if (!isFrom(transfer, from, attempt)) return;
    transfer.heardMs = this.#options.clock.nowMs();
    if (reason === 'gone') {
      this.#beginAnew(`node ${nodeNumber(from)} has let go of the rows`);
      return;
    }
    transfer.cancel();
    transfer.cancel = this.#options.clock.after(REFUSED_RETRY_MS, () => this.#ask(transfer));
  }

  /** What was received stays and is gone on with by the next life. */
  stop(): void {
    this.#ended = true;
    this.#transfer?.cancel();
    this.#transfer = null;
  }

  // --- transfers ---------------------------------------------------------------------------------

  #begin(offer: SnapshotOffer): void {
    const { store, report } = this.#options;
    const left = store.received();
    const rows = left !== null && left.name.index >= offer.index ? left : null;
    const from = `node ${nodeNumber(offer.from)}`;
    report(
      rows === null
        ? `taking over a snapshot from ${from}, whose log begins at entry ${offer.index + 1}`
        : `going on with the rows of a snapshot at entry ${rows.name.index}, from ${from}`,
    );
    this.#ask(this.#newTransfer(offer.from, rows));
  }

  #beginAnew(reason: string): void {
    const offer = this.#offer;
    this.#options.report(`the snapshot is begun anew: ${reason}`);
    this.#transfer?.cancel();
    this.#transfer = null;
    if (offer !== null) this.#ask(this.#newTransfer(offer.from, null));
  }

  /** The rows that are there stay good if the new source has the very same. */
  #changeSource(transfer: Transfer, offer: SnapshotOffer): void {
    const silent = nodeNumber(transfer.source);
    this.#options.report(`node ${silent} is silent; asking node ${nodeNumber(offer.from)}`);
    transfer.cancel();
    this.#ask(this.#newTransfer(offer.from, transfer.rows));
  }

  #newTransfer(source: NodeId, rows: Incoming | null): Transfer {
    const transfer: Transfer = {
      source,
      attempt: this.#options.drawAttempt(),
      rows,
      lastKey: rows?.lastKey ?? null,
      heardMs: this.#options.clock.nowMs(),
      busy: false,
      cancel: () => {},
    };
    this.#transfer = transfer;
    return transfer;
  }

  #ask(transfer: Transfer): void {
    if (this.#ended || this.#transfer !== transfer) return;
    const { send, clock } = this.#options;
    const { attempt, rows, lastKey: after } = transfer;
    transfer.cancel();
    send(transfer.source, { kind: 'snapshot-ask', attempt, name: rows?.name ?? null, after });
    transfer.cancel = clock.after(RETRY_MS, () => this.#ask(transfer));
  }

  /** The first chunk says which rows these are; they begin to be received. */
  #accept(transfer: Transfer, { name }: SnapshotChunk): void {
    // Older than the log it goes with: the source's next checkpoint will do.
    if (name.index < (this.#offer?.index ?? 0)) return;
    transfer.cancel();
    transfer.busy = true;
    this.#options.store.receive(name, (rows) => {
      if (!this.#goesOn(transfer, null)) return;
      transfer.rows = rows;
      this.#ask(transfer);
    });
  }

  #finish(transfer: Transfer, rows: Incoming): void {
    transfer.busy = true;
    rows.finish((error) => {
      if (this.#goesOn(transfer, error)) this.#complete(rows.name);
    });
  }

  #complete(name: SnapshotName): void {
    const { stillNeeded, onReceived, report } = this.#options;
    const offer = this.#offer;
    if (offer === null) return;
    if (name.index < offer.index) {
      this.#beginAnew('the leader has given up more of its log');
      return;
    }
    if (!stillNeeded(offer)) {
      report('the log has caught up by itself; the snapshot is not needed any more');
      this.#transfer = null;
      return;
    }
    report(`all rows of the snapshot at entry ${name.index} are here; opening anew with them`);
    this.stop();
    onReceived(offer, name);
  }
}

/** A source may have been asked by its number alone: it answers with its full name. */
function isFrom(transfer: Transfer, from: NodeId, attempt: number): boolean {
  return attempt === transfer.attempt && nodeNumber(from) === nodeNumber(transfer.source);
}

function sameName(one: SnapshotName, other: SnapshotName): boolean {
  return (
    one.index === other.index &&
    one.term === other.term &&
    one.digest === other.digest &&
    one.localDigest === other.localDigest
  );
}
