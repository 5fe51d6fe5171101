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

/**
 * A name in one line: what would break it, not be seen at all, or turn what follows around, is
 * shown by its number. Joiners stay: scripts and pictures are made of them.
 */
export function shownName(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${code}⟩`;
  });
}

/** Controls, marks of direction, blanks of no width, separators of lines, halves of characters. */
const UNSEEN =
  /[\p{Cc}\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\p{Cs}]/gu;

/**
 * Whether somebody has typed the name: as it is or as it is shown, for a field takes no line
 * breaks; blanks around it may be left out, but not all of it.
 */
export function isSameName(typed: string, name: string): boolean {
  if (typed === name || typed === shownName(name)) return true;
  return name.trim() !== '' && typed.trim() === name.trim();
}
