/**
 * A standby's request for entries of its source, and what the source decides to answer
 * (standby-link 9).
 *
 * What must hold: a request is refused with what is wrong in it, never read as something else. The
 * order of the checks is part of the contract: a standby that lies below the purge point needs a
 * new seed, whatever its term says, for the source cannot compare a term that it gave up.
 */

/** On the port between nodes. */
export const READ_PATH = '/link/v1/read';
/** Carries the source's `SVC_LINK_TOKEN`. */
export const TOKEN_HEADER = 'x-svc-link-token';
/** How long a read may be held while nothing new is applied. */
export const READ_WAIT_MS_MAX = 30_000;
const READ_BYTES = 8 * 1024 * 1024;
/** Bodies of one answer, unless a single entry is larger. */
export const READ_BYTES_MAX = 64 * 1024 * 1024;
const NAME_LENGTH_MAX = 200;
/**
 * The body of a request: a name, at most six bytes for each of its characters as JSON escapes
 * them, five numbers of at most 16 digits, and the names of the fields; rounded up.
 */
export const READ_REQUEST_BYTES_MAX = 2048;
const NAMELESS = 'standby';
/** Half of a surrogate pair has no form in UTF-8: two such names would be one in a scrape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
export const NO_TEXT = /[\u0000-\u001f\u007f\p{Surrogate}]/u;

export interface ReadRequest {
  /** The last source entry that the standby has; 0: none. */
  readonly after: number;
  /** The term of that entry; 0 when there is none. */
  readonly afterTerm: number;
  /** From 1 to READ_BYTES_MAX. */
  readonly maxBytes: number;
  /** From 0 to READ_WAIT_MS_MAX. */
  readonly waitMs: number;
  /** Names the hold; not empty. */
  readonly reader: string;
  /** Keeps the log, and wants no entries. */
  readonly holdOnly: boolean;
  /**
   * Where the hold is to stand: the last source entry that the standby has applied, for what it
   * read further may be lost with a leadership. null: it leaves none, as when it is halted.
   */
  readonly holdAfter: number | null;
}

export function encodeReadRequest(request: ReadRequest): string {
  return JSON.stringify(request);
}

/** Fields that are absent have their defaults; larger bounds than a source grants are lowered. */
export function parseReadRequest(text: string): ReadRequest | { readonly error: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { error: 'the body is not JSON' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { error: 'the body is not an object' };
  }
  const fields = value as { readonly [name: string]: unknown };
  for (const name of ['after', 'afterTerm', 'maxBytes', 'waitMs']) {
    if (!isPlace(fields[name] ?? 0)) {
      return { error: `${name} is not an integer from 0 to 2^53 - 1` };
    }
  }
  const { reader = '', holdOnly = false } = fields;
  if (typeof reader !== 'string') return { error: 'reader is not a string' };
  if (reader.length > NAME_LENGTH_MAX) {
    return { error: `reader has more than ${NAME_LENGTH_MAX} characters` };
  }
  if (NO_TEXT.test(reader)) return { error: 'reader has a character that is no text' };
  if (typeof holdOnly !== 'boolean') return { error: 'holdOnly is not a boolean' };
  const of = (name: string) => (fields[name] ?? 0) as number;
  const { holdAfter = of('after') } = fields;
  if (holdAfter !== null && !isPlace(holdAfter)) {
    return { error: 'holdAfter is neither null nor an integer from 0 to 2^53 - 1' };
  }
  return {
    after: of('after'),
    afterTerm: of('afterTerm'),
    maxBytes: Math.min(of('maxBytes') || READ_BYTES, READ_BYTES_MAX),
    waitMs: Math.min(of('waitMs'), READ_WAIT_MS_MAX),
    reader: readerName(reader),
    holdOnly,
    holdAfter,
  };
}

function isPlace(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Standbys without a name share one hold. */
export function readerName(name: string): string {
  return name === '' ? NAMELESS : name;
}

/** What a source's node knows of its log when it decides. */
export interface LogView {
  /** The last entry that it has applied. */
  readonly applied: number;
  /** The last entry that it gave up; 0: it has all. */
  readonly purged: number;
  /** From the entry at `purged` up to the last; null: the log does not tell. */
  termAt(index: number): number | null;
}

export type ReadDecision =
  /** A new seed is needed. */
  | { readonly kind: 'purged' }
  /** The source's entry at `after` has another term; null: its log does not reach it. */
  | { readonly kind: 'mismatch'; readonly term: number | null }
  /** The log after the standby's entry, up to `to`; nothing if `to` is not above `from`. */
  | { readonly kind: 'entries'; readonly from: number; readonly to: number };

export function decideRead(request: ReadRequest, log: LogView): ReadDecision {
  const { after, afterTerm, holdOnly } = request;
  if (after < log.purged) return { kind: 'purged' };
  // The standby tries the next node: this one is behind it.
  if (after > log.applied) return { kind: 'entries', from: log.applied, to: log.applied };
  const term = after === 0 ? 0 : log.termAt(after);
  if (term !== afterTerm) return { kind: 'mismatch', term };
  return { kind: 'entries', from: after, to: holdOnly ? after : log.applied };
}
