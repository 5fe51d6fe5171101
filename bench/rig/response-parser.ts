// Reads HTTP/1.1 answers from the chunks of a keep-alive socket, one at a time.
//
// The program that generates load shares its cores with the node it measures, so an answer that
// arrives in one chunk costs a native search for the end of the head, a walk over its few lines
// and no copy: `body` is a view of the chunk. Only an answer that spans chunks is copied, into a
// buffer that is kept and grown. Chunked transfer coding is refused by name: the contract never
// uses it, and silence would turn into wrong figures.

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const CONTENT_LENGTH = Buffer.from('content-length:');
const TRANSFER_ENCODING = Buffer.from('transfer-encoding:');
const STATUS_AT = 'HTTP/1.1 '.length;
const HEAD_BYTES_MAX = 64 * 1024;
const BODY_BYTES_MAX = 256 * 1024 * 1024;
const NOTHING: Buffer = Buffer.alloc(0);

/** The peer sent something that is not an HTTP/1.1 answer this client understands. */
export class HttpProtocolError extends Error {
  readonly code = 'http_protocol';
}

export class ResponseParser {
  /** Status of the last finished answer. */
  status = 0;
  /** Body of the last finished answer; valid until the next `feed`. */
  body: Buffer = NOTHING;

  #headPart: Buffer = NOTHING;
  #collected: Buffer = NOTHING;
  #collectedBytes = 0;
  /** Body bytes still to come; -1 while the head is not complete. */
  #missingBytes = -1;

  /**
   * Takes the next bytes of the socket and says whether they finished an answer. The bytes may be
   * reused by the caller after it is done with `body`.
   */
  feed(chunk: Buffer): boolean {
    if (this.#missingBytes >= 0) {
      return this.#continueBody(chunk);
    }
    const bytes = this.#headPart.length === 0 ? chunk : Buffer.concat([this.#headPart, chunk]);
    const headEnd = bytes.indexOf(HEAD_END);
    if (headEnd < 0) {
      if (bytes.length > HEAD_BYTES_MAX) {
        throw new HttpProtocolError(`head of an answer exceeds ${HEAD_BYTES_MAX} bytes`);
      }
      this.#headPart = Buffer.from(bytes);
      return false;
    }
    this.#headPart = NOTHING;
    this.status = readStatus(bytes);
    const bodyBytes = readBodyBytes(bytes, headEnd, this.status);
    return this.#startBody(bytes, headEnd + HEAD_END.length, bodyBytes);
  }

  #startBody(bytes: Buffer, bodyAt: number, bodyBytes: number): boolean {
    const presentBytes = bytes.length - bodyAt;
    if (presentBytes > bodyBytes) {
      throw new HttpProtocolError(`${presentBytes - bodyBytes} bytes after the end of an answer`);
    }
    if (presentBytes === bodyBytes) {
      this.body = bodyBytes === 0 ? NOTHING : bytes.subarray(bodyAt);
      return true;
    }
    if (this.#collected.length < bodyBytes) {
      this.#collected = Buffer.allocUnsafe(Math.min(BODY_BYTES_MAX, bodyBytes * 2));
    }
    bytes.copy(this.#collected, 0, bodyAt);
    this.#collectedBytes = presentBytes;
    this.#missingBytes = bodyBytes - presentBytes;
    return false;
  }

  #continueBody(chunk: Buffer): boolean {
    if (chunk.length > this.#missingBytes) {
      const extraBytes = chunk.length - this.#missingBytes;
      throw new HttpProtocolError(`${extraBytes} bytes after the end of an answer`);
    }
    chunk.copy(this.#collected, this.#collectedBytes);
    this.#collectedBytes += chunk.length;
    this.#missingBytes -= chunk.length;
    if (this.#missingBytes > 0) {
      return false;
    }
    this.#missingBytes = -1;
    this.body = this.#collected.subarray(0, this.#collectedBytes);
    return true;
  }
}

function readStatus(bytes: Buffer): number {
  if (bytes.toString('latin1', 0, STATUS_AT) !== 'HTTP/1.1 ') {
    const start = JSON.stringify(bytes.toString('latin1', 0, 40));
    throw new HttpProtocolError(`answer does not start with a status line: ${start}`);
  }
  const status = Number(bytes.toString('latin1', STATUS_AT, STATUS_AT + 3));
  if (!Number.isInteger(status) || status < 100) {
    throw new HttpProtocolError(`answer carries status ${status}`);
  }
  return status;
}

function readBodyBytes(bytes: Buffer, headEnd: number, status: number): number {
  let length = -1;
  let lineAt = bytes.indexOf(LINE_END) + LINE_END.length;
  while (lineAt < headEnd) {
    const lineEnd = Math.min(bytes.indexOf(LINE_END, lineAt), headEnd);
    if (startsWith(bytes, lineAt, CONTENT_LENGTH)) {
      const text = bytes.toString('latin1', lineAt + CONTENT_LENGTH.length, lineEnd).trim();
      if (!/^[0-9]{1,9}$/.test(text) || Number(text) > BODY_BYTES_MAX) {
        throw new HttpProtocolError(`content-length ${JSON.stringify(text)} is not usable`);
      }
      length = Number(text);
    } else if (startsWith(bytes, lineAt, TRANSFER_ENCODING)) {
      throw new HttpProtocolError('answer uses a transfer coding; only content-length is read');
    }
    lineAt = lineEnd + LINE_END.length;
  }
  if (status === 204 || status === 304) {
    return 0;
  }
  if (length < 0) {
    throw new HttpProtocolError(`answer with status ${status} has no content-length`);
  }
  return length;
}

/** Compares without regard to case; `lower` holds lower-case letters, `-` and `:`. */
function startsWith(bytes: Buffer, at: number, lower: Buffer): boolean {
  for (let index = 0; index < lower.length; index += 1) {
    const byte = bytes[at + index] ?? 0;
    const folded = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
    if (folded !== lower[index]) {
      return false;
    }
  }
  return true;
}
