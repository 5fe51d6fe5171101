/**
 * Every status that the front answers, and the one table that turns a refusal's reason into one
 * (message-plane 1.4). A refusal is rendered as `{"error","code"}`; the texts of refusals come with
 * them, the texts of the front's own refusals stand here.
 */
import type { Refusal, RefusalReason } from '@svc/engine';

export type Status =
  | '200 OK'
  | '201 Created'
  | '204 No Content'
  | '400 Bad Request'
  | '403 Forbidden'
  | '404 Not Found'
  | '408 Request Timeout'
  | '413 Payload Too Large'
  | '500 Internal Server Error'
  | '501 Not Implemented'
  | '503 Service Unavailable'
  | '507 Insufficient Storage';

export interface RefusalStatus {
  readonly status: Status;
  /** Answer with `Retry-After: 1`. */
  readonly retryAfter: boolean;
}

const BAD_REQUEST: RefusalStatus = { status: '400 Bad Request', retryAfter: false };
const UNAVAILABLE: RefusalStatus = { status: '503 Service Unavailable', retryAfter: true };

export const STATUS_OF_REASON: { readonly [reason in RefusalReason]: RefusalStatus } = {
  bad_request: BAD_REQUEST,
  name_too_long: { status: '413 Payload Too Large', retryAfter: false },
  reserved_tenant: { status: '403 Forbidden', retryAfter: false },
  retry: UNAVAILABLE,
  no_leader: UNAVAILABLE,
  timeout: UNAVAILABLE,
  outcome_unknown: UNAVAILABLE,
  standby: UNAVAILABLE,
  overloaded: UNAVAILABLE,
  storage_full: { status: '507 Insufficient Storage', retryAfter: false },
  internal: { status: '500 Internal Server Error', retryAfter: false },
};

export const RETRY_AFTER_SECONDS = '1';

export const RESERVED_TENANT_REFUSAL: Refusal = {
  reason: 'reserved_tenant',
  error: 'this tenant is reserved: no route acts on it',
};

export const BODIES_OVERLOADED_REFUSAL: Refusal = {
  reason: 'overloaded',
  error: 'too many request bytes are in flight; retry',
};

export const ANSWERS_OVERLOADED_REFUSAL: Refusal = {
  reason: 'overloaded',
  error: 'too many answer bytes wait for their readers; retry',
};

export const INTERNAL_REFUSAL: Refusal = { reason: 'internal', error: 'internal error' };

export function badRequest(error: string): Refusal {
  return { reason: 'bad_request', error };
}

/** `{"error":...,"code":...}` */
export function errorText(error: string, code: string, leader?: number): string {
  const hint = leader === undefined ? '' : `,"leader":"${leader}"`;
  return `{"error":${JSON.stringify(error)},"code":"${code}"${hint}}`;
}
