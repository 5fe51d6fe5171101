/**
 * Addresses of pages. Inside the app a path is as if the app were served at `/`; what stands in
 * front of it is known in `data/location.ts` alone.
 */

export interface Match<Page> {
  readonly page: Page;
  /** Decoded. */
  readonly params: Readonly<Record<string, string>>;
}

interface Pattern {
  /** `/queues/:queue`. */
  readonly path: string;
}

/** null: no page is there, or a name in the path is no text. */
export function matchRoute<Page extends Pattern>(
  pages: readonly Page[],
  path: string,
): Match<Page> | null {
  const segments = segmentsOf(path);
  if (segments === null) return null;
  for (const page of pages) {
    const wanted = segmentsOf(page.path) ?? [];
    if (wanted.length !== segments.length) continue;
    const isHere = wanted.every((part, i) => part.startsWith(':') || part === segments[i]);
    if (!isHere) continue;
    const named = wanted.flatMap((part, i) =>
      part.startsWith(':') ? [[part.slice(1), segments[i] ?? '']] : [],
    );
    return { page, params: Object.fromEntries(named) };
  }
  return null;
}

function segmentsOf(path: string): string[] | null {
  try {
    return path
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeURIComponent);
  } catch {
    return null;
  }
}

/** Parts of the address that choose a span of time. */
const SPAN = ['range', 'from', 'to'];

/**
 * Where the pages of earlier releases went: those of a queue to the queue, others to the workload.
 * null: the path is none of them.
 */
export function redirectOf(path: string, query: URLSearchParams): string | null {
  if (path !== '/analytics' && path !== '/operations') return null;
  const queue = query.get('queue') ?? '';
  const kept = new URLSearchParams();
  for (const name of SPAN) {
    const value = query.get(name);
    if (value !== null) kept.set(name, value);
  }
  return withQuery(queue === '' ? '/workload' : pathOfQueue(queue), kept);
}

/** Leaves out what is empty. */
export function withQuery(
  path: string,
  query: URLSearchParams | Readonly<Record<string, string | null | undefined>>,
): string {
  const entries = query instanceof URLSearchParams ? [...query] : Object.entries(query);
  const said = entries.flatMap(([name, value]): [string, string][] =>
    value ? [[name, value]] : [],
  );
  const text = new URLSearchParams(said).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** A segment that a browser takes out of every path, however it is encoded. */
export function isResolved(segment: string): boolean {
  return segment === '.' || segment === '..';
}

/** A queue that no path can name is shown by its messages. */
export function pathOfQueue(queue: string): string {
  if (isResolved(queue)) return withQuery('/messages', { queue });
  return `/queues/${encodeURIComponent(queue)}`;
}

/** What every page gets: the names in its path. */
export interface PageParams {
  readonly params: Readonly<Record<string, string>>;
}
