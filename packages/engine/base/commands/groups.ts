/**
 * Commands that move or end what a consumer group has on many partitions at once (message-plane 9,
 * inspection 3.4 to 3.6), and their outcome. How they are carried out stands in `group-changes.ts`.
 */
import type { Tenant } from './commands.js';

interface GroupCommandBase {
  readonly tenant: Tenant;
  /**
   * A UUID, drawn once for what the client asked and the same however often the command is sent:
   * what takes many turns is found again by it, under any leader.
   */
  readonly changeId: string;
  readonly consumerGroup: string;
}

/** Puts cursors to the end, or before the first append stamped at or after an instant. */
export interface SeekCommand extends GroupCommandBase {
  readonly kind: 'seek';
  readonly queue: string;
  /** null: every partition of the queue. */
  readonly partition: string | null;
  /** null: the end. */
  readonly targetUs: number | null;
}

/** Forgets cursors and, if asked to, registrations. */
export interface DeleteGroupCommand extends GroupCommandBase {
  readonly kind: 'delete-group';
  /** null: every queue of the tenant. */
  readonly queue: string | null;
  readonly deleteMetadata: boolean;
}

/** Gives every registration of the group another start point. */
export interface SubscribeGroupCommand extends GroupCommandBase {
  readonly kind: 'subscribe-group';
  readonly atUs: number;
}

export type GroupCommand = SeekCommand | DeleteGroupCommand | SubscribeGroupCommand;

export interface GroupChangedOutcome {
  readonly kind: 'group-changed';
  /** Queues that were looked at; of a seek to a partition that does not exist, none. */
  readonly queues: number;
  /** Cursors put somewhere, cursors forgotten, or registrations rewritten. */
  readonly changed: number;
}
