/**
 * What the client takes from where it runs: the network, the clock and chance. Nothing else of the
 * package reads them, so that tests decide what each call meets and in which order.
 */
import { onAbort } from './on-abort.js';

export interface SentRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** The part of a `Response` that is used. */
export interface HeardResponse {
  readonly status: number;
  /** Another address answered, which is `url`. */
  readonly redirected?: boolean;
  readonly url?: string;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** A `fetch`, or what does the same. */
export type Fetch = (url: string, request: SentRequest) => Promise<HeardResponse>;

export interface Platform {
  readonly fetch: Fetch;
  /** Since the epoch. */
  nowMs(): number;
  /** Since some moment; nobody sets it. */
  upMs(): number;
  /** Runs `act` once, after `ms`; the function that it gives back prevents that. */
  after(ms: number, act: () => void): () => void;
  /** From 0 to below 1. */
  random(): number;
}

/** The part of Node that is used; undefined elsewhere. */
interface NodeProcess {
  readonly versions?: { readonly node?: string };
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly pid?: number;
  /** Not in the first releases of Node 20. */
  getBuiltinModule?(name: 'node:os'): { hostname(): string };
  once(event: string, act: () => void): unknown;
  off(event: string, act: () => void): unknown;
  kill(pid: number, signal: string): unknown;
}

const { process } = globalThis as unknown as { readonly process?: NodeProcess };

export const NODE: NodeProcess | undefined =
  process?.versions?.node === undefined ? undefined : process;

export function realPlatform(fetch: Fetch = usualFetch): Platform {
  return {
    fetch,
    nowMs: () => Date.now(),
    upMs: () => performance.now(),
    after: (ms, act) => {
      const timer = setTimeout(act, Math.min(ms, TIMER_MS_MAX));
      return () => clearTimeout(timer);
    },
    random: () => Math.random(),
  };
}

/** A longer time would end at once. */
const TIMER_MS_MAX = 2_147_483_647;

const usualFetch: Fetch = (url, request) => globalThis.fetch(url, request);

/** Resolves after `ms`; rejects with the reason of `signal` when that is aborted before. */
export function sleep(platform: Platform, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const forget = onAbort(signal, () => {
      cancel();
      reject(signal?.reason);
    });
    const cancel = platform.after(ms, () => {
      forget();
      resolve();
    });
  });
}
