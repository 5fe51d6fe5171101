/**
 * Finds the header of a segment again whose 64 bytes are damaged.
 *
 * Magic, version, identity and sequence are known from the directory and the file's name. First
 * index, previous term and previous CRC stand also in the first record, the index file and the end
 * of the segment before; each may be missing or damaged too. So each field gets the values that
 * somebody says, the stored ones among them, and the combination is taken whose CRC is the stored
 * one. When the CRC itself is damaged, the stored fields must all be such that one of the others
 * says them too. A flipped bit anywhere is found again even when nobody else says anything: only
 * one bit pattern at that distance has the right CRC.
 */
import {
  CHAIN_START,
  decodeSegmentHeader,
  encodeSegmentHeader,
  getU64,
  newRecordHeader,
  readRecordHeader,
  recordSeed,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  sameBytes,
  viewOf,
} from './format.js';

/** The CRC covers bytes 0 to 60 and stands behind them. */
const COVERED_BYTES = 60;

/** What the segment before ended with. */
export interface SegmentBefore {
  readonly lastIndex: number;
  readonly lastTerm: number;
  readonly lastCrc: number;
}

export interface HeaderEvidence {
  readonly identity: Uint8Array;
  readonly sequence: number;
  /** The whole file. */
  readonly bytes: Uint8Array;
  /** From the segment's index file; null without a valid one. */
  readonly firstIndex: number | null;
  /** null when there is none, or its end is not known. */
  readonly before: SegmentBefore | null;
  /** A later segment begins there; null for the last one. */
  readonly nextFirstIndex: number | null;
}

/** null when the header cannot be told with certainty. */
export function mendHeader(evidence: HeaderEvidence): SegmentHeader | null {
  const stored = new Uint8Array(SEGMENT_HEADER_BYTES);
  stored.set(evidence.bytes.subarray(0, SEGMENT_HEADER_BYTES));
  return (
    withoutFlippedBit(evidence, stored) ??
    amongCandidates(evidence, stored) ??
    asContinuation(evidence) ??
    asVeryFirst(evidence)
  );
}

function withoutFlippedBit(evidence: HeaderEvidence, stored: Uint8Array): SegmentHeader | null {
  const bytes = stored.slice();
  for (let bit = 0; bit < SEGMENT_HEADER_BYTES * 8; bit++) {
    const at = bit >>> 3;
    const old = bytes[at] ?? 0;
    bytes[at] = old ^ (1 << (bit & 7));
    const verdict = decodeSegmentHeader(evidence.identity, bytes);
    if (verdict.kind === 'valid' && verdict.header.sequence === evidence.sequence) {
      return verdict.header;
    }
    bytes[at] = old;
  }
  return null;
}

function amongCandidates(evidence: HeaderEvidence, stored: Uint8Array): SegmentHeader | null {
  const view = viewOf(stored);
  const { before } = evidence;
  const record = firstRecord(evidence);
  const firstIndexes = known(
    getU64(view, 32),
    record?.index,
    evidence.firstIndex,
    before === null ? null : before.lastIndex + 1,
  );
  const terms = known(getU64(view, 40), before?.lastTerm, 0);
  const crcs = known(view.getUint32(48, true), record?.previousCrc, before?.lastCrc, CHAIN_START);
  const storedCrc = stored.subarray(COVERED_BYTES);
  for (const firstIndex of firstIndexes) {
    for (const previousTerm of terms) {
      for (const previousCrc of crcs) {
        for (const start of [false, true]) {
          const { sequence, identity } = evidence;
          const fields = { sequence, firstIndex, previousTerm, previousCrc };
          const header = { ...fields, start, recreated: false };
          const bytes = encodeSegmentHeader(identity, header);
          if (sameBytes(bytes.subarray(COVERED_BYTES), storedCrc)) return header;
        }
      }
    }
  }
  return null;
}

/**
 * The segment goes on where the one before it ended, when its own content agrees or nothing of it
 * is left to disagree.
 */
function asContinuation(evidence: HeaderEvidence): SegmentHeader | null {
  const { before, firstIndex, nextFirstIndex, sequence } = evidence;
  if (before === null) return null;
  const next = before.lastIndex + 1;
  const record = firstRecord(evidence);
  if (record !== null && (record.index !== next || record.previousCrc !== before.lastCrc)) {
    return null;
  }
  if (firstIndex !== null && firstIndex !== next) return null;
  if (nextFirstIndex !== null && nextFirstIndex < next) return null;
  return {
    sequence,
    firstIndex: next,
    previousTerm: before.lastTerm,
    previousCrc: before.lastCrc,
    start: false,
    recreated: false,
  };
}

/** What comes before entry 1 is known without anybody. */
function asVeryFirst(evidence: HeaderEvidence): SegmentHeader | null {
  const record = firstRecord(evidence);
  if ((record?.index ?? evidence.firstIndex) !== 1) return null;
  if (record !== null && record.previousCrc !== CHAIN_START) return null;
  const { sequence } = evidence;
  const before = { previousTerm: 0, previousCrc: CHAIN_START };
  return { sequence, firstIndex: 1, ...before, start: true, recreated: false };
}

function firstRecord({ identity, sequence, bytes }: HeaderEvidence) {
  const header = newRecordHeader();
  const seed = recordSeed(identity, sequence);
  const valid = readRecordHeader(bytes, viewOf(bytes), SEGMENT_HEADER_BYTES, seed, header);
  return valid ? header : null;
}

function known(...values: (number | null | undefined)[]): Set<number> {
  return new Set(values.filter((value) => value !== null && value !== undefined));
}
