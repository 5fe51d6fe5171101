/**
 * Reads the records of one segment from its bytes and judges where they end.
 *
 * The hard part is the first position without a valid record. It is the clean end (zeros), a torn
 * group (a power loss kept some sectors of a write that was never acknowledged), or damage to what
 * had been durable. What stands behind it decides. A valid record of a group that began later
 * proves damage: a group is written only after the one before it is durable. Valid records of the
 * same group prove nothing, because sectors of one write reach the medium in any order.
 *
 * In the last group of all, which nothing later vouches for, the shape of the bytes decides
 * (log/torn.ts): a flipped bit is not what an interrupted write leaves. What this cannot tell is
 * sectors of zeros in the place of a last group that had been durable; the witness file
 * (log/witness.ts) is asked about that.
 *
 * This scan stops at the first bad record; log/scan-kept.ts goes on behind it.
 */
import { crc32 } from 'node:zlib';
import { Positions } from '../disk/positions.js';
import {
  groupFirstIndex,
  isZeros,
  newRecordHeader,
  RECORD_HEADER_BYTES,
  readRecordHeader,
  recordBytes,
  SEGMENT_HEADER_BYTES,
  viewOf,
} from './format.js';
import { TermRuns } from './term-runs.js';
import { mayBeTorn } from './torn.js';

export interface ScanStart {
  readonly seed: number;
  readonly firstIndex: number;
  readonly previousTerm: number;
  readonly previousCrc: number;
}

export type ScanEnd =
  /** Only zeros follow. */
  | { readonly kind: 'clean' }
  /** Bytes follow that may be a write of which no one was told. */
  | { readonly kind: 'torn' }
  | { readonly kind: 'damage'; readonly code: string; readonly what: string };

export interface Scan {
  readonly positions: Positions;
  readonly terms: TermRuns;
  readonly lastIndex: number;
  readonly lastCrc: number;
  /** Where the next record would stand. */
  readonly endPosition: number;
  /** Where the last group begins; endPosition without records. */
  readonly lastGroupPosition: number;
  readonly end: ScanEnd;
}

const SEARCH_STEP_BYTES = 8;

export function scanRecords(bytes: Uint8Array, start: ScanStart): Scan {
  const view = viewOf(bytes);
  const header = newRecordHeader();
  const positions = new Positions();
  const terms = new TermRuns();
  let position = SEGMENT_HEADER_BYTES;
  let index = start.firstIndex;
  let term = start.previousTerm;
  let crc = start.previousCrc;
  let lastGroupPosition = position;
  let recordEnd = 0;
  let end: ScanEnd | null = null;
  while (readRecordHeader(bytes, view, position, start.seed, header)) {
    if (header.index !== index || header.previousCrc !== crc || header.term < term) {
      const what = `record ${header.index} stands where record ${index} belongs`;
      end = { kind: 'damage', code: 'log_chain_break', what };
      break;
    }
    const bodyStart = position + RECORD_HEADER_BYTES;
    const bodyEnd = bodyStart + header.length;
    const bodyValid =
      bodyEnd <= bytes.length && crc32(bytes.subarray(bodyStart, bodyEnd)) === header.bodyCrc;
    recordEnd = bodyEnd;
    if (!bodyValid) break;
    if (groupFirstIndex(header) === header.index) lastGroupPosition = position;
    positions.push(position);
    terms.add(index, header.term);
    position += recordBytes(header.length);
    crc = header.headerCrc;
    term = header.term;
    index++;
  }
  return {
    positions,
    terms,
    lastIndex: index - 1,
    lastCrc: crc,
    endPosition: position,
    lastGroupPosition: Math.min(lastGroupPosition, position),
    end:
      end ??
      judgeEnd(bytes, view, {
        position,
        // Beyond `position` only when the header there is valid and the body is not.
        recordEnd: Math.max(recordEnd, position + RECORD_HEADER_BYTES),
        expected: index,
        seed: start.seed,
      }),
  };
}

interface BadRecord {
  readonly position: number;
  readonly recordEnd: number;
  /** The index that has no valid record at `position`. */
  readonly expected: number;
  readonly seed: number;
}

function judgeEnd(bytes: Uint8Array, view: DataView, bad: BadRecord): ScanEnd {
  const { position, recordEnd, expected, seed } = bad;
  if (position >= bytes.length || isZeros(bytes.subarray(position))) return { kind: 'clean' };
  const header = newRecordHeader();
  for (let at = position; at < bytes.length; at += SEARCH_STEP_BYTES) {
    if (!readRecordHeader(bytes, view, at, seed, header)) continue;
    const groupFirst = groupFirstIndex(header);
    const sameGroup = groupFirst <= expected && header.index >= expected;
    if (sameGroup) continue;
    const what = `record ${expected} is not readable, but record ${header.index} at byte ${at} is`;
    return { kind: 'damage', code: 'log_record_damaged', what };
  }
  if (mayBeTorn(bytes, position, recordEnd)) return { kind: 'torn' };
  const what = `record ${expected} was written whole and is not what was written`;
  return { kind: 'damage', code: 'log_record_damaged', what };
}
