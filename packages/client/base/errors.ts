/** The error that every call of the client may reject with. Misuse is a `TypeError` instead. */

export interface ErrorFacts {
  /** The status of the answer; 0 when there was none. */
  readonly status?: number;
  /**
   * The broker's `code` or, where it has none, its `reason`; else one of the client's own:
   * `unreachable`, `connection_lost`, `timed_out`, `not_json`, `closed`, `lease_lost`, `ended`.
   */
  readonly code?: string | undefined;
  readonly reason?: string | undefined;
  /** As the answer's `Retry-After` said. */
  readonly retryAfterSeconds?: number | undefined;
  /** The call may have been carried out: a try of it got no answer that says otherwise. */
  readonly outcomeUnknown?: boolean;
  /** The whole answer, when it was JSON. */
  readonly body?: unknown;
  readonly cause?: unknown;
}

export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly status: number;
  readonly code: string | undefined;
  readonly reason: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly outcomeUnknown: boolean;
  readonly body: unknown;

  constructor(text: string, facts: ErrorFacts = {}) {
    super(text, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status ?? 0;
    this.code = facts.code;
    this.reason = facts.reason;
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.outcomeUnknown = facts.outcomeUnknown ?? false;
    this.body = facts.body;
  }
}

/** `what` was answered with JSON that is not its result: it may have been carried out. */
export function notItsResult(what: string): ClientError {
  const text = `${what} was answered with something else than its result`;
  return new ClientError(text, { code: 'not_json', outcomeUnknown: true });
}

/** `value` as part of a text that says what is wrong with it. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
