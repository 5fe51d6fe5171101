/** What a follower says when something stands in its way (standby-link 5): literal texts. */
import type { SourceEntry } from './read-answer.js';

export const behindText = (applied: number, position: number) =>
  `the source has applied ${applied} and this standby is at ${position}: ` +
  'no node of the source is as far as the standby';

export const purgedText = (address: string, purged: number, position: number) =>
  `the source node ${address} purged its log up to ${purged} and this standby is at ${position}: ` +
  'it needs a new seed';

/** `term`: null when the source's log does not reach the entry. */
export const mismatchText = (index: number, term: number | null, replayed: number) =>
  (term === null
    ? `the source has no entry ${index}, which this standby replayed with term ${replayed}: `
    : `the source's entry ${index} has term ${term} and this standby replayed term ${replayed}: `) +
  'it followed another log and needs a new seed';

export const divergedText = (why: string) => `this standby has diverged from its source: ${why}`;

export const otherClusterText = (found: string, followed: string) =>
  `source is cluster ${found}, this standby follows ${followed}`;

export const unreadText = (why: string) => `a source entry was not read: ${why}`;

/** null: `entry` may follow what was received last. */
export function disorderText(
  entry: SourceEntry,
  last: { readonly index: number; readonly term: number },
): string | null {
  if (entry.index <= last.index) return `entry ${entry.index} follows entry ${last.index}`;
  if (entry.term >= last.term) return null;
  return `entry ${entry.index} of term ${entry.term} follows one of term ${last.term}`;
}
