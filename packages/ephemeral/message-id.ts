/**
 * The id of a delivered message: `e:<incarnation hex>:<partition>:<sequence>` (state-surfaces 4.2),
 * opaque to clients. The incarnation is that of the ring: a ring that was emptied by force, moved
 * or made anew is another one, so an id of its former life can never settle a message of this one.
 */
import { EPHEMERAL_NAME_BYTES_MAX, utf8Length } from '@svc/wire';

export interface MessageId {
  readonly incarnation: number;
  readonly partition: string;
  readonly sequence: number;
}

const PREFIX = 'e:';
const INCARNATION = /^[0-9a-f]{1,12}$/;
/** Below zero: what was put in front of a ring that had begun already. */
const SEQUENCE = /^-?\d{1,15}$/;

export function formatMessageId(incarnation: number, partition: string, sequence: number): string {
  return `e:${incarnation.toString(16)}:${partition}:${sequence}`;
}

/**
 * null: no broker minted it. A partition may hold colons itself. Clients may send any text for an
 * id; one whose partition is longer than a name can be is none.
 */
export function parseMessageId(text: string): MessageId | null {
  const second = text.indexOf(':', PREFIX.length);
  const last = text.lastIndexOf(':');
  if (!text.startsWith(PREFIX) || second < 0 || last <= second) return null;
  const partition = text.slice(second + 1, last);
  if (utf8Length(partition) > EPHEMERAL_NAME_BYTES_MAX) return null;
  const incarnation = text.slice(PREFIX.length, second);
  const sequence = text.slice(last + 1);
  if (!INCARNATION.test(incarnation) || !SEQUENCE.test(sequence)) return null;
  return {
    incarnation: Number.parseInt(incarnation, 16),
    partition,
    sequence: Number(sequence),
  };
}
