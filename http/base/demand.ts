/**
 * The question of a call to the gate (`gate/gate.ts`), and the answers that there are. A front that
 * serves requests in a thread of its own has no gate: there the demand goes with the command to the
 * thread that has it (`gate/gate-elsewhere.ts`).
 */

/** A call of key/value. `isGranted`: the gateway's word, see `Gate.ask`. */
export type KvDemand = Extract<Demand, { readonly kind: 'kv-read' | 'kv-write' }>;

/** A call, as the gate judges it. */
export type Demand =
  | { readonly kind: 'kv-read'; readonly isGranted?: true }
  /** Upper bounds of what it adds. */
  | {
      readonly kind: 'kv-write';
      readonly rows: number;
      readonly bytes: number;
      readonly isGranted?: true;
    }
  /** Lists and peeks, which no switch stops. */
  | { readonly kind: 'timer-read' }
  | { readonly kind: 'timer-write'; readonly timers: number }
  /**
   * Key/value and timers in a transaction, which asks for no tokens, because the message plane
   * never tells a client to wait, and whose switches are the leader's to ask.
   */
  | {
      readonly kind: 'transaction';
      readonly hasKv: boolean;
      readonly rows: number;
      readonly bytes: number;
      readonly timers: number;
    }
  /** `messages`: each costs a token. */
  | { readonly kind: 'ephemeral-push'; readonly messages: number }
  | { readonly kind: 'ephemeral' };

export type GateCode =
  | 'kv_disabled'
  | 'timers_disabled'
  | 'ephemeral_disabled'
  | 'feature_gated'
  | 'kv_unavailable'
  | 'ephemeral_unavailable'
  | 'rate_limited'
  | 'kv_quota_exceeded'
  | 'timers_quota_exceeded'
  | 'ephemeral_quota_exceeded';

export interface GateRefusal {
  readonly code: GateCode;
  /** 0: without `Retry-After`. */
  readonly retryAfterSeconds: number;
}

/** The operation at `index` is a timer beyond the horizon that the tenant's grant allows. */
export interface TooFar {
  readonly code: 'timer_horizon_exceeded';
  readonly index: number;
  readonly horizonSeconds: number;
}

export type Refuse = (refusal: GateRefusal | TooFar) => void;

/** A demand that no gate has judged yet. */
export interface OpenDemand {
  readonly tenant: string;
  readonly demand: Demand;
  /** Answers a call that is not let in. */
  readonly refuse: Refuse;
}
