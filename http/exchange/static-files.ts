/**
 * The dashboard's files, read into memory when the server is made. A request only ever looks a name
 * up in that table, so no path can lead out of the directory. A path that names no file is the
 * application's own and gets its page.
 *
 * Nothing is compressed for a request: `app.js.br` and `app.js.gz` are `app.js` as the build
 * compressed it, and a request gets the smallest that it accepts.
 *
 * The page names its files and the API relative to its `<base>`. A proxy may serve the node under a
 * prefix that the node does not see, and the page at any depth below it. So the base is the way up
 * from the path that the node was asked for: `../` for `/queues/orders`, which a browser takes from
 * the address that it knows. Rejected: a setting for the prefix, which each proxy would need.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { assert } from '../base/assert.js';
import { PAGE_DEPTH_MAX, STATIC_BYTES_MAX, STATIC_FILES_MAX } from '../base/limits.js';
import { decodePercent, isFault } from './query.js';
import type { Headers } from './transport.js';

export interface StaticFile {
  readonly contentType: string;
  readonly cacheControl: string;
  /** Smallest first; the last is not encoded. */
  readonly forms: readonly StaticForm[];
}

/** A file as it is sent. */
export interface StaticForm {
  /** "" for the file itself. */
  readonly encoding: '' | 'br' | 'gzip';
  readonly bytes: Uint8Array;
  /** With its quotes. */
  readonly entityTag: string;
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
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // No text becomes markup or script, whatever a library does with it.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
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

const ENCODINGS = { '.br': 'br', '.gz': 'gzip' } as const;
/** Stands in the page where its base belongs. */
const BASE = '<base href="/">';

export class StaticFiles {
  readonly #files = new Map<string, StaticFile>();
  /** By the number of folders above; empty: there is no directory. */
  readonly #pages: readonly StaticFile[];
  /** For paths that are deeper: right where no prefix is in front of the node. */
  readonly #deepPage: StaticFile | null;

  /**
   * Throws `StaticFilesError` when the directory has no index.html or more than the bounds allow.
   */
  constructor(directory: string | null) {
    const sources = directory === null ? new Map<string, Uint8Array>() : readAll(directory);
    for (const [name, bytes] of sources) {
      if (!(extname(name) in ENCODINGS)) this.#files.set(name, fileOf(name, bytes, sources));
    }
    const page = sources.get('/index.html');
    if (directory !== null && page === undefined) {
      throw new StaticFilesError(`${directory} has no index.html`);
    }
    const html = Buffer.from(page ?? []).toString('utf8');
    const pageAt = (base: string): StaticFile => {
      const text = html.replace(BASE, `<base href="${base}">`);
      return fileOf('/index.html', Buffer.from(text, 'utf8'), new Map());
    };
    const depths = page === undefined ? 0 : PAGE_DEPTH_MAX + 1;
    this.#pages = Array.from({ length: depths }, (_, depth) => pageAt('../'.repeat(depth) || './'));
    this.#deepPage = page === undefined ? null : pageAt('/');
  }

  /** `path` as it was received. null: there is nothing to serve. */
  find(path: string): StaticFile | null {
    const decoded = decodePercent(path, 'path');
    const file = isFault(decoded) ? undefined : this.#files.get(decoded);
    if (file !== undefined && decoded !== '/index.html') return file;
    // A page in place of a script would be run as one.
    if (path.startsWith(ASSETS_PREFIX)) return null;
    return this.#pages[depthOf(path)] ?? this.#deepPage;
  }
}

/** The form that answers a request with this `Accept-Encoding`. */
export function formFor({ forms }: StaticFile, acceptEncoding: string): StaticForm {
  const accepted = new Set(
    acceptEncoding
      .toLowerCase()
      .split(',')
      .map((part) => part.split(';').map((piece) => piece.trim()))
      .filter(([, quality = 'q=1']) => !/^q=0(\.0*)?$/.test(quality))
      .map(([name]) => name),
  );
  const form = forms.find(({ encoding }) => encoding === '' || accepted.has(encoding));
  assert(form !== undefined, `the last of ${forms.length} forms is not the file itself`);
  return form;
}

/** Whether `If-None-Match` names the form. */
export function isHeld({ entityTag }: StaticForm, ifNoneMatch: string): boolean {
  return ifNoneMatch
    .split(',')
    .some((tag) => tag.trim().replace(/^W\//, '') === entityTag || tag.trim() === '*');
}

function depthOf(path: string): number {
  return path.split('/').length - 2;
}

function readAll(directory: string): Map<string, Uint8Array> {
  const sources = new Map<string, Uint8Array>();
  let bytesTotal = 0;
  for (const path of filesUnder(directory)) {
    const bytes = readFileSync(path);
    bytesTotal += bytes.length;
    if (sources.size === STATIC_FILES_MAX || bytesTotal > STATIC_BYTES_MAX) {
      throw new StaticFilesError(
        `${directory} has more than ${STATIC_FILES_MAX} files or ${STATIC_BYTES_MAX} bytes`,
      );
    }
    sources.set(`/${relative(directory, path).split(sep).join('/')}`, bytes);
  }
  return sources;
}

function fileOf(
  name: string,
  bytes: Uint8Array,
  sources: ReadonlyMap<string, Uint8Array>,
): StaticFile {
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
  const encoded = Object.entries(ENCODINGS).flatMap(([extension, encoding]) => {
    const made = sources.get(name + extension);
    return made === undefined
      ? []
      : [{ encoding, bytes: made, entityTag: `"${digest}-${encoding}"` }];
  });
  return {
    contentType: CONTENT_TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream',
    cacheControl: name.startsWith(ASSETS_PREFIX) ? CACHE_FOREVER : CACHE_NOT,
    forms: [...encoded, { encoding: '', bytes, entityTag: `"${digest}"` }],
  };
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
