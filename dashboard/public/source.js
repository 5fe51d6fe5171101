/**
 * One address, asked again and again. The next request waits for the answer of this one, and longer
 * the longer it took, so that a page never adds load to a node that is slow. A hidden page asks
 * nothing.
 */
import { accessOf, headersOf } from './access.js';

const PERIOD_MS = 2000;
const PERIOD_MS_MAX = 60_000;
/** At most a twentieth of the time is spent asking. */
const REST_FACTOR = 19;
const TIMEOUT_MS = 15_000;

/**
 * `question` is a path, or a path and a body to be posted. `onAnswer` gets the parsed body of a
 * 200, and of any other status that `accepts`; `onError` gets a text for everything else, and the
 * status where there is one. Returns what ends the asking.
 */
export function poll(question, { accepts = [], onAnswer, onError }) {
  const { path, body } = typeof question === 'string' ? { path: question } : question;
  let ended = false;
  let timer = null;
  const turn = async () => {
    const startedMs = performance.now();
    let waitMs = 0;
    try {
      const response = await ask(path, body);
      if (ended) return;
      waitMs = retryAfterMs(response);
      if (response.ok || accepts.includes(response.status)) onAnswer(await response.json());
      else
        onError(`${path} answered ${response.status}${await reasonOf(response)}`, response.status);
    } catch (error) {
      if (ended) return;
      onError(
        error.name === 'TimeoutError' ? `${path} does not answer` : 'the node is not reachable',
      );
    }
    const tookMs = performance.now() - startedMs;
    const restMs = Math.min(Math.max(PERIOD_MS, tookMs * REST_FACTOR), PERIOD_MS_MAX);
    if (!ended) timer = setTimeout(whenVisible, Math.max(restMs, waitMs));
  };
  const whenVisible = () => {
    if (ended) return;
    if (document.visibilityState === 'visible') turn();
    else document.addEventListener('visibilitychange', whenVisible, { once: true });
  };
  whenVisible();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

/** One request; with a body it is posted. */
export function ask(path, body, msMax = TIMEOUT_MS) {
  const signal = AbortSignal.timeout(msMax);
  const headers = headersOf(accessOf(sessionStorage));
  if (body === undefined) return fetch(path, { signal, headers });
  headers['content-type'] = 'application/json';
  return fetch(path, { signal, headers, method: 'POST', body: JSON.stringify(body) });
}

function retryAfterMs(response) {
  if (response.status !== 429 && response.status !== 503) return 0;
  const seconds = Number(response.headers.get('retry-after') ?? 0);
  return Number.isFinite(seconds) ? Math.min(seconds * 1000, PERIOD_MS_MAX) : 0;
}

/** The `error` of the body, where it has one. */
export async function reasonOf(response) {
  const body = await response.json().catch(() => null);
  return typeof body?.error === 'string' ? `: ${body.error}` : '';
}
