/**
 * One call of the API, typed by its endpoint. What every page would otherwise do by itself is done
 * here: the token, a 401 that waits for one, a 429 that waits and is sent again, the words of a
 * refusal, stored values that are kept as text.
 */
import type { GatewayApi } from '@svc/gateway/api';
import type { Api as NodeApi } from '@svc/http/api';
import { type AnswerSchemas, faultOfAnswer } from '../base/answer-check.js';
import { CallError, refusalOf } from '../base/call-error.js';
import { parseKeeping } from '../base/raw-json.js';
import { isResolved } from '../base/routes.js';
import { type Access, access, accessHeaders, loggedIn, tokenEntered } from './access.js';
import { urlOf } from './location.js';
import { takeSlot } from './slots.js';

/** Put in by the build, as JSON (`scripts/answer-schemas.mjs`). */
declare const ANSWER_SCHEMAS: string;
const SCHEMAS: AnswerSchemas = JSON.parse(ANSWER_SCHEMAS);

type Api = NodeApi & GatewayApi;
type At = keyof Api;
/** A path that both serve is answered by either. */
type Answers<Where extends At> =
  | (Where extends keyof NodeApi ? NodeApi[Where]['answers'] : never)
  | (Where extends keyof GatewayApi ? GatewayApi[Where]['answers'] : never);
type Of<Types, Status> = Status extends keyof Types ? Types[Status] : never;
/** The body of a success: of 200, 201, or null for 204. */
export type Success<Where extends At> = Of<Answers<Where>, 200> | Of<Answers<Where>, 201>;

export interface Input<Where extends At> {
  readonly params?: Api[Where]['params'];
  /** Numbers and booleans are written as text; what is empty is left out. */
  readonly query?: Readonly<Partial<Record<keyof Api[Where]['query'], Value>>>;
  readonly body?: unknown;
  /** For a call without a button: it ends with its page, and waits for a slot. */
  readonly signal?: AbortSignal;
  /** Members that hold stored values are `RawJson`, whatever their type says. */
  readonly keepStored?: boolean;
  readonly msMax?: number;
  /** Statuses besides 200 to 299 whose body, where it has the shape, is an answer. */
  readonly accepts?: readonly number[];
}

type Value = string | number | boolean | null | undefined;

export interface Called<Body> {
  readonly status: number;
  readonly body: Body;
  /** The next page of a list whose body is a bare array. */
  readonly nextAfter: string | null;
}

const MS_MAX = 15_000;
/** A call that is refused with 429 is sent again so often, and so long is waited without a word. */
const BUSY_TRIES_MAX = 3;
const BUSY_MS_MAX = 10_000;
/** A thousand queues are a MiB. What goes on and on would fill the memory of the browser. */
const ANSWER_BYTES_MAX = 134_217_728;
/** The code of a gateway's 401; a node's is another one. */
const OF_GATEWAY = 'unauthorized';

/** Rejects with `CallError`. */
export async function call<Where extends At>(
  at: Where,
  input: Input<Where> = {},
): Promise<Success<Where>> {
  return (await callFully(at, input)).body;
}

export async function callFully<Where extends At>(
  at: Where,
  input: Input<Where> = {},
): Promise<Called<Success<Where>>> {
  let busyMs = 0;
  for (let tries = 1; ; tries++) {
    const sentWith = access.value;
    const answer = await send(at, input, sentWith);
    const { ok, status } = answer.response;
    if (ok || input.accepts?.includes(status)) {
      const read = readOf(at, answer, input);
      if (!(read instanceof CallError)) return read as Called<Success<Where>>;
      if (ok) throw read;
    }
    const refusal = refusalIn(answer);
    if (refusal.status === 401 && (await hasAccess(sentWith, refusal))) continue;
    const waitMs = Math.max(refusal.retryAfterMs, 1000);
    busyMs += waitMs;
    const isSoon = tries < BUSY_TRIES_MAX && busyMs <= BUSY_MS_MAX;
    if (refusal.status !== 429 || !isSoon) throw refusal;
    await pause(waitMs, input.signal);
  }
}

/** False: the reader gave no other. */
function hasAccess(sentWith: Access, { code, message }: CallError): Promise<boolean> {
  if (code === OF_GATEWAY) return loggedIn(sentWith).then(() => true);
  return tokenEntered(sentWith, message);
}

interface Answer {
  readonly response: Response;
  readonly text: string;
}

async function send<Where extends At>(
  at: Where,
  input: Input<Where>,
  sentWith: Access,
): Promise<Answer> {
  const { body, signal, msMax = MS_MAX } = input;
  const [method = 'GET', template = ''] = at.split(' ');
  const url = urlOf(pathOf(template, input.params ?? {}, input.query ?? {}));
  const free = signal === undefined ? () => {} : await takeSlot();
  const deadline = new Deadline(msMax, signal);
  const headers = accessHeaders(sentWith, template);
  if (body !== undefined) headers['content-type'] = 'application/json';
  try {
    const response = await fetch(url, {
      method,
      headers,
      // Payloads are nothing for the disk of whoever looks.
      cache: 'no-store',
      signal: deadline.signal,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { response, text: await textOf(response) };
  } catch (error) {
    throw failureOf(error, signal, method !== 'GET' && signal === undefined);
  } finally {
    deadline.met();
    free();
  }
}

/** Rejects when the answer is longer than any that is read. */
async function textOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  const decoder = new TextDecoder();
  const parts: string[] = [];
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return parts.join('') + decoder.decode();
    bytes += value.length;
    if (bytes > ANSWER_BYTES_MAX) {
      void reader.cancel();
      throw new CallError('unreadable', 'the answer is longer than 128 MiB');
    }
    parts.push(decoder.decode(value, { stream: true }));
  }
}

/**
 * Ends a request when it is late, or when it is given up. Rejected: `AbortSignal.timeout` and
 * `any`, whose timers and links stay until the time is over, though the answer came long before.
 */
class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #outer: AbortSignal | undefined;

  constructor(msMax: number, outer: AbortSignal | undefined) {
    this.#outer = outer;
    const late = () => this.#controller.abort(new DOMException('late', 'TimeoutError'));
    this.#timer = setTimeout(late, msMax);
    outer?.addEventListener('abort', this.#giveUp);
    if (outer?.aborted === true) this.#giveUp();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  met(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#giveUp);
  }

  readonly #giveUp = (): void => this.#controller.abort();
}

/** `isWrite`: whether it may have been done, though no answer says so. */
function failureOf(error: unknown, signal: AbortSignal | undefined, isWrite: boolean): CallError {
  const rest = isWrite ? '; what was asked for may have been done all the same' : '';
  if (error instanceof CallError) return error;
  if (signal?.aborted === true) return new CallError('aborted', 'given up');
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return new CallError('late', `the node does not answer${rest}`);
  }
  return new CallError('unreachable', `the node is not reachable${rest}`);
}

/** The answer, or why it is none. A proxy may serve a page of its own for every path, say. */
function readOf<Where extends At>(
  at: Where,
  { response: { status, headers }, text }: Answer,
  { keepStored = false }: Input<Where>,
): Called<unknown> | CallError {
  const nextAfter = headers.get('x-svc-next-after');
  let body: unknown;
  try {
    body = keepStored ? parseKeeping(text) : JSON.parse(text);
  } catch {
    return new CallError('unreadable', 'the answer is no JSON', { status });
  }
  const schema = SCHEMAS.answers[at];
  if (schema === undefined) throw new Error(`nothing is known of the answer to ${at}`);
  const fault = faultOfAnswer(body, schema, SCHEMAS.named);
  if (fault === null) return { status, body, nextAfter };
  return new CallError('unreadable', `the answer is not as a node gives it: ${fault}`, { status });
}

function refusalIn({ response: { status, headers }, text }: Answer): CallError {
  const retryAfter = headers.get('retry-after');
  try {
    return refusalOf(status, retryAfter, JSON.parse(text));
  } catch {
    // A proxy wrote it: the status has to do.
    return refusalOf(status, retryAfter, null);
  }
}

/** `{name}` is one segment; the slashes of `{name...}` stay. */
function pathOf(
  template: string,
  params: Readonly<Record<string, unknown>>,
  query: Readonly<Record<string, Value>>,
): string {
  const path = template.replace(/\{(\w+)(\.\.\.)?\}/g, (_, name: string, rest?: string) => {
    const value = String(params[name] ?? '');
    // A browser resolves dots between slashes, and would ask for something else.
    if (isResolved(value)) {
      throw new CallError('refused', `the name ${value} cannot stand in an address`);
    }
    const segments = value.split('/');
    if (rest === undefined || segments.some(isResolved)) return encodeURIComponent(value);
    return segments.map(encodeURIComponent).join('/');
  });
  const said = Object.entries(query).flatMap(([name, value]) =>
    value === null || value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  const text = new URLSearchParams(said).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Rejects with `CallError` when it is given up. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      clearTimeout(timer);
      reject(new CallError('aborted', 'given up'));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', giveUp);
      resolve();
    }, ms);
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}
