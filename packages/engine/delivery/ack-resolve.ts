/**
 * From a transaction id to the message that an acknowledgement means (message-plane 4.1, step 3).
 */
import { messageId, parseMessageId } from '@svc/wire';
import { decodeAppend } from '../base/append.js';
import { findAppend } from '../base/append-search.js';
import { ACK_WINDOW_SECONDS_MIN } from '../base/delivery-limits.js';
import type { AppendRow, PartitionRow } from '../base/rows.js';
import type { Draft } from '../draft/draft.js';
import { findImplicit } from '../draft/duplicate.js';

export const NOT_FOUND = -1;

export interface Resolution {
  /** The lowest offset in range that carries the id, or NOT_FOUND. */
  readonly offset: number;
  /** The id occurs at or below the cursor. */
  readonly below: boolean;
}

const NOWHERE: Resolution = { offset: NOT_FOUND, below: false };

/** Where the ids of one ack target are looked for. */
export interface AckRange {
  readonly committed: number;
  /**
   * `first..last`, inclusive; below `first`, but above the cursor, retention removed everything.
   */
  readonly first: number;
  readonly last: number;
  /**
   * The first offset that the lease delivered: `first`, or the last one alone where last values are
   * delivered. An id that several messages carry means the delivered one.
   */
  readonly delivered: number;
  /** `delivered..last` is what a lease delivered: few enough messages to ask the log itself. */
  readonly leased: boolean;
}

export class Resolver {
  /** The draft of the turn that asks. */
  #draft: Draft;
  readonly #partition: PartitionRow;
  readonly #range: AckRange;
  #purged: Map<string, number> | null = null;
  /**
   * One look for each id: where deduplication is off, a hundred thousand messages may carry one
   * id, and a call may name it ten thousand times. Most targets name one, which
   * needs no map.
   */
  #known: Map<string, Resolution> | null = null;
  #firstId: string | null = null;
  #first: Resolution = NOWHERE;
  /** The append of the last minted id: the next one is most often of the same. */
  #append: { readonly baseOffset: number; readonly row: AppendRow } | undefined;

  constructor(draft: Draft, partition: PartitionRow, range: AckRange) {
    this.#draft = draft;
    this.#partition = partition;
    this.#range = range;
  }

  /** Another turn asks on. */
  goOn(draft: Draft): void {
    this.#draft = draft;
  }

  /** The empty id stands for a missing one and resolves to nothing. */
  resolve(id: string): Resolution {
    if (id === '') return NOWHERE;
    if (id === this.#firstId) return this.#first;
    const known = this.#known?.get(id);
    if (known !== undefined) return known;
    const found = this.#find(id);
    if (this.#firstId === null) {
      this.#firstId = id;
      this.#first = found;
      return found;
    }
    this.#known ??= new Map();
    this.#known.set(id, found);
    return found;
  }

  #find(id: string): Resolution {
    const { committed, first, last, delivered, leased } = this.#range;
    // No client can supply a minted id before it was minted: a copy of it has a higher offset.
    const minted = this.#minted(id);
    if (minted >= first && minted <= last) return { offset: minted, below: false };
    let below = minted !== NOT_FOUND && minted <= committed;
    let superseded = NOT_FOUND;
    for (const { offset } of this.#draft.transactions.find(this.#partition.number, id)) {
      if (offset > last) break;
      if (offset >= delivered) return { offset, below };
      if (offset <= committed) below = true;
      else if (offset >= first && superseded === NOT_FOUND) superseded = offset;
    }
    if (superseded !== NOT_FOUND) return { offset: superseded, below };
    if (below || !leased) return { offset: NOT_FOUND, below };
    return { offset: this.#inLog(id), below: false };
  }

  /** The offset of the message whose id the broker minted as `id`, without a look at any index. */
  #minted(id: string): number {
    const parsed = parseMessageId(id);
    const { number } = this.#partition;
    if (parsed === null || !parsed.implicit || parsed.partition !== number) return NOT_FOUND;
    const { offset } = parsed;
    if (offset < this.#partition.logStart || offset >= this.#partition.nextOffset) {
      return findImplicit(this.#draft.state, this.#partition, id)?.offset ?? NOT_FOUND;
    }
    let append = this.#append;
    if (
      append === undefined ||
      offset < append.baseOffset ||
      offset >= append.baseOffset + append.row.count
    ) {
      append = findAppend(this.#draft.state, number, offset);
      this.#append = append;
    }
    // Ids are compared as text: another spelling of the same UUID is another transaction id.
    if (append === undefined) return NOT_FOUND;
    return messageId(append.row.stampUs, number, true, offset) === id ? offset : NOT_FOUND;
  }

  /**
   * The index forgets ids after the ack window, but a message can be delivered long after that.
   * Then the leased appends themselves are read, once per target, and only those old enough to be
   * forgotten: an ack that names a thousand unknown ids must not read the log a thousand times.
   */
  #inLog(id: string): number {
    if (this.#purged === null) this.#purged = this.#readPurged();
    return this.#purged.get(id) ?? NOT_FOUND;
  }

  #readPurged(): Map<string, number> {
    const draft = this.#draft;
    const found = new Map<string, number>();
    const knownSinceUs = draft.nowUs - ACK_WINDOW_SECONDS_MIN * 1_000_000;
    const { delivered, last } = this.#range;
    let offset = Math.max(delivered, this.#partition.logStart);
    while (offset <= last) {
      const append = findAppend(draft.state, this.#partition.number, offset);
      if (append === undefined || append.row.stampUs >= knownSinceUs) break;
      const { baseOffset, count, transactionIds } = decodeAppend(draft.readAppend(append.row));
      const end = Math.min(baseOffset + count, last + 1);
      for (; offset < end; offset++) {
        const own = transactionIds[offset - baseOffset] ?? null;
        if (own !== null && !found.has(own)) found.set(own, offset);
      }
    }
    return found;
  }
}
