/** What became of a message (inspection 1.1). */
import { type Infer, oneOf } from '@svc/schema';

export const MESSAGE_STATUSES = ['pending', 'processing', 'completed', 'dead_letter'] as const;

export const messageStatus = oneOf(...MESSAGE_STATUSES);
export type MessageStatus = Infer<typeof messageStatus>;

/**
 * Why a message became a dead letter: it failed once too often, its client said so, a timer could
 * not fire, or it was delivered too often without being completed.
 */
export const DEAD_LETTER_REASONS = ['retry_limit', 'dlq', 'timer', 'delivery_limit'] as const;
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number];
