/**
 * The one place that loads uWebSockets.js, and the part of its interface that the front uses. To
 * run another build of it, change where `loadUws` looks; nothing else knows the package.
 *
 * The package's own entry point falls back to a server written in JavaScript, without a word that
 * stops anything, where it has no native build. That server is several times slower and differs in
 * what it does to malformed requests, so it is never used: without a native build the process does
 * not start.
 *
 * What this build (20.30) does, and the front's tests pin down:
 * - A second request on a connection whose first one is unanswered closes the connection. Requests
 *   that are answered in the turn they arrive in may be pipelined.
 * - Chunked bodies are decoded. A request with both a length and chunks is cut off.
 * - Heads above 4,096 bytes are read only when they arrive in one piece; more than about 45 header
 *   lines are not read. Both connections are closed without an answer.
 * - `Expect: 100-continue` is answered by itself. A connection idle for ten seconds is closed.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The chunk is emptied when the handler returns. */
export type OnBodyData = (chunk: ArrayBuffer, isLast: boolean) => void;

/** Where a body's bytes come from. */
export interface BodySource {
  onData(handler: OnBodyData): unknown;
}

export interface UwsResponse extends BodySource {
  /** What follows the version in the first line; headers may follow it, each behind a line end. */
  writeStatus(status: string | ArrayBuffer): UwsResponse;
  writeHeader(name: string, value: string): UwsResponse;
  end(body?: string | Uint8Array, closeConnection?: boolean): UwsResponse;
  /**
   * Writes no Content-Length. Its parameters are left out on purpose: with a length the response
   * never completes, and `undefined` for one is written as 2^63.
   */
  endWithoutBody(): UwsResponse;
  /** [all of it was taken or queued, the response is complete] */
  tryEnd(bodyOrRest: Uint8Array, totalSize: number): [boolean, boolean];
  onWritable(handler: (offset: number) => boolean): UwsResponse;
  onAborted(handler: () => void): UwsResponse;
  onData(handler: OnBodyData): UwsResponse;
  /** What the socket holds is not read, and no time limit runs, until `resume`. */
  pause(): UwsResponse;
  resume(): UwsResponse;
  /** Runs the abort handler. */
  close(): UwsResponse;
  cork(write: () => void): UwsResponse;
}

/** What is read of a request beyond its path. */
export interface RequestHead {
  /** "" when the header is absent. */
  getHeader(lowerCaseName: string): string;
  /** Undefined when the URL has no `?`. */
  getQuery(): string | undefined;
}

/** Only readable until the request handler returns. */
export interface UwsRequest extends RequestHead {
  getUrl(): string;
  getCaseSensitiveMethod(): string;
}

export type UwsListenSocket = { readonly __listenSocket: unique symbol };

export interface UwsApp {
  any(pattern: string, handler: (response: UwsResponse, request: UwsRequest) => void): UwsApp;
  listen(
    host: string,
    port: number,
    options: number,
    done: (socket: UwsListenSocket | false) => void,
  ): UwsApp;
  /** Closes the listener and every connection, running abort handlers. */
  close(): UwsApp;
}

export interface Uws {
  App(): UwsApp;
  us_listen_socket_close(socket: UwsListenSocket): void;
  us_socket_local_port(socket: UwsListenSocket): number;
  /** Without it a second process can listen on the same port and take half of the requests. */
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

/** What a native build is made for. */
export interface Platform {
  readonly platform: string;
  readonly arch: string;
  /** Node's module version, as `process.versions.modules` has it. */
  readonly modules: string;
}

export class NativeBuildMissingError extends Error {
  readonly code = 'http_native_build_missing';

  constructor(wanted: Platform, what: string) {
    super(
      `uWebSockets.js has no usable native build for ${wanted.platform} ${wanted.arch}, ` +
        `Node ${process.version} (module version ${wanted.modules}): ${what}`,
    );
    this.name = 'NativeBuildMissingError';
  }
}

/** Throws `NativeBuildMissingError`. */
export function loadUws(
  wanted: Platform = {
    platform: process.platform,
    arch: process.arch,
    modules: process.versions.modules,
  },
): Uws {
  const require = createRequire(import.meta.url);
  const file = `uws_${wanted.platform}_${wanted.arch}_${wanted.modules}.node`;
  let directory: string;
  try {
    directory = dirname(require.resolve('uWebSockets.js/package.json'));
  } catch (error) {
    throw new NativeBuildMissingError(wanted, `the package is not installed (${String(error)})`);
  }
  // The official package keeps its builds at its root, this one in a folder.
  const path = [join(directory, 'binaries', file), join(directory, file)].find(existsSync);
  if (path === undefined)
    throw new NativeBuildMissingError(wanted, `${file} is not in ${directory}`);
  try {
    return require(path) as Uws;
  } catch (error) {
    throw new NativeBuildMissingError(wanted, `${path} does not load (${String(error)})`);
  }
}
