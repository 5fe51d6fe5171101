/**
 * A small HTTP client for tests: kept-alive connections, bytes in and bytes out, and the one thing
 * a checker has to know of a request without an answer, namely whether it can have had an effect.
 */
import { Agent, request as httpRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
}

/** No answer came. `refused`: the connection was never made, so nothing happened. */
export class NoAnswer extends Error {
  readonly code: 'refused' | 'unknown';

  constructor(code: 'refused' | 'unknown', cause: string) {
    super(cause);
    this.name = 'NoAnswer';
    this.code = code;
  }
}

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** The socket is closed after it; 10,000 when absent. */
  readonly timeoutMs?: number;
  /** Aborts the request as a client that goes away does. */
  readonly signal?: AbortSignal;
}

/** What most tests need of a client; one of several nodes has it too. */
export type Caller = Pick<HttpClient, 'get' | 'post' | 'send'>;

/** A client all of whose requests are sent by one function. */
export function callerOf(send: Caller['send']): Caller {
  return {
    send,
    get: (path, options) => send('GET', path, undefined, options),
    post: (path, body, options) => send('POST', path, bytesOf(body), options),
  };
}

/** The same client with headers that each of its requests carries. */
export function callerWith(caller: Caller, own: Readonly<Record<string, string>>): Caller {
  return callerOf((method, path, body, options = {}) => {
    const headers = { ...options.headers, ...own };
    return caller.send(method, path, body, { ...options, headers });
  });
}

const TIMEOUT_MS_DEFAULT = 10_000;
/**
 * A node ends connections that are idle for 8 seconds. A test whose checker has computed for longer
 * has not read of that yet, and would send its next request into an ended connection. A connection
 * that rests while others work is ended by the agent.
 */
const IDLE_MS_MAX = 4000;

export class HttpClient {
  readonly #base: URL;
  readonly #agent: Agent;
  #sentMs = performance.now();

  /** A port of this machine, or the address of a server: scheme, host and port. */
  constructor(base: number | URL) {
    this.#base = typeof base === 'number' ? new URL(`http://127.0.0.1:${base}`) : base;
    const settings = { keepAlive: true, maxSockets: 64, timeout: IDLE_MS_MAX };
    this.#agent = this.#isTls ? new TlsAgent(settings) : new Agent(settings);
  }

  get #isTls(): boolean {
    return this.#base.protocol === 'https:';
  }

  get(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.send('GET', path, undefined, options);
  }

  /** A string or bytes go as they are; anything else as its JSON. */
  post(path: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.send('POST', path, bytesOf(body), options);
  }

  /** Rejects with `NoAnswer`. */
  send(
    method: string,
    path: string,
    body: Uint8Array | string | undefined,
    options: RequestOptions = {},
  ): Promise<Answer> {
    this.#endIdle();
    return new Promise((resolve, reject) => {
      let connected = false;
      const { hostname, port } = this.#base;
      const request = (this.#isTls ? tlsRequest : httpRequest)({
        // An IPv6 address stands in brackets in a URL alone.
        host: hostname.replace(/^\[(.*)\]$/, '$1'),
        ...(port === '' ? {} : { port }),
        agent: this.#agent,
        method,
        path,
        headers: headersOf(body, options),
        timeout: options.timeoutMs ?? TIMEOUT_MS_DEFAULT,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
      const fail = (error: Error) =>
        reject(
          new NoAnswer(connected ? 'unknown' : 'refused', `${method} ${path}: ${error.message}`),
        );
      request.on('socket', (socket) => {
        if (!socket.connecting) connected = true;
        else socket.once('connect', () => (connected = true));
      });
      request.on('timeout', () => request.destroy(new Error('no answer in time')));
      request.on('error', fail);
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', fail);
        response.on('aborted', () => fail(new Error('the answer broke off')));
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes,
            text: bytes.toString('utf8'),
          });
        });
      });
      request.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  #endIdle(): void {
    const nowMs = performance.now();
    if (nowMs - this.#sentMs > IDLE_MS_MAX) {
      for (const sockets of Object.values(this.#agent.freeSockets)) {
        for (const socket of sockets ?? []) socket.destroy();
      }
    }
    this.#sentMs = nowMs;
  }
}

/** A caller that names a transfer coding sends no length. */
function headersOf(
  body: Uint8Array | string | undefined,
  { headers = {} }: RequestOptions,
): Record<string, string> {
  if (body === undefined || 'transfer-encoding' in headers) return { ...headers };
  return { 'content-length': `${Buffer.byteLength(body)}`, ...headers };
}

function bytesOf(body: unknown): Uint8Array | string {
  if (body instanceof Uint8Array || typeof body === 'string') return body;
  return JSON.stringify(body) ?? '';
}
