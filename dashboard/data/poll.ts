/**
 * One question, asked again and again. The next request waits for the answer of this one, and
 * longer the longer answers take, so that a page never adds load to a node that is slow. A hidden
 * page asks nothing, and a page that is left gives up what it asked.
 *
 * What was answered last stays when the next request fails, with the time of its answer. It stays
 * with another token too, so that nothing typed into the page goes when one ends; unless that token
 * is refused it, for then it was shown to somebody else.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { CallError } from '../base/call-error.js';
import { restMs, retryMs, TIMES_KEPT } from '../base/poll-rest.js';
import { access } from './access.js';
import { useStore } from './use-store.js';

const REST_MS_MAX = 60_000;
/** The shortest answer to any question: what the way takes, which costs the node nothing. */
let wayMs = Number.POSITIVE_INFINITY;

export interface Poll<Data> {
  /** null: nothing was answered yet. */
  readonly data: Data | null;
  /** The answer is to the question before this one, whose answer is on its way. */
  readonly isFormer?: boolean;
  readonly answeredAtMs: number | null;
  /** How the last request failed. */
  readonly error: CallError | null;
  /** Asks at once. */
  readonly refresh: () => void;
}

/** Before the shell is there to ask. */
export const NO_POLL: Poll<never> = {
  data: null,
  answeredAtMs: null,
  error: null,
  refresh: () => {},
};

export const EVERY_MS = 2_000;
/** For lists of a thousand rows: a node spends some ten milliseconds on one. */
export const EVERY_MS_LIST = 10_000;
/** For figures that a node counts by the minute. */
export const EVERY_MS_SLOW = 15_000;

type Ask<Data> = (signal: AbortSignal) => Promise<Data>;

interface Kept<Data> {
  readonly key: string;
  readonly data: Data | null;
  readonly answeredAtMs: number | null;
  readonly error: CallError | null;
  /** With which it was answered. */
  readonly token: string;
}

/** A question that is typed is asked once its reader pauses for so long. */
const TYPING_MS = 250;

export interface PollOptions {
  /** For an answer that a node waits for rather than works for. */
  readonly restMsMax?: number;
  /**
   * The question changes while it is typed: what was answered to the last one stays until this one
   * is answered, and is marked as old.
   */
  readonly isTyped?: boolean;
}

/**
 * `key` names the question: what was answered to another one is dropped, unless it is typed. null:
 * nothing is asked. `ask` may be another function each time; the newest is used.
 */
export function usePoll<Data>(
  key: string | null,
  ask: Ask<Data>,
  everyMs: number = EVERY_MS,
  { restMsMax = REST_MS_MAX, isTyped = false }: PollOptions = {},
): Poll<Data> {
  const { token, tenant } = useStore(access);
  const question = key === null ? '' : `${key}\n${tenant}`;
  const [kept, setKept] = useState<Kept<Data>>(nothing(question));
  const current = useRef(ask);
  current.current = ask;
  const again = useRef<() => void>(() => {});
  useEffect(() => {
    if (key === null) return;
    const loop = new Loop({ question, token, everyMs, restMsMax }, current, setKept);
    const isNext = isTyped && kept.data !== null && kept.key !== question;
    loop.begin(isNext ? TYPING_MS : 0);
    again.current = () => loop.askNow();
    return () => loop.end();
  }, [question, token, everyMs, restMsMax]);
  const refresh = useCallback(() => again.current(), []);
  const isFormer = kept.key !== question;
  if (isFormer && !(isTyped && isOfSameReader(kept.key, tenant))) {
    return { ...nothing<Data>(question), refresh };
  }
  const { data, answeredAtMs, error } = kept;
  return { data, answeredAtMs, error: isFormer ? null : error, isFormer, refresh };
}

/** Nothing that one tenant was told is shown to another. */
function isOfSameReader(question: string, tenant: string): boolean {
  return question.slice(question.lastIndexOf('\n') + 1) === tenant;
}

function nothing<Data>(key: string): Kept<Data> {
  return { key, data: null, answeredAtMs: null, error: null, token: '' };
}

interface Question {
  readonly question: string;
  readonly token: string;
  readonly everyMs: number;
  readonly restMsMax: number;
}

class Loop<Data> {
  readonly #key: string;
  readonly #token: string;
  readonly #ask: { readonly current: Ask<Data> };
  readonly #everyMs: number;
  readonly #restMsMax: number;
  readonly #set: (change: (kept: Kept<Data>) => Kept<Data>) => void;
  readonly #leaving = new AbortController();
  #timer: ReturnType<typeof setTimeout> | null = null;
  readonly #answeredMs: number[] = [];
  #isAsking = false;
  #failures = 0;
  /** Somebody asked for an answer newer than the one that is under way. */
  #isStaleAlready = false;

  constructor(
    { question, token, everyMs, restMsMax }: Question,
    ask: { readonly current: Ask<Data> },
    set: (change: (kept: Kept<Data>) => Kept<Data>) => void,
  ) {
    this.#key = question;
    this.#token = token;
    this.#ask = ask;
    this.#everyMs = everyMs;
    this.#restMsMax = restMsMax;
    this.#set = set;
  }

  begin(afterMs: number): void {
    if (afterMs === 0) this.#whenVisible();
    else this.#timer = setTimeout(this.#whenVisible, afterMs);
  }

  askNow(): void {
    if (this.#isAsking) this.#isStaleAlready = true;
    else void this.#turn();
  }

  end(): void {
    this.#leaving.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#whenVisible);
  }

  readonly #whenVisible = (): void => {
    document.removeEventListener('visibilitychange', this.#whenVisible);
    if (document.visibilityState === 'visible') void this.#turn();
    else document.addEventListener('visibilitychange', this.#whenVisible);
  };

  async #turn(): Promise<void> {
    if (this.#isAsking || this.#leaving.signal.aborted) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#isAsking = true;
    this.#isStaleAlready = false;
    const startedMs = performance.now();
    let failed: CallError | null = null;
    this.#failures++;
    try {
      const data = await this.#ask.current(this.#leaving.signal);
      const [key, token] = [this.#key, this.#token];
      this.#failures = 0;
      this.#keep(() => ({ key, token, data, answeredAtMs: Date.now(), error: null }));
    } catch (thrown) {
      const error = thrown instanceof CallError ? thrown : faultOf(thrown);
      failed = error;
      this.#keep((kept) => ({ ...(this.#stays(kept, error) ? kept : nothing(this.#key)), error }));
    }
    this.#isAsking = false;
    if (this.#leaving.signal.aborted) return;
    const tookMs = performance.now() - startedMs;
    this.#timer = setTimeout(
      this.#whenVisible,
      this.#isStaleAlready ? 0 : this.#rest(tookMs, failed),
    );
  }

  /** Milliseconds until the next request, after one that took so long. */
  #rest(tookMs: number, failed: CallError | null): number {
    if (failed !== null) {
      return Math.max(retryMs(this.#everyMs, this.#failures, failed.retryAfterMs), tookMs);
    }
    wayMs = Math.min(wayMs, tookMs);
    this.#answeredMs.push(tookMs);
    if (this.#answeredMs.length > TIMES_KEPT) this.#answeredMs.shift();
    const [everyMs, restMsMax] = [this.#everyMs, this.#restMsMax];
    return restMs(this.#answeredMs, { everyMs, wayMs, restMsMax });
  }

  #stays({ key, token }: Kept<Data>, { status }: CallError): boolean {
    if (key !== this.#key) return false;
    return token === this.#token || (status !== 401 && status !== 403);
  }

  #keep(change: (kept: Kept<Data>) => Kept<Data>): void {
    if (!this.#leaving.signal.aborted) this.#set(change);
  }
}

/** A fault of the page itself is shown like any other, and told to the console. */
function faultOf(thrown: unknown): CallError {
  reportError(thrown);
  return new CallError('unreadable', `the answer could not be read (${String(thrown)})`);
}
