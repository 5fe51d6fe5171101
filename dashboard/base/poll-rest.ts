/** How long a poll waits for its next request, so that no page is a burden to a node. */

/**
 * At most a twentieth of the time is spent asking a node that is slow: one of which two answers in
 * a row were. A single late one may have waited for anything, and says nothing of the next.
 */
const REST_FACTOR = 19;
const SLOW_ANSWERS = 2;
/**
 * At most half a per cent of it is the work of an answer, so that a page with several questions
 * costs a node less than a hundredth of a core, however much there is to tell. What an answer costs
 * is the shortest time of the last few: the rest of a longer one was spent waiting.
 */
const WORK_FACTOR = 199;
export const TIMES_KEPT = 5;

/** A call that failed is repeated sooner than its figures age, each time after twice as long. */
const RETRY_MS = 2_000;

interface Pace {
  /** How often the figures are worth a request. */
  readonly everyMs: number;
  /** The shortest answer to any question: what the way takes, which costs the node nothing. */
  readonly wayMs: number;
  readonly restMsMax: number;
}

/** `tookMs`: how long the last answers took, the newest at the end. */
export function restMs(tookMs: readonly number[], { everyMs, wayMs, restMsMax }: Pace): number {
  // The first answer tells nothing of its cost: a page asks for everything at once.
  if (tookMs.length < SLOW_ANSWERS) return everyMs;
  const slowMs = shortest(tookMs.slice(-SLOW_ANSWERS)) - wayMs;
  const workMs = shortest(tookMs) - wayMs;
  return Math.min(Math.max(everyMs, slowMs * REST_FACTOR, workMs * WORK_FACTOR), restMsMax);
}

const shortest = (timesMs: readonly number[]) => timesMs.reduce((a, b) => Math.min(a, b));

/** `failures`: how many requests have failed since the last answer, this one among them. */
export function retryMs(everyMs: number, failures: number, retryAfterMs: number): number {
  return Math.max(Math.min(everyMs, RETRY_MS * 2 ** (failures - 1)), retryAfterMs);
}
