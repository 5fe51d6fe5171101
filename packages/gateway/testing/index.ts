/** Doubles of the gateway's ports, and the table that every store is held to. For tests alone. */
export { FakeClock } from '../base/clock.fake.js';
export { fakeCluster } from '../base/cluster-view.fake.js';
export { SeededRandom } from '../base/random.fake.js';
export { FakeLimits } from '../limits/limits.fake.js';
export { STORE_CASES, type StoreCase, type StoreUnderTest } from '../store/kv-cases.fake.js';
export { MemoryStore } from '../store/memory-kv.fake.js';
