/** The table that every store is held to, and a store with much in it. For tests alone. */
export { STORE_CASES, type StoreCase, type StoreUnderTest } from '../store/kv-cases.fake.js';
export { type Filling, fillRecords } from './filled-records.js';
