// One connection of an attacker, from an address of its own, on a raw socket.
//
// It shares the processors with the node under attack, so an answer costs it no more than a search
// for the end of its head: bodies are counted and dropped, but for their first bytes. Unlike the
// connection of the load programs it can do what no good client does: stop reading, leave in the
// middle of an answer, and send bytes that are no request.

import { connect, type Socket } from 'node:net';
import type { Address } from '../rig/http-connection.js';

/** Address of every attacker, so that a node can tell attackers from other clients. */
export const ATTACKER_HOST = '127.0.0.2';

export interface AttackAnswer {
  /** 0: the connection ended, or the time was over, before the answer was complete. */
  readonly status: number;
  readonly bodyBytes: number;
  /** The first bytes of the body. */
  readonly start: string;
  readonly ms: number;
}

const CONNECT_MS_MAX = 20_000;
const KEPT_BYTES = 512;
const READ_BUFFER_BYTES = 256 * 1024;
const readBuffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
const HEAD_END = Buffer.from('\r\n\r\n');
const HEAD_BYTES_MAX = 64 * 1024;

export class AttackSocket {
  closed = false;
  /** Bytes received so far, of heads and bodies. */
  receivedBytes = 0;
  readonly #socket: Socket;
  #head: Buffer = Buffer.alloc(0);
  #status = 0;
  #bodyBytes = 0;
  /** Bytes of the body that are still to come; -1 while the head is not complete. */
  #missingBytes = -1;
  #kept: Buffer = Buffer.alloc(0);
  #finish: ((answer: AttackAnswer) => void) | null = null;
  #sentMs = 0;
  #onClosed: (() => void) | null = null;

  private constructor(address: Address) {
    this.#socket = connect({
      host: address.host,
      port: address.port,
      localAddress: ATTACKER_HOST,
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (bytes) => {
          this.#take(readBuffer.subarray(0, bytes));
          return true;
        },
      },
    });
    this.#socket.on('error', () => this.#close());
    this.#socket.on('end', () => this.#close());
    this.#socket.on('close', () => this.#close());
  }

  /** Opens a connection; null when the node accepted none. */
  static open(address: Address): Promise<AttackSocket | null> {
    return new Promise((resolve) => {
      const opened = new AttackSocket(address);
      const timer = setTimeout(() => opened.destroy(), CONNECT_MS_MAX);
      const decide = (connection: AttackSocket | null) => {
        clearTimeout(timer);
        resolve(connection);
      };
      opened.#onClosed = () => decide(null);
      opened.#socket.once('connect', () => decide(opened));
    });
  }

  /** 0 once it is closed. */
  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }

  /** Sends bytes, whatever they are. */
  send(bytes: Uint8Array | string): void {
    if (!this.closed) this.#socket.write(bytes);
  }

  /** Sends a request and waits for its answer; one at a time. */
  exchange(request: Uint8Array | string, msMax: number): Promise<AttackAnswer> {
    return new Promise((resolve) => {
      this.#sentMs = performance.now();
      const timer = setTimeout(() => this.destroy(), msMax);
      this.#finish = (answer) => {
        clearTimeout(timer);
        this.#finish = null;
        resolve(answer);
      };
      if (this.closed) this.#finish(this.#noAnswer());
      else this.send(request);
    });
  }

  /** Resolves when the connection has ended, or after `msMax`. */
  ended(msMax: number): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.closed) {
        resolve(true);
        return;
      }
      const timer = setTimeout(() => resolve(false), msMax);
      this.#onClosed = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  /** Reads nothing more: what the node sends stays in buffers of the kernel, then in its own. */
  stopReading(): void {
    this.#socket.pause();
  }

  destroy(): void {
    this.#close();
  }

  #take(chunk: Buffer): void {
    this.receivedBytes += chunk.length;
    let body = chunk;
    if (this.#missingBytes < 0) {
      const bytes = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
      const headEnd = bytes.indexOf(HEAD_END);
      if (headEnd < 0) {
        if (bytes.length > HEAD_BYTES_MAX) this.#close();
        this.#head = Buffer.from(bytes);
        return;
      }
      this.#head = Buffer.alloc(0);
      this.#readHead(bytes.toString('latin1', 0, headEnd));
      body = bytes.subarray(headEnd + HEAD_END.length);
    }
    if (this.#kept.length < KEPT_BYTES && body.length > 0) {
      this.#kept = Buffer.concat([this.#kept, body.subarray(0, KEPT_BYTES - this.#kept.length)]);
    }
    this.#missingBytes -= body.length;
    if (this.#missingBytes > 0) return;
    const answer = {
      status: this.#status,
      bodyBytes: this.#bodyBytes,
      start: this.#kept.toString('utf8'),
      ms: performance.now() - this.#sentMs,
    };
    this.#missingBytes = -1;
    this.#kept = Buffer.alloc(0);
    this.#finish?.(answer);
  }

  #readHead(head: string): void {
    this.#status = Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    this.#bodyBytes = length === null ? 0 : Number(length[1]);
    this.#missingBytes = this.#bodyBytes;
  }

  #close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#socket.destroy();
    this.#onClosed?.();
    this.#finish?.(this.#noAnswer());
  }

  #noAnswer(): AttackAnswer {
    const ms = performance.now() - this.#sentMs;
    return { status: 0, bodyBytes: 0, start: '', ms };
  }
}
