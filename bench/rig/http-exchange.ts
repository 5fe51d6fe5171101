// Request and answer as a promise, for callers that value ease over cost: the demo and the
// benchmark's questions about the node. Opens its connection on demand and again after a loss.

import {
  type Address,
  ConnectionLostError,
  HttpConnection,
  requestBytes,
} from './http-connection.js';

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

interface Pending {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: Error) => void;
}

export class HttpExchange {
  readonly #address: Address;
  readonly #token: string | undefined;
  #connection: HttpConnection | null = null;
  #pending: Pending | null = null;

  constructor(address: Address, token?: string) {
    this.#address = address;
    this.#token = token;
  }

  /**
   * Sends one request and waits for its answer; one at a time. Rejects when the connection cannot
   * be made or is lost, and with a ConnectionLostError when no answer came within `timeoutMs`.
   */
  async request(
    method: string,
    path: string,
    body?: string | Uint8Array,
    timeoutMs = 30_000,
  ): Promise<Answer> {
    const connection = await this.#connected();
    return new Promise<Answer>((resolve, reject) => {
      const timer = setTimeout(
        () => this.#fail(new ConnectionLostError(`no answer to ${path} in ${timeoutMs} ms`)),
        timeoutMs,
      );
      this.#pending = {
        resolve: (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
        reject: (reason) => {
          clearTimeout(timer);
          reject(reason);
        },
      };
      connection.send(requestBytes(method, path, body, this.#token));
    });
  }

  /** Ends the connection; a request in flight is rejected. */
  close(): void {
    this.#fail(new ConnectionLostError('closed by this side'));
  }

  async #connected(): Promise<HttpConnection> {
    if (this.#connection !== null && !this.#connection.closed) {
      return this.#connection;
    }
    this.#connection = await HttpConnection.open(this.#address, {
      onAnswer: (status, body) => {
        const pending = this.#pending;
        this.#pending = null;
        pending?.resolve({ status, body: Buffer.from(body) });
      },
      onClosed: (reason) => this.#fail(reason),
    });
    return this.#connection;
  }

  #fail(reason: Error): void {
    this.#connection?.destroy();
    this.#connection = null;
    const pending = this.#pending;
    this.#pending = null;
    pending?.reject(reason);
  }
}
