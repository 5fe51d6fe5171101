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

function here(): Place {
  const { pathname, search } = location;
  const path = pathname.startsWith(BASE.pathname) ? pathname.slice(BASE.pathname.length) : '';
  return { path: `/${path}`, query: new URLSearchParams(search) };
}

const place = new Store(here());
addEventListener('popstate', () => {
  place.value = here();
});

export function usePlace(): Place {
  return useStore(place);
}

/** An address of the app or of the API as the browser asks for it. */
export function urlOf(path: string): string {
  return new URL(path.replace(/^\//, './'), BASE).href;
}

export function navigate(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', urlOf(path));
  else history.pushState(null, '', urlOf(path));
  place.value = here();
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
