/**
 * Sends calls to the servers: the only place that speaks HTTP.
 *
 * A call is data. It goes to the servers in the order of the balancing strategy; a try that failed
 * goes to the next server at once, and when all had their turn the client waits (`Retry-After`, or
 * a delay that doubles with each round up to `capMs`) before the next round. 429 is apart: the
 * server is well, so the call waits and goes to the same one, and a long poll does so without an
 * end. Which failures are followed by another try at all is the table in `repeats.ts`.
 *
 * What must hold:
 * - A call that was rejected with `outcomeUnknown: false` was not applied by any try.
 * - Every try ends: by its answer, by its time, or by the caller's signal. An answer whose head has
 *   come is read to its end in spite of the signal: it may hold a lease, which the caller has to
 *   give back.
 */
import { signalOf } from '../base/checks.js';
import { ClientError, shown } from '../base/errors.js';
import { onAbort } from '../base/on-abort.js';
import { type HeardResponse, type Platform, realPlatform, sleep } from '../base/platform.js';
import { hostFetch } from './host-fetch.js';
import { type Fate, fateOf, fateOfError, isRepeated, type Repeat } from './repeats.js';
import { Servers } from './servers.js';
import type { Settings } from './settings.js';

export interface Call<Body> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With its segments encoded (`path`) and its query (`withQuery`). */
  readonly path: string;
  /** JSON text. */
  readonly body?: string;
  readonly repeat: Repeat;
  /** An earlier call for the same may have been applied. */
  readonly isRepeat?: boolean;
  /** Present: a long poll that waits so long at the server. */
  readonly waitMs?: number;
  /** For each try, instead of the client's, where an answer that comes later is worth nothing. */
  readonly timeoutMs?: number;
  /** Calls with the same key prefer the same server. */
  readonly affinity?: string;
  /** A server that answers it with a 4xx may not know pops with acks. */
  readonly carriesAcks?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Reads the text of an answer, and throws for what is none; `JSON.parse` when absent. */
  readonly read?: (text: string) => Body;
}

export interface Answer<Body> {
  readonly status: number;
  /** null: it had none (204). */
  readonly body: Body | null;
  /** A header. */
  header(name: string): string | null;
  /** An earlier try of the call may have been applied: what was refused may be its own work. */
  readonly isRepeat: boolean;
}

/** What became of one try. */
type Tried<Body> =
  | { readonly answer: Omit<Answer<Body>, 'isRepeat'> }
  | { readonly fate: Fate; readonly error: ClientError };

export class Transport {
  readonly settings: Settings;
  readonly platform: Platform;
  readonly #servers: Servers;
  #isClosed = false;

  constructor(settings: Settings, platform: Platform = platformOf(settings)) {
    this.settings = settings;
    this.platform = platform;
    this.#servers = new Servers(settings, platform);
  }

  /** Calls that are made from now on are refused. */
  close(): void {
    this.#isClosed = true;
  }

  /** A call that begins now with this affinity may carry acks, as far as is known of its server. */
  takesAcks(affinity: string): boolean {
    return this.#servers.takesAcks(affinity);
  }

  /** Rejects with a `ClientError`, or with the reason of the call's signal. */
  async call<Body = unknown>(call: Call<Body>): Promise<Answer<Body>> {
    signalOf(call.signal);
    let failures = 0;
    let isUnknown = call.isRepeat ?? false;
    for (let round = 0; ; round++) {
      let retryAfterMs: number | undefined;
      for (const server of this.#servers.order(call.affinity ?? '')) {
        const tried = await this.#tryUntilLet(call, server);
        if ('answer' in tried) return { ...tried.answer, isRepeat: isUnknown };
        const { fate, error } = tried;
        failures++;
        isUnknown ||= fate === 'unknown';
        retryAfterMs = this.#retryAfterMs(error);
        const mayRepeat = fate !== 'limited' && isRepeated(call.repeat, fate);
        if (!mayRepeat || failures >= this.settings.attemptsMax) throw judged(error, isUnknown);
        this.settings.logger.warn('a call failed and is tried again', {
          call: `${call.method} ${call.path}`,
          server: this.#servers.url(server),
          error: error.message,
        });
      }
      const { retryDelayMs, retry429 } = this.settings;
      const delayMs = retryAfterMs ?? Math.min(retry429.capMs, retryDelayMs * 2 ** round);
      await sleep(this.platform, delayMs, call.signal);
    }
  }

  /** A try that met 429 is repeated in place; another failure says something about the server. */
  async #tryUntilLet<Body>(call: Call<Body>, server: number): Promise<Tried<Body>> {
    const { maxAttempts } = this.settings.retry429;
    for (let attempt = 0; ; attempt++) {
      const tried = await this.#try(call, server);
      if ('answer' in tried || tried.fate === 'rejected' || tried.error.status === 507) {
        this.#servers.worked(server);
        const isRejected = 'fate' in tried && tried.fate === 'rejected';
        if (isRejected && call.carriesAcks === true) this.#servers.tookNoAcks(server);
        return tried;
      }
      if (tried.fate !== 'limited') {
        this.#servers.failed(server);
        return tried;
      }
      const isLast = call.waitMs === undefined && attempt + 1 >= maxAttempts;
      if (isLast || !isRepeated(call.repeat, 'limited')) return tried;
      await sleep(this.platform, this.#limitedMs(tried.error, attempt), call.signal);
    }
  }

  /** With a jitter of 20 %, so that clients that were refused together do not return together. */
  #limitedMs(error: ClientError, attempt: number): number {
    const { baseMs, capMs } = this.settings.retry429;
    const ms = this.#retryAfterMs(error) ?? Math.min(capMs, baseMs * 2 ** attempt);
    return ms * (0.8 + 0.4 * this.platform.random());
  }

  #retryAfterMs({ status, retryAfterSeconds }: ClientError): number | undefined {
    if (retryAfterSeconds === undefined || (status !== 429 && status !== 503)) return undefined;
    return Math.min(this.settings.retry429.capMs, retryAfterSeconds * 1000);
  }

  async #try<Body>(call: Call<Body>, server: number): Promise<Tried<Body>> {
    if (this.#isClosed) {
      const text = `${call.method} ${call.path} after close(): make a new Client`;
      return { fate: 'rejected', error: new ClientError(text, { code: 'closed' }) };
    }
    call.signal?.throwIfAborted();
    const limitMs = (call.timeoutMs ?? this.settings.timeoutMs) + (call.waitMs ?? 0);
    const ending = new AbortController();
    const abort = () => ending.abort(call.signal?.reason);
    const late = new Error(`no answer within ${limitMs} ms`);
    const cancelLimit = this.platform.after(limitMs, () => ending.abort(late));
    const forget = onAbort(call.signal, abort);
    try {
      const url = this.#servers.url(server) + call.path;
      const response = await this.platform.fetch(url, this.#request(call, ending.signal));
      forget();
      return await this.#heard(call, response);
    } catch (error) {
      if (ending.signal.reason === late) return failed(call, 'unknown', late, 'timed_out');
      call.signal?.throwIfAborted();
      const fate = fateOfError(error);
      return failed(call, fate, error, fate === 'unsent' ? 'unreachable' : 'connection_lost');
    } finally {
      cancelLimit();
      forget();
    }
  }

  #request<Body>({ method, body }: Call<Body>, signal: AbortSignal) {
    const { headers } = this.settings;
    if (body === undefined) return { method, headers, signal };
    return { method, headers: { ...headers, 'content-type': 'application/json' }, body, signal };
  }

  async #heard<Body>(call: Call<Body>, response: HeardResponse): Promise<Tried<Body>> {
    const { status, headers } = response;
    const text = await response.text();
    if (status >= 300) return refusal(call, response, text);
    if (status === 204)
      return { answer: { status, body: null, header: headers.get.bind(headers) } };
    try {
      const body = (call.read ?? (JSON.parse as (text: string) => Body))(text);
      return { answer: { status, body, header: headers.get.bind(headers) } };
    } catch (error) {
      return failed(call, 'unknown', error, 'not_json', status);
    }
  }
}

function platformOf({ fetch, hostHeader }: Settings): Platform {
  return realPlatform(fetch ?? (hostHeader === undefined ? undefined : hostFetch(hostHeader)));
}

/** `/api/v1/pop/queue/orders`; each value becomes one segment. */
export function path(parts: TemplateStringsArray, ...segments: readonly string[]): string {
  return parts.reduce((text, part, i) => text + segment(segments[i - 1] as string) + part);
}

/** A URL takes `.` and `..` for steps, encoded or not, and nothing for no segment. */
function segment(name: string): string {
  if (typeof name === 'string' && !/^\.{0,2}$/.test(name)) return encoded(name);
  throw new TypeError(`${shown(name)} is no name that a path can hold: write a text like "orders"`);
}

function encoded(text: string): string {
  if (!/\p{Surrogate}/u.test(text)) return encodeURIComponent(text);
  throw new TypeError(`${shown(text)} holds half of a character: write a text that is whole`);
}

/** Members that are undefined are left out. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encoded(String(value))}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

/** An earlier try may have been applied, although the last one was not. */
function judged(error: ClientError, isUnknown: boolean): ClientError {
  if (error.outcomeUnknown === isUnknown) return error;
  const { message, status, code, reason, retryAfterSeconds, body, cause } = error;
  const facts = { status, code, reason, retryAfterSeconds, body, cause };
  return new ClientError(message, { ...facts, outcomeUnknown: isUnknown });
}

function failed(
  { method, path }: Pick<Call<unknown>, 'method' | 'path'>,
  fate: Fate,
  cause: unknown,
  code: string,
  status = 0,
): { readonly fate: Fate; readonly error: ClientError } {
  const why = code === 'not_json' ? `answered ${status} with what is no JSON` : causeText(cause);
  return { fate, error: new ClientError(`${method} ${path}: ${why}`, { status, code, cause }) };
}

/** `fetch` says "fetch failed", and its cause what happened. */
function causeText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const { code = cause.name } = cause as { readonly code?: string };
  return `${error.message} (${cause.message || code})`;
}

function refusal(
  { method, path }: Pick<Call<unknown>, 'method' | 'path'>,
  { status, headers, redirected, url }: HeardResponse,
  text: string,
): { readonly fate: Fate; readonly error: ClientError } {
  const body = jsonOrUndefined(text);
  const { error, code, reason, detail, message } = (body ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const said = [error, detail ?? message].filter((one) => typeof one === 'string').join(': ');
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN);
  const isKnown = Number.isFinite(retryAfter) && retryAfter >= 0;
  const facts = {
    status,
    code: [code, reason].find((one) => typeof one === 'string') as string | undefined,
    reason: typeof reason === 'string' ? reason : undefined,
    retryAfterSeconds: isKnown ? retryAfter : undefined,
    body,
  };
  const fate = fateOf(status, facts.code, isKnown);
  const from = redirected === true ? `(redirected to ${url}: make the client with that URL)` : '';
  const parts = [`${method} ${path}: ${status}`, said, from].filter((part) => part !== '');
  return { fate, error: new ClientError(parts.join(' '), facts) };
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
