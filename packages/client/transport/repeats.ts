/**
 * When a call is sent again. What matters is not how a try failed, but what can have become of it:
 *
 * | What became of a try | How it shows |
 * | --- | --- |
 * | `unsent` | no connection was made |
 * | `refused` | the answer says that nothing was applied: 503 with `Retry-After`, 507 |
 * | `limited` | 429: nothing was applied, and the server is well |
 * | `rejected` | any other 4xx: sending the same again gives the same |
 * | `unknown` | a 5xx, a cut connection, no answer in time, an answer that is no JSON |
 *
 * 503 `timeout`, `outcome_unknown` and `ephemeral_forward_failed` have a `Retry-After` as well, and
 * the call may have been applied: they are `unknown`.
 *
 * A call states which of these it may be repeated after, by what a second application would do.
 */

export type Fate = 'unsent' | 'refused' | 'limited' | 'rejected' | 'unknown';

/**
 * `any`: a second application changes nothing (reads, acks, pushes with an id, guarded writes).
 * `unapplied`: it would do the thing twice (`incr`, transactions without a guard).
 * `never`: the call is sent once.
 */
export type Repeat = 'any' | 'unapplied' | 'never';

const REPEATED: Readonly<Record<Repeat, readonly Fate[]>> = {
  any: ['unsent', 'refused', 'limited', 'unknown'],
  unapplied: ['unsent', 'refused', 'limited'],
  never: [],
};

const MAY_HAVE_APPLIED = new Set(['timeout', 'outcome_unknown', 'ephemeral_forward_failed']);

export function isRepeated(repeat: Repeat, fate: Fate): boolean {
  return REPEATED[repeat].includes(fate);
}

/** The fate of an answer that is no success. */
export function fateOf(status: number, code: string | undefined, retryAfter: boolean): Fate {
  if (status === 429) return 'limited';
  if (status >= 400 && status < 500) return 'rejected';
  if (status === 507) return 'refused';
  if (status !== 503 || !retryAfter) return 'unknown';
  return code !== undefined && MAY_HAVE_APPLIED.has(code) ? 'unknown' : 'refused';
}

/** Codes with which Node says that a connection could not be made; browsers do not tell. */
const NO_CONNECTION = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const CONNECTING = new Set(['connect', 'getaddrinfo']);

interface NetworkError {
  readonly cause?: unknown;
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly errors?: readonly unknown[];
}

const isUnsent = (error: unknown): boolean => fateOfError(error) === 'unsent';

/** The fate of a `fetch` that rejected. */
export function fateOfError(error: unknown): 'unsent' | 'unknown' {
  const { cause, code, syscall, errors } = (error ?? {}) as NetworkError;
  // Several addresses of one name were tried.
  if (Array.isArray(errors)) return errors.every(isUnsent) ? 'unsent' : 'unknown';
  // A host can become unreachable after the request was sent: then it was read or written to.
  if (typeof syscall === 'string') return CONNECTING.has(syscall) ? 'unsent' : 'unknown';
  if (typeof code === 'string') return NO_CONNECTION.has(code) ? 'unsent' : 'unknown';
  return cause === undefined ? 'unknown' : fateOfError(cause);
}
