/**
 * How long a request may take (gateway 3). Two clocks run: the edge's, from the head of the request
 * to the end of its answer, and the relay's, which is what the broker gets of it.
 */
export interface EdgeTimeouts {
  /** `SVC_EDGE_REQUEST_TIMEOUT_MS`; 0: off. */
  readonly requestMs: number;
  /** `SVC_EDGE_LONG_POLL_GRACE_MS`: what a request that waits has beside its wait. */
  readonly longPollGraceMs: number;
  /** `SVC_EDGE_LONG_POLL_MAX_MS`: wait and grace together. */
  readonly longPollMaxMs: number;
  /** `SVC_EDGE_TIMEOUT_EXEMPT`: paths, and with a slash at the end everything below. */
  readonly exempt: readonly string[];
}

export interface RelayTimeouts {
  /** `SVC_PROXY_UPSTREAM_TIMEOUT_MS`. */
  readonly upstreamMs: number;
  /** `SVC_PROXY_LONGPOLL_MARGIN_MS`. */
  readonly longPollMarginMs: number;
  /** `SVC_PROXY_LONGPOLL_MAX_MS`: of the wait alone. */
  readonly longPollMaxMs: number;
}

/** The wait of a pop that names none. */
export const POP_WAIT_MS = 30_000;

/**
 * Milliseconds; null: none. `waitMs`: what a request that waits for messages asks for; null: it
 * does not wait. A wait never shortens what any request has.
 */
export function edgeTimeoutMs(
  { requestMs, longPollGraceMs, longPollMaxMs, exempt }: EdgeTimeouts,
  path: string,
  waitMs: number | null,
): number | null {
  if (requestMs === 0 || exempt.some((entry) => isCovered(path, entry))) return null;
  if (waitMs === null) return requestMs;
  return Math.max(requestMs, Math.min(waitMs + longPollGraceMs, longPollMaxMs));
}

/** Milliseconds until the relay answers 504 in place of the broker. */
export function relayTimeoutMs(timeouts: RelayTimeouts, waitMs: number | null): number {
  if (waitMs === null) return timeouts.upstreamMs;
  return Math.min(waitMs, timeouts.longPollMaxMs) + timeouts.longPollMarginMs;
}

export const TIMED_OUT = {
  status: 504,
  code: 'request_timeout',
  error: 'the request took too long',
} as const;

function isCovered(path: string, entry: string): boolean {
  return path === entry || (entry.endsWith('/') && path.startsWith(entry));
}
