/**
 * Whether the schemas of bodies say what the parsers do. Bodies that the tables sent and the server
 * took are changed in one place each: a member left out, or replaced by a value of every kind. Each
 * changed body goes to the server, and both must agree on whether it is a body of that route.
 */
import type { Caller } from '../process/http-client.js';
import type { Exchange } from './broker-under-test.js';
import { disagreement, type OpenApiJudge } from './openapi-judge.js';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Bodies of one route that are changed, at most. */
const SEEDS_MAX = 12;
/** Bytes of a body that is changed: the many large ones have the shape of small ones. */
const BODY_BYTES_MAX = 2000;
const SIDE_BY_SIDE = 16;
const REPLACEMENTS: readonly Json[] = [null, true, -1, 0, 1, 1.5, 1e10, '', 'x', '1', [], [1], {}];

interface Seed {
  readonly method: string;
  readonly path: string;
  readonly pattern: string;
  readonly body: Json;
}

interface RouteSeeds {
  readonly seeds: Seed[];
  /** Members that they have, by their path. */
  readonly members: Set<string>;
}

/** Remembers, for each route, bodies that have a member which those before them lack. */
export class BodySeeds {
  readonly #routes = new Map<string, RouteSeeds>();

  add({ method, path, body, answer }: Exchange, judge: OpenApiJudge): void {
    if (answer.status >= 300 || typeof body !== 'string' || body.length > BODY_BYTES_MAX) return;
    const pattern = judge.pathOf(method, path);
    if (pattern === null) return;
    const route = this.#routes.get(`${method} ${pattern}`) ?? { seeds: [], members: new Set() };
    this.#routes.set(`${method} ${pattern}`, route);
    if (route.seeds.length >= SEEDS_MAX || body === '') return;
    if (judge.takes(method, pattern, body) !== true) return;
    const parsed = JSON.parse(body) as Json;
    const members = membersOf(parsed, '');
    if (route.seeds.length > 0 && members.every((one) => route.members.has(one))) return;
    for (const member of members) route.members.add(member);
    route.seeds.push({ method, path, pattern, body: withoutWaits(parsed) });
  }

  get all(): readonly Seed[] {
    return [...this.#routes.values()].flatMap(({ seeds }) => seeds);
  }
}

/** What schema and server disagree on; empty when they agree. */
export async function disagreements(
  seeds: readonly Seed[],
  client: Caller,
  judge: OpenApiJudge,
): Promise<{ readonly sent: number; readonly found: readonly string[] }> {
  const work = seeds.flatMap((seed) =>
    changedBodies(seed.body).map((body) => ({ seed, text: JSON.stringify(body) })),
  );
  const found: string[] = [];
  let next = 0;
  const worker = async () => {
    for (;;) {
      const one = work[next];
      if (one === undefined) return;
      next++;
      const { method, path, pattern } = one.seed;
      const taken = judge.takes(method, pattern, one.text);
      if (taken === null) continue;
      const { status, text } = await client.send(method, path, one.text);
      const verdict = disagreement(taken, status, text, one.text);
      if (verdict !== null) found.push(`${method} ${pattern}: ${verdict}: ${one.text}`);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  return { sent: work.length, found };
}

/** Paths of all members inside a value; those of a list's elements are the same. */
function membersOf(value: Json, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => membersOf(one, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [path];
  const inside = Object.entries(value).flatMap(([name, one]) => membersOf(one, `${path}.${name}`));
  return [path, ...inside];
}

/** A fetch that waits would hold up all that follow. */
function withoutWaits(body: Json): Json {
  const waits = typeof body === 'object' && body !== null && 'maxWaitMs' in body;
  return waits ? { ...body, maxWaitMs: 0 } : body;
}

/** `value` with one change each. */
function changedBodies(value: Json): Json[] {
  return [...REPLACEMENTS, ...changedInside(value)];
}

function changedInside(value: Json): Json[] {
  if (Array.isArray(value)) {
    return value
      .slice(0, 2)
      .flatMap((one, index) => changedBodies(one).map((changed) => value.with(index, changed)));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => {
    const { [name]: _, ...others } = value;
    return [others, ...changedBodies(one).map((changed) => ({ ...others, [name]: changed }))];
  });
}
