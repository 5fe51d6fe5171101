import type { LogIndex, Term } from './identifiers.js';

/**
 * One place of the log. A `normal` entry without data is the one a new leader appends to be able to
 * commit; the host applies it as "nothing". The data of a `configuration` entry is written and read
 * by `configuration-codec.ts` only. Nobody changes `data` after it was proposed.
 */
export interface Entry {
  readonly index: LogIndex;
  readonly term: Term;
  readonly type: EntryType;
  readonly data: Uint8Array;
}

export type EntryType = 'normal' | 'configuration';

/** What an entry costs beside its data: index, term, type and length on the wire and in memory. */
export const ENTRY_OVERHEAD_BYTES = 16;

export function entryBytes(entry: Entry): number {
  return entry.data.length + ENTRY_OVERHEAD_BYTES;
}

export function payloadBytes(entries: readonly Entry[]): number {
  let bytes = 0;
  for (const entry of entries) bytes += entry.data.length;
  return bytes;
}
