/** Why retention removed messages (message-plane 11.2): for those who count it, nothing else. */
import { type Infer, oneOf } from '../base/fields/field.js';

/** Older than `retentionSeconds`; read by all and older than its own time; waited too long. */
export const trimCause = oneOf(['age', 'read', 'wait']);
export type TrimCause = Infer<typeof trimCause>;
