/**
 * A platform without a network or a clock: a script answers each request, and time moves only from
 * one timer to the next, when nothing else is left to do.
 */
import type { HeardResponse, Platform, SentRequest } from './platform.js';

export interface FakeRequest extends Omit<SentRequest, 'signal'> {
  readonly server: string;
  /** Path and query. */
  readonly path: string;
  readonly signal: AbortSignal;
  readonly atMs: number;
}

/** A text is a body of status 200, an object another one as JSON; an error is thrown. */
export type Reply =
  | string
  | Error
  | {
      readonly status?: number;
      readonly json?: unknown;
      readonly text?: string;
      readonly headers?: Readonly<Record<string, string>>;
      /** The connection ends within the body. */
      readonly cut?: boolean;
      /** Called when the head has come and the body has not. */
      readonly onHead?: () => void;
    };

export type Script = (request: FakeRequest, nth: number) => Reply | Promise<Reply>;

interface Timer {
  atMs: number;
  readonly act: () => void;
}

export class FakePlatform implements Platform {
  readonly requests: FakeRequest[] = [];
  /** What `random` gives. */
  chance = 0.5;
  #nowMs = 1_700_000_000_000;
  #setMs = 0;
  #timers: Timer[] = [];
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  readonly fetch = async (url: string, sent: SentRequest): Promise<HeardResponse> => {
    const { origin, pathname, search } = new URL(url);
    const request = { ...sent, server: origin, path: pathname + search, atMs: this.#nowMs };
    const nth = this.requests.push(request) - 1;
    const reply = await Promise.race([this.#script(request, nth), abortOf(sent.signal)]);
    if (reply instanceof Error) throw reply;
    const {
      status = 200,
      json,
      text,
      headers = {},
      cut,
      onHead,
    } = typeof reply === 'string' ? { text: reply } : reply;
    return {
      status,
      headers: { get: (name) => headers[name] ?? null },
      text: async () => {
        onHead?.();
        if (sent.signal.aborted) throw sent.signal.reason;
        if (cut) throw new TypeError('terminated');
        return text ?? (json === undefined ? '' : JSON.stringify(json));
      },
    };
  };

  nowMs(): number {
    return this.#nowMs;
  }

  upMs(): number {
    return this.#nowMs - this.#setMs;
  }

  /** Somebody sets the date. */
  setDate(byMs: number): void {
    this.#nowMs += byMs;
    this.#setMs += byMs;
    for (const timer of this.#timers) timer.atMs += byMs;
  }

  after(ms: number, act: () => void): () => void {
    const timer = { atMs: this.#nowMs + ms, act };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  random(): number {
    return this.chance;
  }

  /** Lets everything happen until `promise` is settled. */
  async settled<Value>(promise: Promise<Value>): Promise<Value> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    promise.then(settle, settle);
    await quiet();
    for (let steps = 0; !isSettled; steps++) {
      if (!this.#step() || steps > 10_000) throw new Error('nothing is left that could settle it');
      await quiet();
    }
    return promise;
  }

  /** Lets everything happen that does within `ms`. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await quiet();
    while (this.#timers.some(({ atMs }) => atMs <= untilMs)) {
      this.#step();
      await quiet();
    }
    this.#nowMs = untilMs;
  }

  get pendingTimers(): number {
    return this.#timers.length;
  }

  #step(): boolean {
    const [first, ...others] = this.#timers;
    if (first === undefined) return false;
    const next = others.reduce((a, b) => (b.atMs < a.atMs ? b : a), first);
    this.#timers = this.#timers.filter((one) => one !== next);
    this.#nowMs = Math.max(this.#nowMs, next.atMs);
    next.act();
    return true;
  }
}

export function refusedConnection(): Error {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  return Object.assign(new TypeError('fetch failed'), { cause });
}

export function lostConnection(): Error {
  const cause = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
  return Object.assign(new TypeError('fetch failed'), { cause });
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Everything that needs no timer has happened. */
async function quiet(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setTimeout(resolve, 0));
}
