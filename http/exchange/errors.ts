/**
 * Every status that the front, or a gateway before it, answers, and the one table that turns a
 * refusal's reason into one (message-plane 1.4). A refusal is rendered as `{"error","code"}`; the
 * texts of refusals come with them, the texts of the front's own refusals stand here.
 */
import type { Refusal, RefusalReason } from '@svc/engine';
import type { MembershipErrorCode } from '@svc/wire';

export type Status =
  | '200 OK'
  | '201 Created'
  | '204 No Content'
  | '302 Found'
  | '303 See Other'
  | '400 Bad Request'
  | '401 Unauthorized'
  | '403 Forbidden'
  | '404 Not Found'
  | '408 Request Timeout'
  | '409 Conflict'
  | '413 Payload Too Large'
  | '414 URI Too Long'
  | '415 Unsupported Media Type'
  | '421 Misdirected Request'
  | '429 Too Many Requests'
  | '431 Request Header Fields Too Large'
  | '500 Internal Server Error'
  | '501 Not Implemented'
  | '502 Bad Gateway'
  | '503 Service Unavailable'
  | '504 Gateway Timeout'
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
  quota_exceeded: { status: '403 Forbidden', retryAfter: false },
  too_large: { status: '413 Payload Too Large', retryAfter: false },
  kv_check_needs_cluster_version_5: UNAVAILABLE,
};

const CONFLICT: RefusalStatus = { status: '409 Conflict', retryAfter: false };

/** cluster-and-config 5. */
export const STATUS_OF_MEMBERSHIP_ERROR: { readonly [code in MembershipErrorCode]: RefusalStatus } =
  {
    bad_request: BAD_REQUEST,
    forbidden: { status: '403 Forbidden', retryAfter: false },
    in_flight: CONFLICT,
    no_quorum: CONFLICT,
    last_voter: CONFLICT,
    learner_behind: CONFLICT,
    already_voter: CONFLICT,
    address_mismatch: CONFLICT,
    membership_changed: CONFLICT,
    leader_changed: CONFLICT,
    not_a_learner: CONFLICT,
    not_a_member: CONFLICT,
    not_a_voter: CONFLICT,
    leader_unreachable: UNAVAILABLE,
    retry: UNAVAILABLE,
    timeout: { status: '504 Gateway Timeout', retryAfter: false },
  };

/** An answer to a request that is refused while it is read: status and JSON text. */
export interface Refused {
  readonly status: Status;
  readonly text: string;
}

export function refusedAs({ reason, error }: Refusal): Refused {
  return { status: STATUS_OF_REASON[reason].status, text: errorText(error, reason) };
}

/** Thrown where a request is read; the request is answered so. */
export class RequestFault extends Error {
  readonly code = 'refused';
  readonly refused: Refused;

  constructor(refused: Refused) {
    super(refused.text);
    this.refused = refused;
  }
}

export function badRequestFault(error: string): RequestFault {
  return new RequestFault(refusedAs(badRequest(error)));
}

/** The answer to a body that is none for its route; `what` says why and at which byte. */
export function badBodyText(badBody: string, what: string): string {
  return errorText(`${badBody}: ${what}`, 'bad_body');
}

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

/** The node is not open yet, or not at the moment. */
export const UNREADY_REFUSAL: Refusal = {
  reason: 'no_leader',
  error: 'no leader is known; retry after',
};

/** The caller is known, and may not do this (specification, Authentication 3). */
export const AUTH_REQUIRED_TEXT = '{"error":"auth_required","code":"auth_required"}';
export const INSUFFICIENT_TEXT = '{"error":"Insufficient permissions"}';

export const INTERNAL_REFUSAL: Refusal = { reason: 'internal', error: 'internal error' };

export function badRequest(error: string): Refusal {
  return { reason: 'bad_request', error };
}

/** `{"error":...,"code":...}` */
export function errorText(error: string, code: string, leader?: number): string {
  const hint = leader === undefined ? '' : `,"leader":"${leader}"`;
  return `{"error":${JSON.stringify(error)},"code":"${code}"${hint}}`;
}
