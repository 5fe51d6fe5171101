/** Answers of the routes of ephemeral queues (state-surfaces 4.2). */

export interface EphemeralPushAnswer {
  readonly pushed: number;
}

export interface EphemeralPopAnswer {
  readonly queue: string;
  readonly messages: readonly {
    /** Opaque: `e:<incarnation hex>:<partition>:<sequence>`. */
    readonly id: string;
    readonly partition: string;
    /** Deliveries that failed before this one. */
    readonly attempts: number;
    /** As it was pushed, byte for byte. */
    readonly payload: unknown;
  }[];
}

export interface EphemeralAckAnswer {
  readonly results: readonly {
    readonly id: string;
    readonly outcome: 'acked' | 'redelivered' | 'stale' | 'unknown';
  }[];
}

/** What is null is not stated. */
export interface EphemeralDeclaredOptions {
  readonly maxBytes?: number | null;
  readonly maxLength?: number | null;
  readonly policy?: 'reject' | 'dropOldest' | null;
  readonly ttlSeconds?: number | null;
  readonly leaseSeconds?: number | null;
  readonly retryLimit?: number | null;
  readonly windowBuffer?: { readonly ms: number; readonly count: number } | null;
}

export interface EphemeralConfigureAnswer {
  readonly queue: string;
  /** As they were sent. */
  readonly options: EphemeralDeclaredOptions;
  readonly declared: true;
}

export interface EphemeralResetAnswer {
  readonly queue: string;
  /** Messages of the node that was asked. */
  readonly dropped: number;
}

export interface EphemeralDeleteAnswer {
  readonly queue: string;
  /** Both say whether it was declared. */
  readonly deleted: boolean;
  readonly declared: boolean;
}

/** In force. */
export interface EphemeralOptionsView {
  readonly maxBytes: number;
  readonly maxLength: number;
  readonly policy: 'reject' | 'dropOldest';
  readonly ttlSeconds: number;
  readonly leaseSeconds: number;
  readonly retryLimit: number;
  readonly windowBuffer: { readonly ms: number; readonly count: number } | null;
}

export interface EphemeralQueueView {
  readonly queue: string;
  readonly tier: 'declared' | 'implicit';
  readonly depth: number;
  readonly bytes: number;
  readonly partitions: number;
  readonly groups: number;
  readonly drops: { readonly bounds: number; readonly ttl: number; readonly retry: number };
  readonly options: EphemeralOptionsView;
}

export interface EphemeralQueuesAnswer {
  readonly queues: readonly EphemeralQueueView[];
  readonly count: number;
  /** Of this node, over all tenants. */
  readonly cellBytes: number;
  /** There are more than were shown: those after `nextAfter`. */
  readonly truncated: boolean;
  readonly nextAfter: string | null;
}

export interface EphemeralDepthAnswer {
  readonly queue: string;
  readonly group: string | null;
  readonly tier: 'declared' | 'implicit';
  readonly pending: number;
  readonly partitionsPending: number;
  readonly bytes: number;
  readonly partitions: readonly {
    readonly partition: string;
    readonly pending: number;
    readonly bytes: number;
  }[];
  readonly groups: readonly {
    readonly group: string;
    readonly pending: number;
    readonly skipped: number;
  }[];
}
