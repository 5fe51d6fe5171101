/** Records over the store in memory, for tests. */
import { FakeClock } from '../base/clock.fake.js';
import { SeededRandom } from '../base/random.fake.js';
import { MemoryStore } from '../store/memory-kv.fake.js';
import { CONTROL_PLANE, changeTurns, isRefused, type Records, type Refused } from './batch.js';
import { createCluster, type MadeCluster } from './clusters.js';
import { seed } from './seed.js';

export interface FakeRecords extends Records {
  readonly store: MemoryStore;
  readonly clock: FakeClock;
  /** Clusters whose cached state became old here. */
  readonly invalidated: string[];
}

/** `store`: of another node of the same cluster. */
export function fakeRecords(store?: MemoryStore, seedOfIds = 1): FakeRecords {
  const clock = new FakeClock();
  const invalidated: string[] = [];
  return {
    store: store ?? new MemoryStore(clock),
    clock,
    random: new SeededRandom(seedOfIds),
    turns: changeTurns(),
    invalidated,
    onInvalidated: (clusterId) => void invalidated.push(clusterId),
  };
}

/** The result, where it must not be a refusal. */
export function done<Result>(result: Result | Refused): Result {
  if (isRefused(result)) throw new Error(`refused: ${result.error}`);
  return result;
}

/** A seeded store with one cluster of the plan. */
export async function withCluster(
  slug = 'acme',
  planCode = 'pro',
): Promise<FakeRecords & { readonly made: MadeCluster }> {
  const records = fakeRecords();
  await seed(records);
  const made = done(
    await createCluster(records, CONTROL_PLANE, { tenantSlug: slug, slug, planCode }),
  );
  return { ...records, made };
}
