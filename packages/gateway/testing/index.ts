/** The table that every store is held to. For tests alone. */
export { STORE_CASES, type StoreCase, type StoreUnderTest } from '../store/kv-cases.fake.js';
