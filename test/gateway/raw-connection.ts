/**
 * A connection to a port whose bytes a test sees and sends, with TLS or without: answers as they
 * came, halves of requests, and clients that end in the middle. The bytes are texts of a character
 * each.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

const HEAD_END = '\r\n\r\n';

export interface Place {
  readonly port: number;
  readonly isTls: boolean;
}

export class RawConnection {
  readonly #socket: Socket;
  #received = '';
  #isEnded = false;
  #onChange: (() => void) | null = null;

  constructor({ port, isTls }: Place) {
    const at = { port, host: '127.0.0.1' };
    this.#socket = isTls ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at);
    this.#socket.setNoDelay(true);
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (chunk: string) => {
      this.#received += chunk;
      this.#onChange?.();
    });
    // However it ends, there is no more.
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.#isEnded = true;
      this.#onChange?.();
    });
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Characters that came and were not taken as an answer. */
  get unread(): number {
    return this.#received.length;
  }

  send(bytes: string): void {
    if (!this.#isEnded) this.#socket.write(bytes, 'latin1');
  }

  /** Resolves when the system has the bytes, or the connection has ended. */
  sent(bytes: string): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isEnded) resolve();
      else this.#socket.write(bytes, 'latin1', () => resolve());
    });
  }

  /** The next answer as it came; null: the connection ended, and what came is no whole one. */
  async answer(isHeadOnly = false): Promise<string | null> {
    for (;;) {
      const length = answerLength(this.#received, isHeadOnly);
      if (length !== null && length <= this.#received.length) {
        const answer = this.#received.slice(0, length);
        this.#received = this.#received.slice(length);
        return answer;
      }
      if (this.#isEnded) return null;
      await this.#change();
    }
  }

  /** Resolves when so much has come, or the connection has ended. */
  async received(characters: number): Promise<void> {
    while (this.#received.length < characters && !this.#isEnded) await this.#change();
  }

  async ended(): Promise<void> {
    while (!this.#isEnded) await this.#change();
  }

  /** What the other end sends stays in buffers of the system, then with its sender. */
  stopReading(): void {
    this.#socket.pause();
  }

  /** Goes without a word. */
  destroy(): void {
    this.#socket.destroy();
  }

  async #change(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onChange = resolve;
    });
    this.#onChange = null;
  }
}

/** null: the head is not whole. */
function answerLength(received: string, isHeadOnly: boolean): number | null {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd === -1) return null;
  const bodyStart = headEnd + HEAD_END.length;
  if (isHeadOnly) return bodyStart;
  const length = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, bodyStart))?.[1];
  return bodyStart + Number(length ?? 0);
}

export interface RequestText {
  readonly method?: string;
  /** A name may come twice. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string;
  /** The body goes in chunks of these lengths, and the rest in one. */
  readonly chunks?: readonly number[];
}

/** A request, with the length of its body or in chunks. */
export function requestText(target: string, request: RequestText = {}): string {
  const { body, chunks, headers = [] } = request;
  const method = request.method ?? (body === undefined ? 'GET' : 'POST');
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  if (body !== undefined) {
    lines.push(chunks ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`);
  }
  const sent = body === undefined || chunks === undefined ? (body ?? '') : inChunks(body, chunks);
  return [`${method} ${target} HTTP/1.1`, ...lines, '', sent].join('\r\n');
}

function inChunks(body: string, lengths: readonly number[]): string {
  let rest = body;
  let text = '';
  for (const length of [...lengths, body.length]) {
    const chunk = rest.slice(0, length);
    rest = rest.slice(length);
    if (chunk !== '') text += `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
  }
  return `${text}0\r\n\r\n`;
}
