/** The beginnings of answers, as bytes. */
import type { Status } from './errors.js';

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
