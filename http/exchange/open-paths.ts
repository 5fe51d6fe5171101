/**
 * Which requests need no token (specification, Authentication 6): routes of the level `public`,
 * paths that are public whether or not something is served there, and what `JWT_SKIP_PATHS` lists.
 * A path that is public stays so when the list does not have it.
 */

const PUBLIC_PATHS: ReadonlySet<string> = new Set([
  '/',
  '/health',
  '/metrics',
  '/metrics/prometheus',
  '/auth/login',
  '/auth/logout',
]);
const PUBLIC_PREFIXES: readonly string[] = ['/assets/', '/favicon'];

export class OpenPaths {
  readonly #exact: ReadonlySet<string>;
  readonly #prefixes: readonly string[];

  /** An entry stands for itself; one that ends in `/` and is longer, for all that begins so. */
  constructor(skipPaths: readonly string[]) {
    const isPrefix = (entry: string): boolean => entry.length > 1 && entry.endsWith('/');
    this.#exact = new Set([...PUBLIC_PATHS, ...skipPaths]);
    this.#prefixes = [...PUBLIC_PREFIXES, ...skipPaths.filter(isPrefix)];
  }

  /** `path` as it came: what is spelled another way is another path. */
  has(path: string): boolean {
    return this.#exact.has(path) || this.#prefixes.some((prefix) => path.startsWith(prefix));
  }
}
