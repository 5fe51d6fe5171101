/**
 * How long a request may take at the edge (gateway 3), from its head to the end of its answer. What
 * the broker has of it is the relay's (`pipeline/limit-request.ts`).
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

/** A purge asks the broker for at most 300 s, and is not cut off before (gateway, Beyond). */
const PURGE = /^\/api\/cp\/tenants\/[^/]+\/purge$/;
const PURGE_MS = 310_000;

/** As `edgeTimeoutMs`, for a route that the gateway serves itself. */
export function ownTimeoutMs(timeouts: EdgeTimeouts, path: string): number | null {
  const ms = edgeTimeoutMs(timeouts, path, null);
  return ms !== null && PURGE.test(path) ? Math.max(ms, PURGE_MS) : ms;
}

export const TIMED_OUT = {
  status: 504,
  code: 'request_timeout',
  error: 'the request took too long',
} as const;

function isCovered(path: string, entry: string): boolean {
  return path === entry || (entry.endsWith('/') && path.startsWith(entry));
}
