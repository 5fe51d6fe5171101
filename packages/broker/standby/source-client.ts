/**
 * Reads of a standby, as plain HTTP to the nodes of its source (standby-link 9).
 *
 * What must hold: a node that accepts nobody, refuses, answers something else or breaks off costs a
 * connection and a text, and no memory: of an answer that is not one of entries at most
 * `REFUSAL_BYTES` are kept. Silence is the driver's matter, which knows when it does not listen.
 *
 * Connections are kept between reads, so a read costs no handshake, and dropped when nothing was
 * read over them for `REST_MS`: a path may die without a word, and a new connection notices.
 */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { LookupFunction } from 'node:net';
import { TOKEN_HEADER } from '@svc/standby';
import { hostAndPortOf } from '../config/addresses.js';
import { PeerLookup } from '../peers/lookup.js';
import type { Cancel, Clock } from '../system/clock.js';
import {
  type AnswerListener,
  type SourceCall,
  type SourcePath,
  type SourcePort,
  urlOf,
} from './source-port.js';

export interface SourceClientOptions {
  /** `SVC_LINK_SOURCE_TOKEN`; null: none is sent. */
  readonly token: string | null;
  readonly clock: Clock;
  readonly lookup?: LookupFunction;
}

const CONNECT_MS = 2000;
const REST_MS = 10_000;
/** To one node: a read, a call that keeps its log, and one of each that is being closed. */
const SOCKETS_MAX = 4;
/** Bytes of the body of a refusal, which is a short JSON. */
const REFUSAL_BYTES = 1024;
const REASON_CHARACTERS = 200;

export class SourceClient implements SourcePort {
  readonly #options: SourceClientOptions;
  readonly #lookup: LookupFunction;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX, timeout: REST_MS });
  readonly #calls = new Set<HttpCall>();

  constructor(options: SourceClientOptions) {
    this.#options = options;
    this.#lookup = options.lookup ?? new PeerLookup().forSocket;
  }

  ask(address: string, path: SourcePath, body: string, listener: AnswerListener): SourceCall {
    const { token, clock } = this.#options;
    const place = hostAndPortOf(address);
    if (place === null) throw new RangeError(`${address} is not the address of a node`);
    const send = () => {
      const sent = request({
        ...place,
        agent: this.#agent,
        lookup: this.#lookup,
        method: 'POST',
        path,
        headers: {
          'content-type': 'application/json',
          // A header carries bytes: those of the token's UTF-8 form.
          ...(token === null ? {} : { [TOKEN_HEADER]: Buffer.from(token).toString('latin1') }),
        },
      });
      // As bytes: a text would make Node write the head in the text's encoding, the token with it.
      sent.end(Buffer.from(body));
      return sent;
    };
    const call = new HttpCall(urlOf(address), send, clock, listener, () => {
      this.#calls.delete(call);
    });
    this.#calls.add(call);
    return call;
  }

  close(): void {
    for (const call of [...this.#calls]) call.close();
    this.#agent.destroy();
  }
}

class HttpCall implements SourceCall {
  readonly #url: string;
  readonly #send: () => ClientRequest;
  readonly #clock: Clock;
  readonly #listener: AnswerListener;
  readonly #onOver: () => void;
  #request: ClientRequest | null = null;
  #response: IncomingMessage | null = null;
  #isPaused = false;
  #isOver = false;
  #isRepeated = false;
  #cancelConnect: Cancel = () => {};

  constructor(
    url: string,
    send: () => ClientRequest,
    clock: Clock,
    listener: AnswerListener,
    onOver: () => void,
  ) {
    this.#url = url;
    this.#send = send;
    this.#clock = clock;
    this.#listener = listener;
    this.#onOver = onOver;
    this.#begin();
  }

  pause(): void {
    this.#isPaused = true;
    this.#response?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#response?.resume();
  }

  close(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#request?.destroy();
  }

  #begin(): void {
    let sent: ClientRequest;
    try {
      sent = this.#send();
    } catch (error) {
      // A host name may have characters that no request can carry.
      this.#clock.soon(() => this.#fail((error as Error).message));
      return;
    }
    this.#request = sent;
    sent.on('socket', (socket) => {
      if (!socket.connecting) return;
      this.#cancelConnect();
      this.#cancelConnect = this.#clock.after(CONNECT_MS, () => {
        this.#fail(`no connection within ${CONNECT_MS / 1000}s`);
      });
      socket.once('connect', () => this.#cancelConnect());
    });
    sent.on('error', (error: NodeJS.ErrnoException) => this.#broke(sent, error));
    sent.on('response', (response) => this.#take(response));
  }

  /** A kept connection may have been closed by the node in the same moment: that says nothing. */
  #broke(sent: ClientRequest, error: NodeJS.ErrnoException): void {
    if (this.#isOver || sent !== this.#request) return;
    const isStale = sent.reusedSocket && error.code === 'ECONNRESET' && this.#response === null;
    if (isStale && !this.#isRepeated) {
      this.#isRepeated = true;
      this.#begin();
    } else this.#fail(error.message);
  }

  #take(response: IncomingMessage): void {
    if (this.#isOver) return;
    this.#response = response;
    response.on('error', () => this.#fail('the connection broke within the answer'));
    if (response.statusCode !== 200) {
      this.#takeRefusal(response);
      return;
    }
    response.on('data', (bytes: Buffer) => {
      if (!this.#isOver) this.#listener.onBytes(bytes);
    });
    // The next request finds this connection free only after the event.
    response.on('end', () => this.#clock.soon(() => this.#end()));
    if (this.#isPaused) response.pause();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#listener.onEnd();
  }

  #takeRefusal(response: IncomingMessage): void {
    const { statusCode = 0 } = response;
    if (statusCode === 401) {
      this.#fail("the source refused this standby's SVC_LINK_SOURCE_TOKEN");
      return;
    }
    if (statusCode === 404) {
      this.#fail(
        'the source serves no link (SVC_LINK_TOKEN is not set on it, or it runs a release ' +
          'without one)',
      );
      return;
    }
    const pieces: Buffer[] = [];
    let bytes = 0;
    const tell = () => this.#fail(`status ${statusCode}${reasonOf(Buffer.concat(pieces))}`);
    response.on('data', (piece: Buffer) => {
      pieces.push(piece.subarray(0, REFUSAL_BYTES - bytes));
      bytes = Math.min(REFUSAL_BYTES, bytes + piece.length);
      if (bytes === REFUSAL_BYTES) tell();
    });
    response.on('end', tell);
  }

  #fail(why: string): void {
    if (this.#isOver) return;
    this.#finish();
    this.#request?.destroy();
    this.#listener.onFailure(`${this.#url}: ${why}`);
  }

  #finish(): void {
    this.#isOver = true;
    this.#cancelConnect();
    this.#onOver();
  }
}

/** What a node of ours says why it refuses; nothing when another one answered. */
function reasonOf(body: Buffer): string {
  try {
    const { error } = JSON.parse(body.toString('utf8')) as { readonly error?: unknown };
    return typeof error === 'string' ? ` (${error.slice(0, REASON_CHARACTERS)})` : '';
  } catch {
    return '';
  }
}
