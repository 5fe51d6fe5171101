/**
 * Every answer with which the gateway itself refuses a request: status, code and text, literally
 * (gateway 11). The body is `{"error":<text>,"code":<code>}`; `Retry-After` comes with a number of
 * seconds.
 */

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly error: string;
  /** Whole seconds. */
  readonly retryAfterS?: number;
}

const refusal = (status: number, code: string, error: string): Refusal => ({ status, code, error });

export const REFUSALS = {
  noCredential: refusal(401, 'unauthorized', 'missing bearer credential'),
  /** Unknown, revoked, expired and forged ones are one answer: it tells nothing. */
  badCredential: refusal(401, 'unauthorized', 'invalid credential'),
  wrongCluster: refusal(403, 'forbidden', 'key/cluster mismatch'),
  actingKey: refusal(403, 'forbidden', 'an API key cannot act on a named cluster'),
  forbidden: refusal(403, 'forbidden', 'operation not permitted for this credential'),
  adminRequired: refusal(403, 'forbidden', 'admin role required'),
  suspended: refusal(403, 'cluster_suspended', 'cluster suspended'),
  storageBlocked: refusal(403, 'storage_quota_exceeded', 'storage quota exceeded'),
  monthlyBlocked: refusal(403, 'quota_exceeded', 'monthly message quota exceeded'),
  pushBlocked: refusal(403, 'push_blocked', 'pushes are blocked for this cluster'),
  featureGated: refusal(403, 'feature_gated', 'not in your plan'),
  routeBlocked: refusal(404, 'route_blocked', 'not available'),
  bodyTooLarge: refusal(413, 'payload_too_large', 'request body exceeds cap'),
  clusterUnknown: refusal(421, 'cluster_unknown', 'unknown cluster'),
  badGateway: refusal(502, 'bad_gateway', 'the broker did not answer'),
  answerTooLarge: refusal(502, 'bad_gateway', 'the answer is too large to be metered'),
  upstreamTimeout: refusal(504, 'upstream_timeout', 'the broker did not answer in time'),
  notConfigured: refusal(503, 'not_configured', 'logins are not configured'),
  unavailable: { ...refusal(503, 'unavailable', 'the store does not answer'), retryAfterS: 1 },
  overloaded: { ...refusal(503, 'unavailable', 'too many requests wait here'), retryAfterS: 1 },
} as const satisfies { readonly [name: string]: Refusal };

/** The body of the answer. */
export function refusalBody({ error, code }: Refusal): string {
  return JSON.stringify({ error, code });
}
