/**
 * Finds the route of a request. Paths are compared literally, before decoding; the segments that a
 * pattern names are percent-decoded once. A path that is known with another method is not known.
 * A last segment `{name...}` stands for all the rest.
 */
import { type DecodeFault, decodePercent, isFault } from '../exchange/query.js';
import { methodsOf, type PathParams, type Route } from './route.js';

export interface RouteMatch {
  readonly route: Route;
  readonly params: PathParams;
}

interface Pattern {
  readonly route: Route;
  readonly methods: readonly string[];
  /** null stands for a segment that is handed over. */
  readonly segments: readonly (string | null)[];
  /** Names of the segments that are handed over. */
  readonly names: readonly string[];
  /** An object of these names. */
  readonly named: (values: readonly string[]) => PathParams;
}

/** One method of a path. */
interface Literal {
  readonly method: string;
  readonly match: RouteMatch;
}

const NO_PARAMS: PathParams = {};

export class Router {
  /** The routes without parameters, by their path. */
  readonly #literals = new Map<string, Literal[]>();
  /** The others, by their number of segments. */
  readonly #patterns = new Map<number, Pattern[]>();
  /** The last match without parameters: most requests name the same, and comparing is less. */
  #last: (Literal & { readonly path: string }) | null = null;
  /** Those whose last segment takes the rest of the path. */
  readonly #tails: Pattern[] = [];

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const methods = methodsOf(route);
      if (!route.path.includes('{')) {
        const literals = this.#literals.get(route.path) ?? [];
        const match = { route, params: NO_PARAMS };
        for (const method of methods) literals.push({ method, match });
        this.#literals.set(route.path, literals);
        continue;
      }
      const segments = route.path
        .split('/')
        .map((segment) => (segment.startsWith('{') ? null : segment));
      const names = [...route.path.matchAll(/\{(\w+)/g)].map(([, name = '']) => name);
      const pattern = { route, methods, segments, names, named: namedBy(names) };
      if (route.path.endsWith('...}')) {
        this.#tails.push(pattern);
        continue;
      }
      const same = this.#patterns.get(segments.length) ?? [];
      this.#patterns.set(segments.length, [...same, pattern].sort(literalFirst));
    }
  }

  /** null: no such route. A fault: the route is known, and one of its segments does not decode. */
  match(method: string, path: string): RouteMatch | DecodeFault | null {
    const last = this.#last;
    if (last !== null && last.path === path && last.method === method) return last.match;
    const literals = this.#literals.get(path);
    if (literals !== undefined) {
      for (const literal of literals) {
        if (literal.method !== method) continue;
        this.#last = { ...literal, path: literal.match.route.path };
        return literal.match;
      }
    }
    const segments = path.split('/');
    for (const pattern of this.#patterns.get(segments.length) ?? []) {
      if (!pattern.methods.includes(method)) continue;
      if (matches(pattern, segments)) return withParams(pattern, segments);
    }
    return this.#tails.length === 0 ? null : this.#matchTail(method, segments);
  }

  /** The rest of the path is one segment, slashes and all, and not empty. */
  #matchTail(method: string, segments: readonly string[]): RouteMatch | DecodeFault | null {
    for (const pattern of this.#tails) {
      const last = pattern.segments.length - 1;
      if (segments.length <= last) continue;
      if (!pattern.methods.includes(method)) continue;
      const joined = [...segments.slice(0, last), segments.slice(last).join('/')];
      if (matches(pattern, joined)) return withParams(pattern, joined);
    }
    return null;
  }
}

/** The pattern with fewer named segments comes first, and counts where both fit a path. */
function literalFirst(one: Pattern, other: Pattern): number {
  return one.names.length - other.names.length;
}

/** A handed-over segment is never empty. */
function matches(pattern: Pattern, segments: readonly string[]): boolean {
  for (let i = 0; i < segments.length; i++) {
    const wanted = pattern.segments[i];
    if (wanted === null ? segments[i] === '' : wanted !== segments[i]) return false;
  }
  return true;
}

function withParams(pattern: Pattern, segments: readonly string[]): RouteMatch | DecodeFault {
  const values: string[] = [];
  for (let i = 0; i < segments.length; i++) {
    if (pattern.segments[i] !== null) continue;
    const decoded = decodePercent(segments[i] as string, 'path');
    if (isFault(decoded)) return decoded;
    values.push(decoded);
  }
  return { route: pattern.route, params: pattern.named(values) };
}

/** Compiled, so that all objects of a route have one shape, which pops would pay for otherwise. */
function namedBy(names: readonly string[]): Pattern['named'] {
  const members = names.map((name, i) => `${JSON.stringify(name)}: values[${i}]`);
  return new Function('values', `return { ${members.join(', ')} };`) as Pattern['named'];
}
