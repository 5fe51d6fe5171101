/**
 * The bytes of a source's answer to a read (standby-link 9):
 *
 *     answer := head piece* end
 *     head   := mark u32 | version u8 | kind u8 | zero u16 | cluster id 16 bytes | applied u64
 *             | purged u64 | term u64 | crc u32
 *     piece  := 1 u32 | index u64 | term u64 | length u32 | crc of the body u32 | crc u32 | body
 *     end    := 2 u32 | upto u64 | applied u64 | term u64 | crc u32
 *
 * Integers are big-endian. `crc` is over all bytes of the head, piece or end before it. A term with
 * all bits set says that the source's log does not reach the entry.
 *
 * `AnswerReader` takes the bytes in whatever pieces they come. What must hold, whatever they are:
 * - Nothing is handed on that is not whole and right: checksums, entries in ascending order after
 *   the one that was asked for, no entry in an answer that is none of entries, an end.
 * - It holds at most one entry, and makes room for it only after the checksum of its length was
 *   right and the length is not more than an entry may have.
 * - The first fault ends it: it names the fault and takes nothing more.
 *
 * The caller gives the checksum (CRC-32 as of zlib), for which Node has an instruction and pure
 * code has not.
 */

const MARK = 0x53_56_4c_41;
const VERSION = 1;
const HEAD_BYTES = 52;
/** The fixed part of an entry, and the whole end. */
export const PIECE_BYTES = 32;
const CLUSTER_BYTES = 16;
const ENTRY = 1;
const END = 2;
const KINDS = ['entries', 'purged', 'mismatch'] as const;
const TWO_32 = 2 ** 32;
const ALL_ONES = 0xffff_ffff;
const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;

export type Checksum = (bytes: Uint8Array) => number;

/** A committed entry of the source. */
export interface SourceEntry {
  readonly index: number;
  readonly term: number;
  readonly body: Uint8Array;
}

export interface AnswerHead {
  readonly kind: (typeof KINDS)[number];
  /** The source's cluster, as a UUID in lower case. */
  readonly clusterId: string;
  /** The last entry that the answering node has applied. */
  readonly applied: number;
  /** The last entry that it gave up. */
  readonly purged: number;
  /** `mismatch`: of its entry at the place that was asked for, null: it has none. Else null. */
  readonly term: number | null;
}

export interface AnswerEnd {
  /** The answer covers the source's log up to this entry, which may be one of consensus. */
  readonly upto: number;
  /** The term of that entry; 0 when there is none. */
  readonly term: number;
  /** The last entry that the node has applied by now. */
  readonly applied: number;
}

export function encodeAnswerHead(head: AnswerHead, checksum: Checksum): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MARK);
  view.setUint8(4, VERSION);
  view.setUint8(5, KINDS.indexOf(head.kind));
  bytes.set(clusterBytes(head.clusterId), 8);
  setU64(view, 24, head.applied);
  setU64(view, 32, head.purged);
  if (head.term === null) bytes.fill(0xff, 40, 48);
  else setU64(view, 40, head.term);
  view.setUint32(HEAD_BYTES - 4, checksum(bytes.subarray(0, HEAD_BYTES - 4)));
  return bytes;
}

/** The body follows it. */
export function encodeEntryHead(entry: SourceEntry, checksum: Checksum): Uint8Array {
  const { bytes, view } = newPiece(ENTRY, entry.index, entry.term);
  view.setUint32(20, entry.body.length);
  view.setUint32(24, checksum(entry.body));
  return withChecksum(bytes, view, checksum);
}

export function encodeAnswerEnd(end: AnswerEnd, checksum: Checksum): Uint8Array {
  const { bytes, view } = newPiece(END, end.upto, end.applied);
  setU64(view, 20, end.term);
  return withChecksum(bytes, view, checksum);
}

function newPiece(mark: number, first: number, second: number) {
  const bytes = new Uint8Array(PIECE_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, mark);
  setU64(view, 4, first);
  setU64(view, 12, second);
  return { bytes, view };
}

function withChecksum(bytes: Uint8Array, view: DataView, checksum: Checksum): Uint8Array {
  view.setUint32(PIECE_BYTES - 4, checksum(bytes.subarray(0, PIECE_BYTES - 4)));
  return bytes;
}

export interface AnswerLimits {
  /** The entry that was asked from: all that come are after it. */
  readonly after: number;
  /** The longest body that an entry may have. */
  readonly entryBytesMax: number;
}

export interface AnswerHandlers {
  onHead(head: AnswerHead): void;
  /** The body is the handler's own. */
  onEntry(entry: SourceEntry): void;
  onEnd(end: AnswerEnd): void;
}

/** Which bytes are awaited next. */
type Awaited = 'head' | 'piece' | 'body' | 'nothing';

/** One answer. */
export class AnswerReader {
  readonly #limits: AnswerLimits;
  readonly #handlers: AnswerHandlers;
  readonly #checksum: Checksum;
  #awaited: Awaited = 'head';
  /** The part that is awaited, as far as it is there. */
  #bytes: Uint8Array = new Uint8Array(HEAD_BYTES);
  #filled = 0;
  #isOfEntries = false;
  /** Index and term of the entry whose body is awaited, and of the last one before. */
  #index: number;
  #term = 0;
  #bodyChecksum = 0;
  #fault: string | null = null;

  constructor(limits: AnswerLimits, handlers: AnswerHandlers, checksum: Checksum) {
    this.#limits = limits;
    this.#handlers = handlers;
    this.#checksum = checksum;
    this.#index = limits.after;
  }

  /** Bytes that wait for the rest of what they belong to. */
  get heldBytes(): number {
    return this.#bytes.length;
  }

  /** The end came. */
  get isWhole(): boolean {
    return this.#awaited === 'nothing' && this.#fault === null;
  }

  /** null: all right. A fault is final. */
  push(chunk: Uint8Array): string | null {
    let at = 0;
    while (at < chunk.length && this.#fault === null) {
      if (this.#awaited === 'nothing') return this.#fail('it goes on after its end');
      const bytes = Math.min(this.#bytes.length - this.#filled, chunk.length - at);
      this.#bytes.set(chunk.subarray(at, at + bytes), this.#filled);
      this.#filled += bytes;
      at += bytes;
      while (this.#fault === null && this.#isFilled()) {
        const fault = this.#take();
        if (fault !== null) this.#fail(fault);
      }
    }
    return this.#fault;
  }

  /** The connection says that no more comes. */
  finish(): string | null {
    if (this.#fault !== null || this.#awaited === 'nothing') return this.#fault;
    return this.#fail('it ends before its end');
  }

  #isFilled(): boolean {
    return this.#awaited !== 'nothing' && this.#filled === this.#bytes.length;
  }

  /** null: all right. */
  #take(): string | null {
    switch (this.#awaited) {
      case 'head':
        return this.#takeHead();
      case 'piece':
        return this.#takePiece();
      case 'body':
        return this.#takeBody();
      case 'nothing':
        return null;
    }
  }

  #takeHead(): string | null {
    const view = viewOf(this.#bytes);
    if (view.getUint32(0) !== MARK) return 'it is not the answer of a source';
    const version = view.getUint8(4);
    if (version !== VERSION) return `its form is version ${version}`;
    if (!this.#isRight(HEAD_BYTES - 4)) return 'the checksum of its head is wrong';
    const kind = KINDS[view.getUint8(5)];
    const applied = u64(view, 24);
    const purged = u64(view, 32);
    const isReached = view.getUint32(40) !== ALL_ONES || view.getUint32(44) !== ALL_ONES;
    const term = isReached ? u64(view, 40) : null;
    if (kind === undefined || applied === null || purged === null || (isReached && term === null)) {
      return 'its head is not in the form of one';
    }
    const clusterId = clusterIdOf(this.#bytes.subarray(8, 8 + CLUSTER_BYTES));
    this.#isOfEntries = kind === 'entries';
    this.#await('piece', PIECE_BYTES);
    this.#handlers.onHead({ kind, clusterId, applied, purged, term });
    return null;
  }

  #takePiece(): string | null {
    const view = viewOf(this.#bytes);
    const after = this.#index;
    if (!this.#isRight(PIECE_BYTES - 4)) {
      return `the checksum of what follows entry ${after} is wrong`;
    }
    const mark = view.getUint32(0);
    const first = u64(view, 4);
    const second = u64(view, 12);
    if ((mark !== ENTRY && mark !== END) || first === null || second === null) {
      return `what follows entry ${after} is neither an entry nor an end`;
    }
    if (mark === END) return this.#takeEnd(first, second, u64(view, 20));
    const length = view.getUint32(20);
    if (!this.#isOfEntries) return `entry ${first} is in an answer without entries`;
    if (first <= after) return `entry ${first} follows entry ${after}`;
    if (length === 0) return `entry ${first} is empty`;
    if (length > this.#limits.entryBytesMax) {
      const { entryBytesMax } = this.#limits;
      return (
        `entry ${first} has ${length} bytes, and one of this standby takes ${entryBytesMax}: set ` +
        'SVC_RAFT_BATCH_MAX_BYTES and SVC_RAFT_ENTRY_MAX_BYTES as the source does'
      );
    }
    this.#index = first;
    this.#term = second;
    this.#bodyChecksum = view.getUint32(24);
    this.#await('body', length);
    return null;
  }

  #takeBody(): string | null {
    const body = this.#bytes;
    if (this.#checksum(body) !== this.#bodyChecksum) {
      return `the checksum of entry ${this.#index} is wrong`;
    }
    this.#await('piece', PIECE_BYTES);
    this.#handlers.onEntry({ index: this.#index, term: this.#term, body });
    return null;
  }

  #takeEnd(upto: number, applied: number, term: number | null): string | null {
    if (term === null) return `what follows entry ${this.#index} is neither an entry nor an end`;
    if (upto < this.#index && this.#index > this.#limits.after) {
      return `it ends at ${upto}, before its entry ${this.#index}`;
    }
    this.#await('nothing', 0);
    this.#handlers.onEnd({ upto, term, applied });
    return null;
  }

  #await(awaited: Awaited, bytes: number): void {
    this.#awaited = awaited;
    this.#bytes = new Uint8Array(bytes);
    this.#filled = 0;
  }

  /** Over the bytes before it. */
  #isRight(checksumAt: number): boolean {
    const expected = viewOf(this.#bytes).getUint32(checksumAt);
    return this.#checksum(this.#bytes.subarray(0, checksumAt)) === expected;
  }

  #fail(why: string): string {
    this.#await('nothing', 0);
    this.#fault = why;
    return why;
  }
}

function clusterBytes(clusterId: string): Uint8Array {
  if (!UUID.test(clusterId)) throw new RangeError(`${clusterId} is not the id of a cluster`);
  const digits = clusterId.replaceAll('-', '');
  return Uint8Array.from({ length: CLUSTER_BYTES }, (_, at) =>
    Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16),
  );
}

function clusterIdOf(bytes: Uint8Array): string {
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function setU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, Math.floor(value / TWO_32));
  view.setUint32(at + 4, value % TWO_32);
}

/** null: more than a number holds exactly. */
function u64(view: DataView, at: number): number | null {
  const value = view.getUint32(at) * TWO_32 + view.getUint32(at + 4);
  return Number.isSafeInteger(value) ? value : null;
}
