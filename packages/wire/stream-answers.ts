/** Answers of the stream routes (streams 2 to 4). */

export interface StreamRegisteredAnswer {
  readonly success: true;
  readonly query_id: string;
  readonly name: string;
  readonly config_hash: string;
  /** The name was new. */
  readonly fresh: boolean;
  /** All state of the query is gone. */
  readonly reset: boolean;
}

export interface StreamMismatchAnswer {
  readonly success: false;
  readonly query_id: string;
  readonly name: string;
  readonly error: string;
}

export interface StreamDeniedAnswer {
  readonly success: false;
  readonly denied: true;
  readonly error: string;
}

export interface StreamStateAnswerBody {
  readonly success: true;
  /** Ascending by the bytes of the key. */
  readonly rows: readonly StreamStateAnswerRow[];
}

export interface StreamStateAnswerRow {
  readonly key: string;
  readonly value: unknown;
  readonly updated_at: string;
}

export interface StreamCycleAnswer {
  readonly success: true;
  readonly query_id: string;
  /** Digits, whatever the request called it. */
  readonly partition_id: string;
  readonly queueName: string;
  readonly state_ops_applied: number;
  /** In the order of the items that were not skipped. */
  readonly push_results: readonly StreamPushResult[];
  /** null: none was asked for. */
  readonly ack_result: StreamAckResult | null;
}

export interface StreamPushResult {
  readonly queueName: string;
  readonly messageId: string;
  readonly transactionId: string;
  readonly status: 'created';
}

export interface StreamAckResult {
  readonly success: true;
  readonly count: number;
  readonly lease_released: boolean;
  readonly dlq: false;
}

export interface StreamCycleRefusedAnswer {
  readonly success: false;
  readonly error: string;
  readonly reason: 'bad_lease' | 'duplicate' | 'too_large';
}

/** Status 404. */
export interface StreamCycleMissingAnswer {
  readonly success: false;
  readonly error: string;
}
