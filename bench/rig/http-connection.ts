// One keep-alive HTTP/1.1 connection with at most one request in flight, on a raw socket.
//
// In: prepared request bytes. Out: status and body, handed over while they still lie in the read
// buffer, which all connections of the process share: a chunk is consumed before the next one is
// read, so nothing is allocated per answer. A receiver that keeps a body copies it.

import { connect, type Socket } from 'node:net';
import { HttpProtocolError, ResponseParser } from './response-parser.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface ConnectionListener {
  /** One whole answer. `body` is valid during the call only. */
  onAnswer(status: number, body: Buffer): void;
  /** The connection ended, by either side or by an error. Called at most once. */
  onClosed(reason: Error): void;
}

/** The connection ended before the answer came: the request may or may not have acted. */
export class ConnectionLostError extends Error {
  readonly code = 'connection_lost';
}

const READ_BUFFER_BYTES = 256 * 1024;
const readBuffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);

export class HttpConnection {
  readonly #socket: Socket;
  readonly #parser = new ResponseParser();
  readonly #listener: ConnectionListener;
  #waiting = false;
  #closed = false;

  private constructor(address: Address, listener: ConnectionListener) {
    this.#listener = listener;
    this.#socket = connect({
      host: address.host,
      port: address.port,
      noDelay: true,
      onread: { buffer: readBuffer, callback: (bytes) => this.#onBytes(bytes) },
    });
    this.#socket.on('error', (error) => this.#close(error));
    this.#socket.on('end', () => this.#close(new ConnectionLostError('the peer closed')));
    this.#socket.on('close', () => this.#close(new ConnectionLostError('the socket closed')));
  }

  /** Connects within `timeoutMs`, or rejects with the socket's error or a ConnectionLostError. */
  static open(
    address: Address,
    listener: ConnectionListener,
    timeoutMs = 5000,
  ): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      let connected = false;
      const connection = new HttpConnection(address, {
        onAnswer: (status, body) => listener.onAnswer(status, body),
        onClosed: (reason) => {
          clearTimeout(timer);
          if (connected) {
            listener.onClosed(reason);
          } else {
            reject(reason);
          }
        },
      });
      const timer = setTimeout(
        () => connection.#close(new ConnectionLostError(`no connection in ${timeoutMs} ms`)),
        timeoutMs,
      );
      connection.#socket.once('connect', () => {
        clearTimeout(timer);
        connected = true;
        resolve(connection);
      });
    });
  }

  /** 0 once it is closed. */
  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }

  get waiting(): boolean {
    return this.#waiting;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sends one request. The bytes must stay unchanged until its answer came. */
  send(request: Uint8Array): void {
    if (this.#waiting) {
      throw new HttpProtocolError('a request is already in flight on this connection');
    }
    this.#waiting = true;
    this.#socket.write(request);
  }

  /** Ends the connection without telling the listener. */
  destroy(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #onBytes(bytes: number): boolean {
    if (this.#closed) {
      return false;
    }
    try {
      if (this.#parser.feed(readBuffer.subarray(0, bytes))) {
        if (!this.#waiting) {
          throw new HttpProtocolError('an answer came without a request');
        }
        this.#waiting = false;
        this.#listener.onAnswer(this.#parser.status, this.#parser.body);
      }
    } catch (error) {
      this.#close(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
    return true;
  }

  #close(reason: Error): void {
    if (this.#closed) {
      return;
    }
    this.destroy();
    this.#listener.onClosed(reason);
  }
}

/** Bytes of a request. A body is sent as JSON with its length, a token as that of a bearer. */
export function requestBytes(
  method: string,
  path: string,
  body?: string | Uint8Array,
  token?: string,
  host = 'localhost',
): Buffer {
  const bearer = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
  const start = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${bearer}`;
  if (body === undefined) {
    return Buffer.from(`${start}\r\n`, 'latin1');
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const head = `${start}Content-Type: application/json\r\nContent-Length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes]);
}
