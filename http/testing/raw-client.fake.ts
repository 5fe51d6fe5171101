/**
 * A client for tests that sees the bytes: it sends what it is told, however broken, and reads
 * answers one by one. It knows no more of HTTP than heads and lengths.
 */
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A client over either transport; `RawClient` alone can send what is no request. */
export interface TestClient {
  /** Bytes of bodies that were not taken yet. */
  readonly unsent: number;
  begin(path: string, request?: RawRequest): void;
  /** `begin`, then `answer`. */
  request(path: string, request?: RawRequest): Promise<RawAnswer>;
  /** The next answer; rejects when there is none, or no end of it. */
  answer(headOnly?: boolean): Promise<RawAnswer>;
  pauseReading(): void;
  resumeReading(): void;
  /** Goes without a word. */
  destroy(): void;
  closed(): Promise<void>;
}

export function requestBytes(path: string, request: RawRequest = {}): Buffer {
  const { method = request.body === undefined ? 'GET' : 'POST', headers = {}, body } = request;
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: test'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(body);
  if (body !== undefined) lines.push(`Content-Length: ${bytes.length}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes]);
}

const HEAD_END = '\r\n\r\n';

export class RawClient implements TestClient {
  readonly #socket: Socket;
  /** Joined only when they are looked at: large answers come in hundreds of pieces. */
  #chunks: Buffer[] = [];
  #length = 0;
  #closed = false;
  #onChange: (() => void) | null = null;

  /** `from`: the address that the server sees. */
  constructor(port: number, host = '127.0.0.1', from?: string) {
    this.#socket = connect({ port, host, ...(from === undefined ? {} : { localAddress: from }) });
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (chunk) => {
      this.#chunks.push(chunk);
      this.#length += chunk.length;
      this.#onChange?.();
    });
    // A reset is how a connection may end; `closed` tells that it did.
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.#closed = true;
      this.#onChange?.();
    });
  }

  /** What came and was not read as an answer. */
  get unread(): string {
    return this.#joined().toString('latin1');
  }

  send(bytes: string | Buffer): void {
    this.#socket.write(bytes);
  }

  /** Each in a packet of its own, for who reads as they come. */
  async sendInPieces(pieces: readonly (string | Buffer)[]): Promise<void> {
    for (const piece of pieces) {
      this.send(piece);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  /** Bytes that the system did not take yet, for the other end does not read. */
  get unsent(): number {
    return this.#socket.writableLength;
  }

  pauseReading(): void {
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#socket.resume();
  }

  /** Goes without a word. */
  destroy(): void {
    this.#socket.destroy();
  }

  begin(path: string, request: RawRequest = {}): void {
    this.send(requestBytes(path, request));
  }

  async request(path: string, request: RawRequest = {}): Promise<RawAnswer> {
    this.begin(path, request);
    return await this.answer(request.method === 'HEAD');
  }

  /** The next answer; rejects when the connection closes before it is complete. */
  async answer(headOnly = false): Promise<RawAnswer> {
    await this.#until(() => this.#joined().includes(HEAD_END));
    const headLength = this.#joined().indexOf(HEAD_END);
    const [statusLine = '', ...lines] = this.#joined()
      .toString('latin1', 0, headLength)
      .split('\r\n');
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(':');
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    const bodyStart = headLength + HEAD_END.length;
    const bodyLength = headOnly ? 0 : Number(headers.get('content-length') ?? '0');
    await this.#until(() => this.#length >= bodyStart + bodyLength);
    const received = this.#joined();
    const body = received.toString('utf8', bodyStart, bodyStart + bodyLength);
    this.#chunks = [received.subarray(bodyStart + bodyLength)];
    this.#length -= bodyStart + bodyLength;
    return { status: Number(statusLine.split(' ')[1]), headers, body };
  }

  async closed(): Promise<void> {
    while (!this.#closed) await this.#change();
  }

  #joined(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] as Buffer;
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.#closed) throw new Error(`closed after ${JSON.stringify(this.unread)}`);
      await this.#change();
    }
  }

  async #change(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onChange = resolve;
    });
    this.#onChange = null;
  }
}
