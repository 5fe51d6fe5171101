/**
 * What a zstd payload says of itself before anything is decompressed (RFC 8878): its frames, and
 * the bytes that they declare.
 *
 * The library allocates what a frame header declares, and fills what a block says is one byte over
 * and over, so both are read here first: a payload of 18 bytes can ask for gigabytes.
 */

const MAGIC = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;
const SKIPPABLE_MASK = 0xfffffff0;
/** No block holds more, compressed or not. */
const BLOCK_BYTES_MAX = 131_072;
const REPEATED = 1;
const COMPRESSED = 2;
const CHECKSUM_BYTES = 4;
const BLOCK_HEAD_BYTES = 3;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4] as const;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;

export interface ZstdFrames {
  /** Bytes of all frames; null: one of them does not say. */
  readonly declaredBytes: number | null;
  /** The longest window: what decompressing keeps in memory. */
  readonly windowBytes: number;
}

/** null: it is no sequence of whole frames. */
export function zstdFrames(payload: Uint8Array): ZstdFrames | null {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  let declaredBytes: number | null = 0;
  let windowBytes = 0;
  let at = 0;
  try {
    while (at < payload.length) {
      const magic = view.getUint32(at, true);
      if ((magic & SKIPPABLE_MASK) >>> 0 === SKIPPABLE) {
        at += 8 + view.getUint32(at + 4, true);
        continue;
      }
      if (magic !== MAGIC) return null;
      const frame = readHeader(view, at + 4);
      if (frame === null) return null;
      const end = blocksEnd(view, frame.blocksAt);
      if (end === null) return null;
      at = end + (frame.hasChecksum ? CHECKSUM_BYTES : 0);
      windowBytes = Math.max(windowBytes, frame.windowBytes);
      const { contentBytes } = frame;
      declaredBytes =
        declaredBytes === null || contentBytes === null ? null : declaredBytes + contentBytes;
    }
  } catch (error) {
    // It ends in the middle of something.
    if (error instanceof RangeError) return null;
    throw error;
  }
  return at === payload.length && at > 0 ? { declaredBytes, windowBytes } : null;
}

interface FrameHeader {
  readonly blocksAt: number;
  readonly hasChecksum: boolean;
  readonly windowBytes: number;
  readonly contentBytes: number | null;
}

function readHeader(view: DataView, start: number): FrameHeader | null {
  const flags = view.getUint8(start);
  const isReserved = (flags & 8) !== 0;
  const dictionaryBytes = DICTIONARY_ID_BYTES[flags & 3] ?? 0;
  // A dictionary is nothing that the broker has.
  if (isReserved || dictionaryBytes > 0) return null;
  const isSingle = (flags & 0x20) !== 0;
  let at = start + 1;
  let windowBytes = 0;
  if (!isSingle) {
    const descriptor = view.getUint8(at++);
    const base = 2 ** (10 + (descriptor >>> 3));
    windowBytes = base + (base / 8) * (descriptor & 7);
  }
  const sizeCode = flags >>> 6;
  const sizeBytes = sizeCode === 0 && isSingle ? 1 : (CONTENT_SIZE_BYTES[sizeCode] ?? 0);
  const contentBytes = contentSize(view, at, sizeBytes);
  at += sizeBytes;
  if (isSingle) windowBytes = contentBytes ?? 0;
  return { blocksAt: at, hasChecksum: (flags & 4) !== 0, windowBytes, contentBytes };
}

function contentSize(view: DataView, at: number, bytes: number): number | null {
  switch (bytes) {
    case 1:
      return view.getUint8(at);
    case 2:
      return view.getUint16(at, true) + 256;
    case 4:
      return view.getUint32(at, true);
    case 8:
      return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
    default:
      return null;
  }
}

/** Behind the last block; null: one of them is longer than blocks are. */
function blocksEnd(view: DataView, start: number): number | null {
  let at = start;
  for (;;) {
    const head = view.getUint16(at, true) + view.getUint8(at + 2) * 65_536;
    const kind = (head >>> 1) & 3;
    const bytes = head >>> 3;
    if (bytes > BLOCK_BYTES_MAX || kind > COMPRESSED) return null;
    at += BLOCK_HEAD_BYTES + (kind === REPEATED ? 1 : bytes);
    if (at > view.byteLength) return null;
    if ((head & 1) === 1) return at;
  }
}
