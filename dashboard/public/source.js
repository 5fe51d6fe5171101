/**
 * One address, asked again and again. The next request waits for the answer of this one, and longer
 * the longer it took, so that a page never adds load to a node that is slow. A hidden page asks
 * nothing.
 */

const PERIOD_MS = 2000;
const PERIOD_MS_MAX = 60_000;
/** At most a twentieth of the time is spent asking. */
const REST_FACTOR = 19;
const TIMEOUT_MS = 15_000;

/**
 * `onAnswer` gets the parsed body of a 200, and of any other status that `accepts`; `onError` gets
 * a text for everything else.
 */
export function poll(path, { accepts = [], onAnswer, onError }) {
  const turn = async () => {
    const startedMs = performance.now();
    let waitMs = 0;
    try {
      const response = await fetch(path, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      waitMs = retryAfterMs(response);
      if (response.ok || accepts.includes(response.status)) onAnswer(await response.json());
      else onError(`${path} answered ${response.status}${await reasonOf(response)}`);
    } catch (error) {
      onError(
        error.name === 'TimeoutError' ? `${path} does not answer` : 'the node is not reachable',
      );
    }
    const tookMs = performance.now() - startedMs;
    const restMs = Math.min(Math.max(PERIOD_MS, tookMs * REST_FACTOR), PERIOD_MS_MAX);
    setTimeout(whenVisible, Math.max(restMs, waitMs));
  };
  const whenVisible = () => {
    if (document.visibilityState === 'visible') turn();
    else document.addEventListener('visibilitychange', whenVisible, { once: true });
  };
  whenVisible();
}

function retryAfterMs(response) {
  if (response.status !== 429 && response.status !== 503) return 0;
  const seconds = Number(response.headers.get('retry-after') ?? 0);
  return Number.isFinite(seconds) ? Math.min(seconds * 1000, PERIOD_MS_MAX) : 0;
}

/** The `error` of the body, where it has one. */
async function reasonOf(response) {
  const body = await response.json().catch(() => null);
  return typeof body?.error === 'string' ? `: ${body.error}` : '';
}
