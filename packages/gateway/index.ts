/** The multi-tenant gateway that a node runs in front of its own HTTP front. */
export * from './base/access.js';
export type { Rate } from './base/bucket.js';
export type * from './base/clock.js';
export type * from './base/cluster-view.js';
export * from './base/random.js';
export * from './base/refusal.js';
export * from './edge/address-rates.js';
export * from './edge/client-address.js';
export * from './edge/deadlines.js';
export * from './edge/head-bounds.js';
export * from './edge/login-guard.js';
export * from './edge/networks.js';
export * from './edge/origins.js';
export * from './edge/security-headers.js';
export * from './limits/limits.js';
export * from './metering/samples.js';
export * from './store/kv.js';
