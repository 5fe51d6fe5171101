/** Answers about timers (state-surfaces 3.2). */

/** Of an operation that did something. */
export interface TimerDoneAnswer {
  readonly ok: true;
  readonly status: 'scheduled' | 'rescheduled' | 'cancelled';
  readonly queue: string;
  readonly timerKey: string;
  /** Of a cancelled one: what it had. */
  readonly txn: string;
  /** Of the message that it will be. Absent when it was cancelled, as the next one. */
  readonly messageId?: string;
  readonly deliverAt?: string;
}

/** Of a cancellation that found nothing. */
export interface TimerAbsentAnswer {
  readonly ok: false;
  readonly status: 'absent';
  readonly queue: string;
  readonly timerKey: string;
  /** The caller's. */
  readonly txn: string | null;
}

export type TimerResultAnswer = TimerDoneAnswer | TimerAbsentAnswer;

export interface TimersAnswer {
  readonly results: readonly TimerResultAnswer[];
}

export interface TimerRowAnswer {
  readonly queue: string;
  readonly timerKey: string;
  readonly partition: string;
  readonly deliverAt: string;
  readonly txn: string;
  readonly messageId: string;
  /** Payloads are stored decompressed. */
  readonly payloadZstd: false;
  readonly encrypted: boolean;
  readonly producerSub: string | null;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly claimed: false;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface TimerFoundAnswer extends TimerRowAnswer {
  readonly found: true;
  /** base64, as it is stored. */
  readonly payload: string;
}

export interface TimerMissingAnswer {
  readonly found: false;
  readonly queue: string;
  readonly timerKey: string;
}

export type TimerPeekAnswer = TimerFoundAnswer | TimerMissingAnswer;

/** A queue that has timers. */
export interface TimerQueueRow {
  readonly queue: string;
  readonly pending: number;
  /** When the next one is due. */
  readonly nextAt: string;
}

export interface TimerQueuesAnswer {
  readonly timers: readonly TimerQueueRow[];
  /** Present in a page only. */
  readonly nextAfter?: string | null;
}

export interface TimerListAnswer {
  readonly rows: readonly TimerRowAnswer[];
  readonly truncated: boolean;
  readonly nextAfter: string | null;
}
