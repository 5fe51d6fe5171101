/** Why a call has no answer, in words for whoever looks at the page. */
import { formatMs } from './format.js';

export type CallFailure = 'aborted' | 'unreachable' | 'late' | 'refused' | 'unreadable';

export class CallError extends Error {
  readonly failure: CallFailure;
  /** 0: none came. */
  readonly status: number;
  readonly code: string;
  readonly retryAfterMs: number;
  /** The body of a refusal, where it was JSON. */
  readonly body: unknown;

  constructor(failure: CallFailure, message: string, refusal: Partial<Refusal> = {}) {
    super(message);
    this.name = 'CallError';
    this.failure = failure;
    this.status = refusal.status ?? 0;
    this.code = refusal.code ?? '';
    this.retryAfterMs = refusal.retryAfterMs ?? 0;
    this.body = refusal.body ?? null;
  }
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly retryAfterMs: number;
  readonly body: unknown;
}

/** Waiting longer than this is no answer to a person. */
const RETRY_AFTER_MS_MAX = 60_000;

/** Seconds, as nodes send them; 0 where there are none. */
export function retryAfterMsOf(header: string | null): number {
  const seconds = Number(header ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, RETRY_AFTER_MS_MAX) : 0;
}

/** `body`: what the node or a proxy answered, read as JSON; null where it was none. */
export function refusalOf(status: number, retryAfter: string | null, body: unknown): CallError {
  const { error, code, message, detail } = membersOf(body);
  const said = message || detail || (error === SAYS_NOTHING ? '' : error);
  const retryAfterMs = retryAfterMsOf(retryAfter);
  const refusal = { status, code: code || error, retryAfterMs, body };
  const when = status === 429 && retryAfterMs > 0 ? `; again in ${formatMs(retryAfterMs)}` : '';
  return new CallError('refused', wordsOf(status, said) + when, refusal);
}

/** The code of a 401 that gives no reason. */
const SAYS_NOTHING = 'auth_required';

function wordsOf(status: number, said: string): string {
  const what = WORDS[status];
  if (what === undefined) return said === '' ? `refused with status ${status}` : said;
  if (status === 401) return said === '' ? what : said;
  return said === '' ? what : `${what}: ${said}`;
}

const WORDS: Readonly<Record<number, string>> = {
  401: 'a valid token is needed',
  403: 'not allowed',
  429: 'too many requests',
  502: 'the proxy reaches no node',
  503: 'the node cannot serve this at the moment',
  504: 'the proxy got no answer from a node',
  507: 'the disk is too full to store more',
};

/** In a word or two, for a badge. */
export function briefReasonOf({ failure, status }: CallError): string {
  if (failure === 'unreadable') return 'not readable';
  if (failure === 'late') return 'not answering';
  return status === 0 ? 'unreachable' : (BRIEF[status] ?? `status ${status}`);
}

const BRIEF: Readonly<Record<number, string>> = {
  401: 'token needed',
  403: 'not allowed',
  429: 'too many requests',
  502: 'no node reached',
  503: 'not serving',
  504: 'no node reached',
  507: 'disk full',
};

interface Said {
  readonly error: string;
  readonly code: string;
  readonly message: string;
  /** The reason, as key/value, locks and timers give it. */
  readonly detail: string;
}

function membersOf(body: unknown): Said {
  const said = (typeof body === 'object' && body !== null ? body : {}) as Said;
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const { error, code, message, detail } = said;
  return { error: text(error), code: text(code), message: text(message), detail: text(detail) };
}

/** For whatever was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
