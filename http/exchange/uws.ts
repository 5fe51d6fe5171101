/**
 * The one place that loads uWebSockets.js, and the part of its interface that the front uses.
 *
 * uWebSockets.js is native code, one file for each platform and each major version of Node, and its
 * author publishes it as a Git tag only. The lock file names packages of the registry that carry
 * one of these files each (`@uwsjs/linux-x64-22` and so on), so that an installation holds the file
 * it needs and no other. A checkout of the official package is used instead where it is installed;
 * nothing but `loadUws` knows either.
 *
 * There is no other server to fall back to: without a native build the process does not start.
 *
 * What these builds do (20.51 on Node 20 and 22, 20.69 on Node 24), pinned by `uws.test.ts`:
 * - Heads up to HEAD_BYTES_MAX are read, in one piece or many, with 98 header lines at most. Above
 *   either the answer is 431.
 * - 400: no `Host` or two of them, a length and chunks at once, a line that ends in a bare line
 *   feed, a header without a colon or with white space before it, a folded line, a control
 *   character in a value, a Content-Length that is not a number, a chunk size that is none.
 * - 505: every first line that does not end in ` HTTP/1.1`, so HTTP/1.0 as well; a target that does
 *   not begin with `/` (absolute-form, `*`); white space or a control character in the target; and
 *   whatever is no HTTP. Trailers after the last chunk are read as a first line and end so too.
 * - These answers have no length and close the connection; no handler runs.
 * - An empty line before the first line looks like the start of the PROXY protocol, which these
 *   builds read: nothing is answered, and the connection ends as an idle one.
 * - Of a header that comes twice `getHeader` gives the first, and the length of a body is the first
 *   Content-Length. `request-head.ts` refuses what that would hide.
 * - Chunked bodies are decoded, whatever the transfer coding is called. The body of a request with
 *   chunk extensions never ends: it runs into the time limits of bodies.
 * - A request that comes on a connection whose last one is unanswered closes the connection.
 *   Requests that are answered in the turn they arrive in may be pipelined.
 * - `Expect: 100-continue` is answered by itself. A connection that is idle, has sent a part of a
 *   head, or whose body stops, is closed after 8 to 12 seconds. That limit is compiled in, and no
 *   call moves it.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { TransportRequest, TransportResponse } from './transport.js';

export interface UwsRequest extends TransportRequest {
  /** True: the next route gets the request, with another object for the same response. */
  setYield(yields: boolean): UwsRequest;
}

export type UwsListenSocket = { readonly __listenSocket: unique symbol };

export type RequestHandler = (response: TransportResponse, request: UwsRequest) => void;

export interface UwsApp {
  /** Routes of one method, which are asked before those of `any`. */
  get(pattern: string, handler: RequestHandler): UwsApp;
  post(pattern: string, handler: RequestHandler): UwsApp;
  put(pattern: string, handler: RequestHandler): UwsApp;
  del(pattern: string, handler: RequestHandler): UwsApp;
  head(pattern: string, handler: RequestHandler): UwsApp;
  options(pattern: string, handler: RequestHandler): UwsApp;
  patch(pattern: string, handler: RequestHandler): UwsApp;
  any(pattern: string, handler: RequestHandler): UwsApp;
  /**
   * Calls back with 1 when a connection opened and with -1 when one closed. The object of one that
   * opened stays usable while it is open; that of one that closed is not.
   */
  filter(handler: (response: TransportResponse, by: number) => void): UwsApp;
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
  /** Throws for files that are no certificate or no key, in PEM. */
  SSLApp(options: { readonly key_file_name: string; readonly cert_file_name: string }): UwsApp;
  us_listen_socket_close(socket: UwsListenSocket): void;
  us_socket_local_port(socket: UwsListenSocket): number;
  /** Without it a second process can listen on the same port and take half of the requests. */
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

/** What a native build is made for. */
export interface Platform {
  readonly platform: string;
  readonly arch: string;
  /** Node's major version. */
  readonly node: string;
  /** Node's module version, as `process.versions.modules` has it. */
  readonly modules: string;
}

/** A token of 16 KiB, which other servers and proxies take as well, and the rest of the head. */
export const HEAD_BYTES_MAX = 20_480;

export class NativeBuildMissingError extends Error {
  readonly code = 'http_native_build_missing';

  constructor(wanted: Platform, what: string) {
    super(
      `uWebSockets.js has no usable native build for ${wanted.platform} ${wanted.arch}, ` +
        `Node ${wanted.node} (module version ${wanted.modules}): ${what}`,
    );
    this.name = 'NativeBuildMissingError';
  }
}

const OFFICIAL_PACKAGE = 'uWebSockets.js';

/** Throws `NativeBuildMissingError`. */
export function loadUws(
  wanted: Platform = {
    platform: process.platform,
    arch: process.arch,
    node: process.versions.node.slice(0, process.versions.node.indexOf('.')),
    modules: process.versions.modules,
  },
): Uws {
  const require = createRequire(import.meta.url);
  const ownPackage = `@uwsjs/${wanted.platform}-${wanted.arch}-${wanted.node}`;
  const path =
    fileIn(require, OFFICIAL_PACKAGE, officialFile(wanted)) ??
    fileIn(require, ownPackage, 'uws.node');
  if (path === null) {
    throw new NativeBuildMissingError(
      wanted,
      `${ownPackage} is not installed (npm ci installs the package of the Node that runs it)`,
    );
  }
  // The native code reads its limit of a head from the environment, once, when it is loaded, and
  // there is no other way to tell it. Without it, heads end at 4,096 bytes.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HEAD_BYTES_MAX);
  try {
    return require(path) as Uws;
  } catch (error) {
    throw new NativeBuildMissingError(wanted, `${path} does not load (${String(error)})`);
  }
}

function officialFile({ platform, arch, modules }: Platform): string {
  return `uws_${platform}_${arch}_${modules}.node`;
}

function fileIn(require: NodeJS.Require, packageName: string, file: string): string | null {
  try {
    const path = join(dirname(require.resolve(`${packageName}/package.json`)), file);
    return existsSync(path) ? path : null;
  } catch {
    return null;
  }
}
