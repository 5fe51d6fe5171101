/**
 * How the rim runs what it does from time to time: lines of rates, samples for the dashboard.
 *
 * Which errors end the process: an error that escapes from a timer reaches `uncaughtException`, and
 * the process ends, because a bug may have left anything half done. What the machine refuses (no
 * file descriptor, no memory, a full volume) is no bug, and a figure that is missing harms nobody;
 * so such an error costs this one run and a line in the log.
 *
 * Timers of consensus, log and state are not run this way. They do system calls through `Disk`
 * only, whose errors are `DiskError`, and after a failed write they must not go on.
 */
import { isMachineRefusal } from '@svc/http';
import type { Clock } from './clock.js';
import type { Logger } from './logging.js';

/** The same trouble is told again after this long: a minute's silence hides nothing new. */
const TELL_AGAIN_MS = 60_000;

/** `what` names the work in the line: "taking a sample". */
export function harmless(
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  what: string,
  work: () => void,
): () => void {
  let told = '';
  let toldMs = 0;
  return () => {
    try {
      work();
    } catch (error) {
      if (!isMachineRefusal(error)) throw error;
      const nowMs = clock.nowMs();
      if (error.message === told && nowMs - toldMs < TELL_AGAIN_MS) return;
      told = error.message;
      toldMs = nowMs;
      logger.warn('boot', `${what} failed, and is tried again`, { error: error.message });
    }
  };
}
