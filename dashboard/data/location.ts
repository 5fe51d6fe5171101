/**
 * Where the reader is. The page knows the prefix under which it is served from its `<base>`, which
 * the node wrote as the way up from the path that it was asked for.
 */
import { withQuery } from '../base/routes.js';
import { Store } from '../base/store.js';
import { useStore } from './use-store.js';

export interface Place {
  /** Without the prefix: `/queues/orders`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** `/` or `/broker/`. Read once: what the address becomes later does not move it. */
const BASE = new URL(document.baseURI);

function placeOf({ pathname, search }: Pick<URL, 'pathname' | 'search'>): Place {
  const path = pathname.startsWith(BASE.pathname) ? pathname.slice(BASE.pathname.length) : '';
  return { path: `/${path}`, query: new URLSearchParams(search) };
}

const place = new Store(placeOf(location));
addEventListener('popstate', () => {
  place.value = placeOf(location);
});

export function usePlace(): Place {
  return useStore(place);
}

/** An address of the app or of the API as the browser asks for it. */
export function urlOf(path: string): string {
  return new URL(path.replace(/^\//, './'), BASE).href;
}

export function navigate(path: string, { replace = false } = {}): void {
  const url = urlOf(path);
  try {
    if (replace) history.replaceState(null, '', url);
    else history.pushState(null, '', url);
  } catch (error) {
    // Safari refuses more than a hundred in half a minute: the address stays behind, the page not.
    reportError(error);
  }
  place.value = placeOf(new URL(url));
}

/** Sets parts of the query and keeps the others; null takes one out. No new step of the history. */
export function setQuery(parts: Readonly<Record<string, string | null>>): void {
  const { path, query } = place.value;
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(parts)) {
    if (value === null || value === '') changed.delete(name);
    else changed.set(name, value);
  }
  navigate(withQuery(path, changed), { replace: true });
}
