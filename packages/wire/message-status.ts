/** What became of a message (inspection 1.1). */
import { type Infer, oneOf } from '@svc/schema';

export const MESSAGE_STATUSES = ['pending', 'processing', 'completed', 'dead_letter'] as const;

export const messageStatus = oneOf(...MESSAGE_STATUSES);
export type MessageStatus = Infer<typeof messageStatus>;
