/**
 * The row that says what a state store contains. It is put by every transaction, as the last of its
 * rows.
 *
 *     head    := version(4) directory id(16) index(8) term(8)
 *     applied := head digest of replicated rows(8) of local rows(8) CRC-32(4)
 *
 * Version 1 had no digests: they are computed when such a store is opened.
 */
import { crc32 } from 'node:zlib';
import { getU64, IDENTITY_BYTES, putU64, sameBytes, viewOf } from '../../log/format.js';
import type { Applied, LogPosition } from '../backing.js';

/** Below the keys of all tables, whose ids begin at 1. */
export const APPLIED_KEY = '\0';

const VERSION = 2;
const VERSION_WITHOUT_DIGESTS = 1;
const HEAD_BYTES = 36;
const DIGESTS_BYTES = 16;
const CRC_BYTES = 4;

/** Digests null: of a store that has none. */
export type StoredApplied = LogPosition & {
  readonly identity: Uint8Array;
  readonly digests: Pick<Applied, 'digest' | 'localDigest'> | null;
};

export type AppliedProblem =
  | { readonly problem: 'damaged' }
  | { readonly problem: 'version'; readonly version: number };

/** The writer thread adds the digests and the CRC. */
export function encodeAppliedHead(identity: Uint8Array, position: LogPosition): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, VERSION, true);
  bytes.set(identity, 4);
  putU64(view, 20, position.index);
  putU64(view, 28, position.term);
  return bytes;
}

export function decodeApplied(bytes: Uint8Array): StoredApplied | AppliedProblem {
  const view = viewOf(bytes);
  const end = bytes.length - CRC_BYTES;
  if (end < HEAD_BYTES || crc32(bytes.subarray(0, end)) !== view.getUint32(end, true)) {
    return { problem: 'damaged' };
  }
  const version = view.getUint32(0, true);
  const hasDigests = version === VERSION && end === HEAD_BYTES + DIGESTS_BYTES;
  const hasNone = version === VERSION_WITHOUT_DIGESTS && end === HEAD_BYTES;
  if (!hasDigests && !hasNone) return { problem: 'version', version };
  return {
    identity: bytes.slice(4, 4 + IDENTITY_BYTES),
    index: getU64(view, 20),
    term: getU64(view, 28),
    digests: hasNone
      ? null
      : {
          digest: word(view, HEAD_BYTES) + word(view, HEAD_BYTES + 4),
          localDigest: word(view, HEAD_BYTES + 8) + word(view, HEAD_BYTES + 12),
        },
  };
}

export function isOf(applied: StoredApplied, identity: Uint8Array): boolean {
  return sameBytes(applied.identity, identity);
}

function word(view: DataView, at: number): string {
  return view.getUint32(at, true).toString(16).padStart(8, '0');
}
