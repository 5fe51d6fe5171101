/** The beginnings of answers, as bytes, and the writing of those that have no more headers. */
import { type AnswerBody, AnswerText, lengthOfText } from './answer-text.js';
import type { Status } from './errors.js';
import type { AnswerEnd } from './rendering.js';
import type { Headers, TransportResponse } from './transport.js';

/**
 * The status line and the headers of every answer as bytes, by status and then by type: one call of
 * the native layer takes all, and it need not make bytes of strings. There are a few dozen pairs.
 */
const heads = new Map<Status, Map<string, ArrayBuffer>>();
/** The one of the last answer, which is mostly that of the next. */
let last = { status: '', contentType: '', head: new ArrayBuffer(0) };

export function headOf(status: Status, contentType: string): ArrayBuffer {
  if (last.status === status && last.contentType === contentType) return last.head;
  last = { status, contentType, head: knownHead(status, contentType) };
  return last.head;
}

function knownHead(status: Status, contentType: string): ArrayBuffer {
  let byType = heads.get(status);
  if (byType === undefined) {
    byType = new Map();
    heads.set(status, byType);
  }
  let head = byType.get(contentType);
  if (head === undefined) {
    head = bytesOf(`${status}\r\nContent-Type: ${contentType}\r\n${NOT_SNIFFED}`);
    byType.set(contentType, head);
  }
  return head;
}

function bytesOf(text: string): ArrayBuffer {
  return Uint8Array.from(Buffer.from(text)).buffer;
}

/** No browser takes an answer for another type than it says: a payload may look like a page. */
const NOT_SNIFFED = 'X-Content-Type-Options: nosniff';
export const NO_CONTENT_HEAD = bytesOf(`204 No Content\r\n${NOT_SNIFFED}`);
export const NOT_MODIFIED_HEAD = bytesOf(`304 Not Modified\r\n${NOT_SNIFFED}`);

/** Heads that have standing headers in them. */
const standing = new WeakMap<Headers, Map<ArrayBuffer, ArrayBuffer>>();

/**
 * The same headers, for answers that have exactly these beside what every answer has: they become
 * part of the heads. To be called for a few lists that live as long as the process.
 */
export function standingHeaders(headers: Headers): Headers {
  standing.set(headers, new Map());
  return headers;
}

export function isStanding(headers: Headers): boolean {
  return standing.has(headers);
}

/** `head` itself, unless `headers` are standing ones. */
export function headWith(head: ArrayBuffer, headers: Headers | null): ArrayBuffer {
  const heads = headers === null ? undefined : standing.get(headers);
  if (headers === null || heads === undefined) return head;
  let whole = heads.get(head);
  if (whole === undefined) {
    const lines = headers.map(([name, value]) => `\r\n${name}: ${value}`);
    whole = bytesOf(Buffer.from(head).toString('latin1') + lines.join(''));
    heads.set(head, whole);
  }
  return whole;
}

/** Writes an answer all of whose headers are in its head. */
export function writePlain(
  response: TransportResponse,
  head: ArrayBuffer,
  body: string | Uint8Array,
  closing: boolean,
): void {
  response.cork(() => {
    response.writeStatus(head).end(body, closing);
  });
}

/** Writes one with headers of its own, or without its body in answer to HEAD. */
export function writeWith(
  response: TransportResponse,
  status: Status,
  type: string,
  headers: Headers | null,
  body: AnswerBody,
  [retryAfter, cacheControl, closing, entityTag]: AnswerEnd,
  headOnly: boolean,
): void {
  response.cork(() => {
    response.writeStatus(headWith(headOf(status, type), headers));
    if (retryAfter) response.writeHeader('Retry-After', String(Number(retryAfter)));
    if (status === '401 Unauthorized') response.writeHeader('WWW-Authenticate', 'Bearer');
    if (cacheControl !== null) response.writeHeader('Cache-Control', cacheControl);
    if (entityTag !== null) response.writeHeader('ETag', entityTag);
    writeHeaders(response, headers);
    if (headOnly) {
      if (closing) response.writeHeader('Connection', 'close');
      response.writeHeader('Content-Length', String(lengthOfText(body))).endWithoutBody();
    } else response.end(body instanceof AnswerText ? body.from(0) : body, closing);
  });
}

/** Unless they are part of the head. */
export function writeHeaders(response: TransportResponse, headers: Headers | null): void {
  if (headers === null || isStanding(headers)) return;
  for (const [name, value] of headers) response.writeHeader(name, value);
}
