/**
 * The id of a delivered message: `e:<incarnation hex>:<partition>:<sequence>` (state-surfaces 4.2),
 * opaque to clients. The incarnation is that of the ring: a ring that was emptied by force, moved
 * or made anew is another one, so an id of its former life can never settle a message of this one.
 */

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

/** null: no broker minted it. A partition may hold colons itself. */
export function parseMessageId(text: string): MessageId | null {
  const second = text.indexOf(':', PREFIX.length);
  const last = text.lastIndexOf(':');
  if (!text.startsWith(PREFIX) || second < 0 || last <= second) return null;
  const incarnation = text.slice(PREFIX.length, second);
  const sequence = text.slice(last + 1);
  if (!INCARNATION.test(incarnation) || !SEQUENCE.test(sequence)) return null;
  return {
    incarnation: Number.parseInt(incarnation, 16),
    partition: text.slice(second + 1, last),
    sequence: Number(sequence),
  };
}
