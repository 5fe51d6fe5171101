/** Words of the API as people read them. */
import type { DeadLetterReason, MESSAGE_STATUSES } from '@svc/wire';

export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

export const STATUS_WORDS: Readonly<Record<MessageStatus, string>> = {
  pending: 'pending',
  processing: 'leased',
  completed: 'completed',
  dead_letter: 'dead letter',
};

const REASON_WORDS: Readonly<Record<DeadLetterReason, string>> = {
  retry_limit: 'failed too often',
  dlq: 'by its consumer',
  timer: 'timer not fired',
  delivery_limit: 'delivered too often',
};

export function reasonWords(reason: DeadLetterReason | undefined): string {
  return reason === undefined ? 'not known' : REASON_WORDS[reason];
}

/** A name in one line: what would break it, or not be seen at all, is shown by its symbol. */
export function shownName(text: string): string {
  return text.replace(/\p{Cc}/gu, (control) => {
    const code = control.charCodeAt(0);
    return String.fromCharCode(code < 0x20 ? 0x2400 + code : 0x2421);
  });
}
