/**
 * The options of a client, checked when it is made: what is wrong is refused with a text that says
 * what to write instead, before anything is sent.
 */
import { flag, misuse, oneOf, refuseUnknown, whole } from '../base/checks.js';
import { type Duration, durationMs } from '../base/durations.js';
import { shown } from '../base/errors.js';
import { type Logger, usualLogger } from '../base/log.js';
import { type Fetch, NODE } from '../base/platform.js';

export type Strategy = 'affinity' | 'round-robin' | 'session';

export interface Retry429 {
  /** Tries in all; a long poll has no such end. */
  readonly maxAttempts?: number;
  readonly baseMs?: number;
  /** The longest delay, also where a `Retry-After` asks for more. */
  readonly capMs?: number;
}

export interface ClientOptions {
  /** One broker: `http://127.0.0.1:6632`. */
  readonly url?: string;
  /** The nodes of one cluster. */
  readonly urls?: readonly string[];
  /** For each try, 30 s; a long poll adds the time it waits. */
  readonly timeoutMillis?: Duration;
  /** Tries in all after network errors and 5xx: 3. */
  readonly retryAttempts?: number;
  /** Before the second round over the servers, doubled for each further one to `capMs`: 1 s. */
  readonly retryDelayMillis?: Duration;
  /** `affinity`: a queue, partition and group stay with one server. */
  readonly loadBalancingStrategy?: Strategy;
  /** Places of each server on the ring of `affinity`: 128. */
  readonly affinityHashRing?: number;
  /** Whether the next server is tried when one fails: true. */
  readonly enableFailover?: boolean;
  /** A server that failed is tried last for so long: 5 s. */
  readonly healthRetryAfterMillis?: Duration;
  readonly bearerToken?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The `Host` to ask for instead of the address. On Node alone. */
  readonly hostHeader?: string;
  /** Close the client on SIGINT and SIGTERM, then end by the signal: false. On Node alone. */
  readonly handleSignals?: boolean;
  readonly retry429?: Retry429;
  /** Anything with `warn` and `error`; silent without. */
  readonly logger?: Logger;
  /** Log to the console, one JSON object a line. */
  readonly structuredLogs?: boolean;
  /** Instead of the global one. */
  readonly fetch?: Fetch;
}

export interface Settings {
  /** Without a slash at their ends; at least one. */
  readonly urls: readonly string[];
  readonly timeoutMs: number;
  readonly attemptsMax: number;
  readonly retryDelayMs: number;
  readonly strategy: Strategy;
  readonly placesPerServer: number;
  readonly failover: boolean;
  readonly healthRetryMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly hostHeader: string | undefined;
  readonly fetch: Fetch | undefined;
  readonly handleSignals: boolean;
  readonly retry429: Required<Retry429>;
  readonly logger: Logger;
}

const STRATEGIES: readonly Strategy[] = ['affinity', 'round-robin', 'session'];
const PLACES_MAX = 4096;
const FORM =
  "write new Client('http://127.0.0.1:6632'), a list of such URLs, or { url } with options";

const OPTIONS =
  'url urls timeoutMillis retryAttempts retryDelayMillis loadBalancingStrategy affinityHashRing ' +
  'enableFailover healthRetryAfterMillis bearerToken headers hostHeader handleSignals retry429 ' +
  'logger structuredLogs fetch';
/** What other clients call them, where the names are not alike. */
const OTHER_NAMES: Readonly<Record<string, keyof ClientOptions>> = {
  server: 'url',
  servers: 'urls',
  brokers: 'urls',
  retries: 'retryAttempts',
  apiKey: 'bearerToken',
};

export function settingsOf(given: string | readonly string[] | ClientOptions): Settings {
  const options = optionsOf(given);
  for (const name of Object.keys(options)) {
    const meant = OTHER_NAMES[name];
    if (meant !== undefined) throw new TypeError(`a client has no option ${name}: write ${meant}`);
  }
  refuseUnknown(options, OPTIONS, 'a client');
  const { enableFailover = true, loadBalancingStrategy = 'affinity' } = options;
  const { handleSignals = false, hostHeader } = options;
  if (NODE === undefined && hostHeader !== undefined) {
    throw new TypeError(
      'hostHeader works on Node alone, since browsers set Host themselves: use the name in url',
    );
  }
  if (hostHeader !== undefined && options.fetch !== undefined) {
    throw new TypeError('fetch and hostHeader are both given: let your fetch send the Host');
  }
  const isName = typeof hostHeader === 'string' && /^[\x21-\x7e]+$/.test(hostHeader);
  if (hostHeader !== undefined && !isName) {
    throw misuse('hostHeader', hostHeader, 'a host name like "broker.example"');
  }
  if (options.fetch !== undefined && typeof options.fetch !== 'function') {
    throw misuse('fetch', options.fetch, 'a function like the global one');
  }
  if (NODE === undefined && handleSignals) {
    throw new TypeError('handleSignals works on Node alone: call close() when the page ends');
  }
  return {
    urls: urlsOf(options),
    timeoutMs: durationMs(options.timeoutMillis ?? 30_000, 'timeoutMillis', 1),
    attemptsMax: whole(options.retryAttempts ?? 3, 'retryAttempts'),
    retryDelayMs: durationMs(options.retryDelayMillis ?? 1000, 'retryDelayMillis'),
    strategy: oneOf(loadBalancingStrategy, 'loadBalancingStrategy', STRATEGIES),
    placesPerServer: whole(options.affinityHashRing ?? 128, 'affinityHashRing', 1, PLACES_MAX),
    failover: flag(enableFailover, 'enableFailover'),
    healthRetryMs: durationMs(options.healthRetryAfterMillis ?? 5000, 'healthRetryAfterMillis'),
    headers: headersOf(options),
    hostHeader,
    fetch: options.fetch,
    handleSignals: flag(handleSignals, 'handleSignals'),
    retry429: retry429Of(options.retry429 ?? {}),
    logger: loggerOf(options),
  };
}

function optionsOf(given: string | readonly string[] | ClientOptions): ClientOptions {
  if (typeof given === 'string') return { url: given };
  if (Array.isArray(given)) return { urls: given as readonly string[] };
  if (typeof given === 'object' && given !== null) return given as ClientOptions;
  throw new TypeError(`a client needs the address of a broker, not ${shown(given)}: ${FORM}`);
}

function urlsOf({ url, urls }: ClientOptions): string[] {
  if (url !== undefined && urls !== undefined) {
    throw new TypeError('url and urls are both given: write one of them');
  }
  const list = urls ?? (url === undefined ? [] : [url]);
  if (!Array.isArray(list) || list.length === 0) {
    throw new TypeError(`a client needs the address of a broker: ${FORM}`);
  }
  return [...new Set(list.map(baseOf))];
}

function baseOf(text: unknown): string {
  const refused = (why: string) =>
    new TypeError(`the URL ${shown(text)} ${why}: write it like http://127.0.0.1:6632`);
  if (typeof text !== 'string') throw refused('is no text');
  if (!/^https?:\/\//i.test(text)) throw refused('does not begin with http:// or https://');
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw refused('cannot be read');
  if (url.username !== '' || url.password !== '') {
    throw refused('has a credential in it, which goes into bearerToken or headers');
  }
  if (url.search !== '' || url.hash !== '') throw refused('has a query or a fragment');
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

function headersOf({ bearerToken, headers = {} }: ClientOptions): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string') {
      throw misuse(`the header ${name}`, value, 'a text');
    }
    if (!canBeSent(name, value)) {
      const text = `headers has ${shown(name)}: ${shown(value)}, which cannot be sent`;
      throw new TypeError(`${text}: write a name of letters and dashes, and a value of one line`);
    }
    const lower = name.toLowerCase();
    if (lower === 'host') throw new TypeError('headers names Host: write hostHeader instead');
    found[lower] = value;
  }
  if (bearerToken === undefined) return found;
  if (typeof bearerToken !== 'string' || !/^[\x21-\x7e]+$/.test(bearerToken)) {
    throw new TypeError('bearerToken is no token: write the token alone, without "Bearer "');
  }
  if (found.authorization !== undefined) {
    throw new TypeError('bearerToken and headers.authorization are both given: write one of them');
  }
  found.authorization = `Bearer ${bearerToken}`;
  return found;
}

/** `fetch` would refuse it at each call, as if the network had failed. */
function canBeSent(name: string, value: string): boolean {
  try {
    return new Headers([[name, value]]) !== null;
  } catch {
    return false;
  }
}

function retry429Of(given: Retry429) {
  refuseUnknown(given, 'maxAttempts baseMs capMs', 'retry429');
  const { maxAttempts = 10, baseMs = 500, capMs = 30_000 } = given;
  return {
    maxAttempts: whole(maxAttempts, 'retry429.maxAttempts'),
    baseMs: durationMs(baseMs, 'retry429.baseMs'),
    capMs: durationMs(capMs, 'retry429.capMs'),
  };
}

function loggerOf({ logger, structuredLogs }: ClientOptions): Logger {
  if (logger === undefined) return usualLogger(structuredLogs);
  if (typeof logger.warn === 'function' && typeof logger.error === 'function') return logger;
  throw new TypeError('logger needs the functions warn and error: write console, or your logger');
}
