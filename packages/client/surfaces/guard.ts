/** What makes a write depend on a lock that is still held. */

/** An operation of key/value calls and transactions: nothing of the call applies without it. */
export interface KvCheck {
  readonly op: 'check';
  readonly ns: string;
  readonly key: string;
  readonly expect: number;
  readonly required: true;
}

/** A lock that is held. */
export interface Guard {
  /** Throws when the lock is lost by its own clock. */
  guard(): KvCheck;
  /**
   * `check` was refused. true: the lock was renewed meanwhile and is still held, so the call is to
   * be sent again with the guard of now; false: it is lost.
   */
  guardRefused(check: KvCheck): Promise<boolean>;
}
