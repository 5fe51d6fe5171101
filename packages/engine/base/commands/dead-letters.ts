/** Commands over dead letters (inspection 1.3, 1.4, 2.2, 2.3). */
import type { Tenant } from './commands.js';

/** A message as requests call it: its partition by digits or UUID, and its transaction id. */
export interface MessageAddress {
  readonly kind: 'address';
  readonly partitionId: string;
  readonly transactionId: string;
}

/** Removes what it names, in as many entries as it takes; answered when the last row is gone. */
export interface DropDeadLettersCommand {
  readonly kind: 'drop-dead-letters';
  readonly tenant: Tenant;
  readonly target:
    | MessageAddress
    /** `group` null: every group. */
    | { readonly kind: 'queue'; readonly queue: string; readonly group: string | null };
}

export interface DeadLettersDroppedOutcome {
  readonly kind: 'dead-letters-dropped';
  readonly deleted: number;
  /** False only in the record of a request that is still at work. */
  readonly isDone: boolean;
}

/** Pushes a dead letter again and removes it, in one entry. */
export interface ReplayCommand {
  readonly kind: 'replay';
  readonly tenant: Tenant;
  readonly letter: MessageAddress | { readonly kind: 'id'; readonly id: string };
  /** Where to, instead of where it came from; null: not named. */
  readonly queue: string | null;
  readonly partition: string | null;
}

export const REPLAY_RESULTS = ['moved', 'duplicate', 'too_large', 'name_too_long'] as const;

/** `moved`: pushed, and the row is gone. Everything else leaves the row alone. */
export interface Replay {
  readonly result: (typeof REPLAY_RESULTS)[number];
  /** Where to. */
  readonly queue: string;
  readonly partition: string;
  readonly group: string;
  readonly deadLetterId: string;
  /** The message that died had it. */
  readonly transactionId: string;
  /** The message that was stored has it; "" when none was. */
  readonly messageId: string;
}

export interface ReplayedOutcome {
  readonly kind: 'replayed';
  /** null: there is no such dead letter. */
  readonly replay: Replay | null;
}
