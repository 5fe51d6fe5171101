/**
 * What the gate ladder answers (state-surfaces 0.2, 0.4), in the two families of error bodies: key/
 * value, locks and timers repeat the code, `{"error","reason"}`; ephemeral queues say it in words,
 * `{"error","code"}`.
 */
import { assert } from '../base/assert.js';
import type { Demand, GateCode, GateRefusal, Refuse } from '../base/demand.js';
import { errorText, type Status } from '../exchange/errors.js';
import type { Exchange } from '../exchange/exchange.js';

/** With the status, and what ephemeral queues say. */
const CODES = {
  kv_disabled: ['503 Service Unavailable', 'key/value is paused; retry'],
  timers_disabled: ['503 Service Unavailable', 'timers are paused; retry'],
  ephemeral_disabled: ['503 Service Unavailable', 'ephemeral queues are paused; retry'],
  feature_gated: ['403 Forbidden', 'this tenant has no grant for this'],
  kv_unavailable: ['503 Service Unavailable', 'this node serves no more tenants'],
  ephemeral_unavailable: ['503 Service Unavailable', 'this node serves no more tenants'],
  rate_limited: ['429 Too Many Requests', 'too many messages a second; retry'],
  kv_quota_exceeded: ['403 Forbidden', 'the allowance of this tenant is used up'],
  timers_quota_exceeded: ['403 Forbidden', 'the allowance of this tenant is used up'],
  ephemeral_quota_exceeded: ['403 Forbidden', 'the allowance of this tenant is used up'],
} as const satisfies { readonly [code in GateCode]: readonly [Status, string] };

/** Refuses a call of a surface; `demand` says of which family. */
export function gateRefuser(exchange: Exchange, demand: Demand): Refuse {
  return (refusal) => {
    assert(refusal.code !== 'timer_horizon_exceeded', 'a call without timers is too far');
    refuseAtGate(exchange, demand.kind.startsWith('ephemeral'), refusal);
  };
}

function refuseAtGate(
  exchange: Exchange,
  isEphemeral: boolean,
  { code, retryAfterSeconds }: GateRefusal,
): void {
  const [status, error] = CODES[code];
  if (isEphemeral) exchange.json(status, errorText(error, code), retryAfterSeconds);
  else refuseSurface(exchange, status, { error: code, reason: code }, retryAfterSeconds);
}

/** The body of the family of key/value, locks and timers. */
export interface SurfaceError {
  readonly error: string;
  readonly reason?: string;
  readonly detail?: string;
}

export function refuseSurface(
  exchange: Exchange,
  status: Status,
  { error, reason, detail }: SurfaceError,
  retryAfterSeconds = 0,
): void {
  exchange.json(status, JSON.stringify({ error, reason, detail }), retryAfterSeconds);
}
