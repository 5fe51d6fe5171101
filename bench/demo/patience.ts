// How the demo's clients meet a node that is away: they try again, and not for ever.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, HttpExchange } from '../rig/http-exchange.js';

const PAUSE_MS = 50;
const PATIENCE_MS = 90_000;
const ANSWER_TIMEOUT_MS = 10_000;
/** Statuses that say nothing final: the request may be sent again as it is. */
const RETRIED_STATUSES = new Set([500, 503]);

/**
 * Sends the request until it is answered with something final. Only for requests that may be
 * repeated without harm. Throws the last failure after a minute and a half without an answer, and
 * at once when `cancelled` says so.
 */
export async function persist(
  exchange: HttpExchange,
  method: string,
  path: string,
  body: string | Uint8Array | undefined,
  cancelled: () => boolean,
): Promise<Answer> {
  const startedMs = performance.now();
  for (;;) {
    const failure = await attempt(exchange, method, path, body);
    if (!(failure instanceof Error)) {
      return failure;
    }
    if (cancelled() || performance.now() - startedMs > PATIENCE_MS) {
      throw failure;
    }
    await sleep(PAUSE_MS);
  }
}

/** One try: the final answer, or why there is none. */
export async function attempt(
  exchange: HttpExchange,
  method: string,
  path: string,
  body: string | Uint8Array | undefined,
): Promise<Answer | Error> {
  try {
    const answer = await exchange.request(method, path, body, ANSWER_TIMEOUT_MS);
    return RETRIED_STATUSES.has(answer.status)
      ? new Error(`${path} was answered ${answer.status}: ${answer.body.toString()}`)
      : answer;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
