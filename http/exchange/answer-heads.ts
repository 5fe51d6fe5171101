/** The beginnings of answers, as bytes. */
import type { Status } from './errors.js';
import type { Headers } from './transport.js';

/**
 * The status line and the headers of every answer as bytes, by status and then by type: one call of
 * the native layer takes all, and it need not make bytes of strings. There are a few dozen pairs.
 */
const heads = new Map<Status, Map<string, ArrayBuffer>>();

export function headOf(status: Status, contentType: string): ArrayBuffer {
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
