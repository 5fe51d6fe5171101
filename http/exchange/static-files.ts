/**
 * The dashboard's files, read into memory when the server is made. A request only ever looks a name
 * up in that table, so no path can lead out of the directory. A path that names no file is the
 * application's own and gets its page.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { STATIC_BYTES_MAX, STATIC_FILES_MAX } from '../base/limits.js';
import type { Headers } from './exchange.js';
import { decodePercent, isFault } from './query.js';

export interface StaticFile {
  readonly contentType: string;
  readonly bytes: Uint8Array;
  readonly cacheControl: string;
}

export class StaticFilesError extends Error {
  readonly code = 'static_files';

  constructor(what: string) {
    super(`dashboard files: ${what}`);
    this.name = 'StaticFilesError';
  }
}

const CONTENT_TYPES: { readonly [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.ttf': 'font/ttf',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
};

/** Files under `assets/` carry a digest of their content in their name. */
const ASSETS_PREFIX = '/assets/';
const CACHE_FOREVER = 'public, max-age=31536000, immutable';
const CACHE_NOT = 'no-cache';

/**
 * What the page may do in a browser: run and load what came with it, ask this node, and nothing
 * else; no other page may show it in a frame, where a click on one would be a click on the other.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of the page and its files. */
export const PAGE_HEADERS: Headers = [
  ['Content-Security-Policy', CONTENT_SECURITY_POLICY],
  ['X-Frame-Options', 'DENY'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
];

/** True for a GET or HEAD outside the API: it reads the page or one of its files. */
export function isPageRead(method: string, path: string): boolean {
  return (method === 'GET' || method === 'HEAD') && !isApiPath(path);
}

function isApiPath(path: string): boolean {
  return path.startsWith('/api/') || path.startsWith('/streams/') || path.startsWith('/internal/');
}

export class StaticFiles {
  readonly #files = new Map<string, StaticFile>();
  readonly #page: StaticFile | null;

  /**
   * Throws `StaticFilesError` when the directory has no index.html or more than the bounds allow.
   */
  constructor(directory: string | null) {
    if (directory === null) {
      this.#page = null;
      return;
    }
    let bytesTotal = 0;
    for (const path of filesUnder(directory)) {
      const name = `/${relative(directory, path).split(sep).join('/')}`;
      const bytes = readFileSync(path);
      bytesTotal += bytes.length;
      if (this.#files.size === STATIC_FILES_MAX || bytesTotal > STATIC_BYTES_MAX) {
        throw new StaticFilesError(
          `${directory} has more than ${STATIC_FILES_MAX} files or ${STATIC_BYTES_MAX} bytes`,
        );
      }
      this.#files.set(name, {
        contentType: CONTENT_TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream',
        bytes,
        cacheControl: name.startsWith(ASSETS_PREFIX) ? CACHE_FOREVER : CACHE_NOT,
      });
    }
    const page = this.#files.get('/index.html');
    if (page === undefined) throw new StaticFilesError(`${directory} has no index.html`);
    this.#page = page;
  }

  /** There is a file of this very name, as against a path that gets the page. */
  has(path: string): boolean {
    return this.#files.has(path);
  }

  /** `path` as it was received. null: there is nothing to serve. */
  find(path: string): StaticFile | null {
    const decoded = decodePercent(path, 'path');
    const file = isFault(decoded) ? undefined : this.#files.get(decoded);
    if (file !== undefined) return file;
    // A page in place of a script would be run as one.
    return path.startsWith(ASSETS_PREFIX) ? null : this.#page;
  }
}

function filesUnder(directory: string): string[] {
  let names: string[];
  try {
    names = readdirSync(directory).sort();
  } catch (error) {
    throw new StaticFilesError(`${directory} cannot be read (${String(error)})`);
  }
  return names.flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? filesUnder(path) : [path];
  });
}
