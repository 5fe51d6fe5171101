/** How an answer is made of what the broker brings, and who sees it before it leaves. */
import type { Status } from './errors.js';
import type { Exchange } from './exchange.js';

export type Render<Context, Answer> = (
  exchange: Exchange,
  context: Context,
  answer: Answer,
) => void;

/** Headers of some answers, and whether the connection closes behind it. */
export type AnswerEnd = readonly [
  retryAfter: boolean | number,
  cacheControl: string | null,
  close: boolean,
  entityTag: string | null,
];

/** Hears every answer, also one for a client that has gone. */
export interface AnswerWatcher<Answer> {
  settle(answer: Answer): void;
}

/**
 * Is given an answer in place of the socket, also one for a client that has gone, and lets it go by
 * `go`, in this turn or any later one. Answers without a body and those of stored text, which are
 * told in chunks, pass it by.
 */
export type AnswerGate = (status: Status, body: Buffer, go: () => void) => void;

/** `write` is called when the gate lets the answer go, once, with bytes that are its own. */
export function holdAnswer<Body extends string | Uint8Array>(
  exchange: { gate: AnswerGate | null },
  status: Status,
  body: Body,
  write: (kept: Body | Buffer) => void,
): void {
  const { gate } = exchange;
  exchange.gate = null;
  // The rendered bytes may be lent.
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body);
  // The native layer takes a short string faster than bytes.
  gate?.(status, bytes, () => write(typeof body === 'string' ? body : bytes));
}

/** Apart from `Exchange.bytes`, as its function would cost each answer that nobody holds. */
export function holdBytes(
  exchange: Exchange,
  status: Status,
  type: string,
  bytes: Uint8Array,
  cacheControl: string | null,
): void {
  holdAnswer(exchange, status, bytes, (kept) => exchange.bytes(status, type, kept, cacheControl));
}
