/**
 * The wait before a message is handed out again that was given back (`retryBackoffMs`).
 *
 * The whole partition waits for the group, or order would be lost; other partitions go on. What
 * must hold: the end of the wait is an instant in the cursor's row, decided once by the leader that
 * planned the acknowledgement, so that whoever leads next waits as long; and a queue without the
 * option pays one comparison in a row that is read anyway.
 *
 * The wait doubles with the deliveries of the message at the front. A message behind the front of
 * its batch is at the front for the first time when it comes again, and begins with the least wait.
 */
import type { QueueOptions } from '../base/commands/commands.js';

const DOUBLINGS_MAX = 31;

/** 0: at once. `attempt`: how often the message at the front was delivered. */
export function heldUntil(nowUs: number, options: QueueOptions, attempt: number): number {
  const { retryBackoffMs, retryBackoffMaxMs } = options;
  if (retryBackoffMs === 0) return 0;
  const doublings = Math.min(Math.max(attempt - 1, 0), DOUBLINGS_MAX);
  return nowUs + Math.min(retryBackoffMs * 2 ** doublings, retryBackoffMaxMs) * 1000;
}
