/**
 * Lists a page of the ephemeral queues that a node shows: those that are declared,
 * wherever they hold their messages, and those that this node holds, in the order of their names'
 * bytes.
 *
 * A tenant may have 200,000 of them in memory, in no order, and declared ones without a bound. A
 * page passes the names in memory once and keeps the first, so it costs 20 ms of them all, in
 * steps; what it holds is its own length. A queue that comes or goes meanwhile may show or not; one
 * that goes and comes back is met twice, and shows as it came back.
 */
import { type DeclaredQueue, declaredQueues, FirstHeap, keyText, type State } from '@svc/engine';
import type { EphemeralQueue } from '@svc/ephemeral';
import type { EphemeralQueuesPage } from '@svc/http';
import type { EphemeralQueueView } from '@svc/wire';
import type { LocalRings } from './local.js';

export interface QueuesAsked {
  readonly tenant: string;
  /** Queues with names behind it; '': all. */
  readonly after: string;
  readonly limit: number;
}

/** Names that are looked at, rows that are read, and views that are made, in one step. */
const ITEMS_PER_STEP = 256;
const NO_DROPS = { bounds: 0, ttl: 0, retry: 0 };

/** A queue of this node, with its name as keys hold it. */
interface Held {
  queue: EphemeralQueue;
  key: string;
}

/** Either of them, or both, are there. */
interface Listed {
  readonly name: string;
  readonly held: EphemeralQueue | null;
  readonly declared: DeclaredQueue | null;
}

export function* queuesPage(
  rings: LocalRings,
  state: State,
  { tenant, after, limit }: QueuesAsked,
): Generator<void, Omit<EphemeralQueuesPage, 'nodeId'>> {
  // One more than the page shows whether there are more.
  const held = yield* heldBehind(rings.ofTenant(tenant), keyText(after), limit + 1);
  const declared = yield* declaredBehind(state, tenant, after, limit + 1);
  const listed = merged(held, declared);
  const queues: EphemeralQueueView[] = [];
  for (const one of listed.slice(0, limit)) {
    queues.push(viewOf(one, rings));
    if (queues.length % ITEMS_PER_STEP === 0) yield;
  }
  const truncated = listed.length > limit;
  const nextAfter = truncated ? (queues[limit - 1]?.queue ?? null) : null;
  const page = { kind: 'ephemeral-queues', queues, truncated, nextAfter } as const;
  return { ...page, cellBytes: rings.bytes, tenantBytes: rings.bytesOf(tenant) };
}

/** The first `count`, the first of them first. */
function* heldBehind(
  queues: Iterable<EphemeralQueue>,
  after: string,
  count: number,
): Generator<void, Held[]> {
  const found: Held[] = [];
  const byKey = new Map<string, Held>();
  // Its first is the last of those that are kept, which gives way.
  let heap: FirstHeap<Held> | null = null;
  let passed = 0;
  for (const queue of queues) {
    passed++;
    if (passed % ITEMS_PER_STEP === 0) yield;
    const key = keyText(queue.name);
    if (key <= after || (heap?.first !== undefined && key > heap.first.key)) continue;
    const known = byKey.get(key);
    if (known !== undefined) {
      known.queue = queue;
      continue;
    }
    if (found.length < count) {
      const one = { queue, key };
      found.push(one);
      byKey.set(key, one);
      continue;
    }
    heap ??= new FirstHeap(found, isBehind);
    const last = heap.first;
    if (last === undefined || key > last.key) continue;
    byKey.delete(last.key);
    last.queue = queue;
    last.key = key;
    byKey.set(key, last);
    heap.moveFirst(true);
  }
  heap ??= new FirstHeap(found, isBehind);
  const ordered: Held[] = [];
  for (let last = heap.first; last !== undefined; last = heap.first) {
    ordered.push(last);
    heap.moveFirst(false);
    if (ordered.length % ITEMS_PER_STEP === 0) yield;
  }
  return ordered.reverse();
}

function isBehind(one: Held, other: Held): boolean {
  return one.key > other.key;
}

function* declaredBehind(
  state: State,
  tenant: string,
  after: string,
  count: number,
): Generator<void, DeclaredQueue[]> {
  const found: DeclaredQueue[] = [];
  let last = after;
  while (found.length < count) {
    const wanted = Math.min(ITEMS_PER_STEP, count - found.length);
    const rows = declaredQueues(state, tenant, last, wanted);
    for (const row of rows) found.push(row);
    last = rows[rows.length - 1]?.queue ?? last;
    if (rows.length < wanted) break;
    yield;
  }
  return found;
}

/** Both are in order; a queue that is in both stands there once. */
function merged(held: readonly Held[], declared: readonly DeclaredQueue[]): Listed[] {
  const listed: Listed[] = [];
  let [at, row] = [0, 0];
  for (;;) {
    const here = held[at];
    const there = declared[row];
    if (here === undefined && there === undefined) return listed;
    const key = there === undefined ? null : keyText(there.queue);
    const isHeld = here !== undefined && (key === null || here.key <= key);
    const isDeclared =
      there !== undefined && (here === undefined || key === null || key <= here.key);
    const name = (isHeld ? here.queue.name : there?.queue) ?? '';
    listed.push({ name, held: isHeld ? here.queue : null, declared: isDeclared ? there : null });
    if (isHeld) at++;
    if (isDeclared) row++;
  }
}

function viewOf({ name, held, declared }: Listed, rings: LocalRings): EphemeralQueueView {
  const tier = declared !== null || held?.isDeclared === true ? 'declared' : 'implicit';
  return {
    queue: name,
    tier,
    depth: held?.messages ?? 0,
    bytes: held?.bytes ?? 0,
    partitions: held?.rings.size ?? 0,
    groups: held?.groups.size ?? 0,
    drops: held === null ? NO_DROPS : { ...held.drops },
    options: held?.terms ?? rings.termsOf(declared?.options),
  };
}
