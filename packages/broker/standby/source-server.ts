/**
 * The routes for standbys, as plain HTTP on the port between nodes (standby-link 9). The port
 * (peers/listener.ts) hands over each connection that begins like a request of HTTP.
 *
 *     POST /link/v1/read      JSON of a read -> 200 and the stream of an answer
 *     POST /link/v1/snapshot  JSON of a request for rows -> 200 and a portion of them
 *
 * | Status | When |
 * | --- | --- |
 * | 404 | no `SVC_LINK_TOKEN` is set on this node, whatever is asked; or there is no such route |
 * | 401 | the token is missing or wrong, whatever is asked |
 * | 400, 405, 413 | the request is wrong |
 * | 429 | this node keeps its log for as many readers as it can |
 * | 503 | this node is not open, has as many connections as it takes, or damage where it is asked |
 *
 * What must hold: a stranger learns nothing and costs little. Until its token was right, a
 * connection is one of STRANGERS_MAX, of which the oldest goes when there are more; it has
 * REQUEST_MS for its first head, which is HEAD_BYTES at most; its body is not read, and its answer
 * is the last on that connection. So a flood of strangers takes neither memory nor the place of a
 * standby, and nothing of it is seen by the handshakes of the nodes, which are counted apart.
 *
 * A client with the token is still bounded: in connections, in time for each head and body, in rest
 * between two requests, and to one request at a time.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  parseReadRequest,
  parseSeedRequest,
  READ_PATH,
  READ_REQUEST_BYTES_MAX,
  SEED_PATH,
  SEED_REQUEST_BYTES_MAX,
  TOKEN_HEADER,
} from '@svc/standby';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import type { SeedAnswers, SeedRefusal } from './seed-answers.js';
import type { AnswerSink, ReadRefusal, SourceRead, SourceReads } from './source-reads.js';

const STRANGERS_MAX = 32;
/** For READERS_MAX standbys one connection that reads, and one that holds. */
const TRUSTED_MAX = 128;
const HEAD_BYTES = 4096;
/** From the first byte to the end of the head, and from there to the end of the body. */
const REQUEST_MS = 5000;
/** Between an answer and the next request: a standby calls every 5 s at least. */
const REST_MS = 60_000;
/** For the rest of an answer to leave. */
const LEAVE_MS = 30_000;
/** Up to here parts are joined, because a write of its own for each small entry costs more. */
const JOINED_BYTES = 16 * 1024;
/** A line about strangers is repeated after this long. */
const REPEAT_MS = 30_000;

interface Connection {
  readonly address: string;
  /** Its token was right once. */
  trusted: boolean;
  /** A request is being answered. */
  busy: boolean;
  cancelDeadline: Cancel;
}

/** What an open node answers with. */
export interface Source {
  readonly reads: SourceReads;
  /** null: there are no rows to be had; the node has no way to other nodes. */
  readonly seeds: SeedAnswers | null;
}

/** The longest body of each route. */
const BODY_BYTES: { readonly [path: string]: number } = {
  [READ_PATH]: READ_REQUEST_BYTES_MAX,
  [SEED_PATH]: SEED_REQUEST_BYTES_MAX,
};

export interface SourceServerOptions {
  /** null: nobody may follow this cluster. */
  readonly token: string | null;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Refusal = readonly [status: number, error: string];

const NOT_FOUND: Refusal = [404, 'not found'];
const NOT_OPEN: Refusal = [503, 'this node is not open'];
const REFUSALS: Readonly<Record<ReadRefusal | SeedRefusal, Refusal>> = {
  too_many_readers: [429, 'this node keeps its log for as many standbys as it can'],
  unreadable: [503, 'what is asked for is damaged on this node'],
  stopping: [503, 'this node is stopping'],
  busy: [503, 'this node has been asked for these rows a moment ago'],
};

export class SourceServer {
  readonly #options: SourceServerOptions;
  /** The digest of the token: of one length, whatever the token is. */
  readonly #expected: Uint8Array | null;
  readonly #server: Server;
  /** Oldest first. */
  readonly #connections = new Map<Socket, Connection>();
  #source: Source | null = null;
  #trusted = 0;
  /** By reader, rows that have not left: each is a portion in memory. */
  readonly #rows = new Map<string, ServerResponse>();
  #told = { atMs: Number.NEGATIVE_INFINITY, untold: 0 };

  constructor(options: SourceServerOptions) {
    this.#options = options;
    const { token } = options;
    this.#expected = token === null ? null : digestOf(Buffer.from(token));
    this.#server = createServer({
      maxHeaderSize: HEAD_BYTES,
      // It never listens, so the timers that go with that do not run: `#limit` has the deadlines.
      keepAliveTimeout: 0,
    });
    this.#server.on('request', (request, response) => this.#answer(request, response));
  }

  /** Connections, and how many of them had the right token. */
  get counts(): { readonly connections: number; readonly trusted: number } {
    return { connections: this.#connections.size, trusted: this.#trusted };
  }

  /** null: the node is not open. */
  serve(source: Source | null): void {
    this.#source = source;
  }

  /** The connection is paused; its first bytes are to be read again. */
  take(socket: Socket): void {
    this.#makeRoom();
    const address = socket.remoteAddress ?? 'unknown';
    const connection = { address, trusted: false, busy: false, cancelDeadline: () => {} };
    this.#connections.set(socket, connection);
    socket.once('close', () => this.#forget(socket));
    this.#limit(socket, connection, REQUEST_MS);
    this.#server.emit('connection', socket);
    socket.resume();
  }

  close(): void {
    this.#source = null;
    for (const socket of [...this.#connections.keys()]) this.#drop(socket);
  }

  #makeRoom(): void {
    if (this.#connections.size - this.#trusted < STRANGERS_MAX) return;
    for (const [socket, { trusted }] of this.#connections) {
      if (trusted) continue;
      this.#drop(socket);
      return;
    }
  }

  #drop(socket: Socket): void {
    this.#forget(socket);
    socket.destroy();
  }

  #forget(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.cancelDeadline();
    this.#connections.delete(socket);
    if (connection.trusted) this.#trusted--;
  }

  #limit(socket: Socket, connection: Connection, ms: number): void {
    connection.cancelDeadline();
    connection.cancelDeadline = this.#options.clock.after(ms, () => this.#drop(socket));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = this.#connections.get(socket);
    // A second request before the answer to the first: nobody who is honest sends one.
    if (connection === undefined || connection.busy) {
      this.#drop(socket);
      return;
    }
    connection.busy = true;
    this.#limit(socket, connection, REQUEST_MS);
    response.once('finish', () => {
      connection.busy = false;
      if (this.#connections.has(socket)) this.#limit(socket, connection, REST_MS);
    });
    response.once('error', () => this.#drop(socket));
    const refusal = this.#refusalOf(request, connection);
    if (refusal !== null) {
      // What else comes on this connection is not looked at.
      response.setHeader('connection', 'close');
      refuse(response, refusal);
      return;
    }
    const path = pathOf(request);
    this.#takeBody(request, BODY_BYTES[path] ?? 0, (body) => {
      if (body === null) {
        response.setHeader('connection', 'close');
        refuse(response, [413, 'the body is too long']);
      } else if (path === READ_PATH) this.#read(socket, connection, body, response);
      else this.#sendRows(socket, connection, body, response);
    });
  }

  /** What a head alone is refused for. The token comes first: without it nothing is told. */
  #refusalOf(request: IncomingMessage, connection: Connection): Refusal | null {
    if (this.#expected === null) return NOT_FOUND;
    if (!this.#isRight(request.headers[TOKEN_HEADER])) {
      this.#tell(connection.address);
      return [401, 'the token is missing or wrong'];
    }
    if (!this.#trust(connection)) {
      return [503, 'this node has as many connections of standbys as it takes'];
    }
    if (!Object.hasOwn(BODY_BYTES, pathOf(request))) return NOT_FOUND;
    return request.method === 'POST' ? null : [405, 'the method is POST'];
  }

  #isRight(given: string | string[] | undefined): boolean {
    if (typeof given !== 'string' || this.#expected === null) return false;
    // A token may have any characters: a header carries the bytes of their UTF-8 form.
    return timingSafeEqual(digestOf(Buffer.from(given, 'latin1')), this.#expected);
  }

  #trust(connection: Connection): boolean {
    if (connection.trusted) return true;
    if (this.#trusted >= TRUSTED_MAX) return false;
    connection.trusted = true;
    this.#trusted++;
    return true;
  }

  /** null: it is longer than any request. */
  #takeBody(request: IncomingMessage, most: number, done: (body: string | null) => void): void {
    const pieces: Buffer[] = [];
    let bytes = 0;
    request.on('data', (piece: Buffer) => {
      if (bytes > most) return;
      bytes += piece.length;
      if (bytes > most) done(null);
      else pieces.push(piece);
    });
    request.on('end', () => {
      if (bytes <= most) done(Buffer.concat(pieces).toString('utf8'));
    });
  }

  #read(socket: Socket, connection: Connection, body: string, response: ServerResponse): void {
    const request = parseReadRequest(body);
    if ('error' in request) refuse(response, [400, request.error]);
    else if (this.#source === null) refuse(response, NOT_OPEN);
    else {
      connection.cancelDeadline();
      const sink = new ResponseSink(response, () => this.#limit(socket, connection, LEAVE_MS));
      const read = this.#source.reads.read(request, sink);
      if (typeof read === 'string') refuse(response, REFUSALS[read]);
      else sink.follow(read);
    }
  }

  #sendRows(socket: Socket, connection: Connection, body: string, response: ServerResponse): void {
    const request = parseSeedRequest(body);
    const seeds = this.#source?.seeds ?? null;
    if ('error' in request) refuse(response, [400, request.error]);
    else if (seeds === null) refuse(response, NOT_OPEN);
    else {
      const answer = seeds.answer(request);
      if (typeof answer === 'string') refuse(response, REFUSALS[answer]);
      else {
        this.#limit(socket, connection, LEAVE_MS);
        this.#replaceRows(request.reader, response);
        response.writeHead(200, { 'content-type': 'application/octet-stream' });
        response.end(Buffer.concat(answer));
      }
    }
  }

  /** As with reads, the newest answer goes on. There are few readers at a time, by the sender. */
  #replaceRows(reader: string, response: ServerResponse): void {
    this.#rows.get(reader)?.destroy();
    this.#rows.set(reader, response);
    response.once('close', () => {
      if (this.#rows.get(reader) === response) this.#rows.delete(reader);
    });
  }

  #tell(address: string): void {
    const { clock, logger } = this.#options;
    const nowMs = clock.nowMs();
    if (nowMs - this.#told.atMs < REPEAT_MS) {
      this.#told.untold++;
      return;
    }
    const { untold } = this.#told;
    this.#told = { atMs: nowMs, untold: 0 };
    const more = untold === 0 ? '' : ` (and ${untold} more since the last line)`;
    const text = `refused a standby at ${address}: its token is missing or wrong${more}`;
    logger.warn('standby', text);
  }
}

/** An answer as the body of a response. Its head leaves with the first bytes. */
class ResponseSink implements AnswerSink {
  readonly #response: ServerResponse;
  readonly #onEnd: () => void;

  constructor(response: ServerResponse, onEnd: () => void) {
    this.#response = response;
    this.#onEnd = onEnd;
  }

  follow(read: SourceRead): void {
    this.#response.on('drain', () => read.onRoom());
    this.#response.once('close', () => read.cancel());
  }

  write(parts: readonly Uint8Array[]): boolean {
    const response = this.#response;
    if (!response.headersSent) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
    }
    let hasRoom = true;
    let small: Uint8Array[] = [];
    for (const part of parts) {
      if (part.length <= JOINED_BYTES) {
        small.push(part);
        continue;
      }
      if (small.length > 0) response.write(Buffer.concat(small));
      small = [];
      hasRoom = response.write(part);
    }
    return small.length > 0 ? response.write(Buffer.concat(small)) : hasRoom;
  }

  end(): void {
    this.#onEnd();
    this.#response.end();
  }

  cut(): void {
    this.#response.destroy();
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/\?.*$/s, '');
}

function digestOf(token: Uint8Array): Uint8Array {
  return createHash('sha256').update(token).digest();
}

function refuse(response: ServerResponse, [status, error]: Refusal): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error }));
}
