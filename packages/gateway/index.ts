/** The multi-tenant gateway that a node runs in front of its own HTTP front. */
export * from './base/access.js';
export type * from './base/clock.js';
export type * from './base/cluster-view.js';
export * from './base/random.js';
export * from './base/refusal.js';
export * from './limits/limits.js';
export * from './metering/samples.js';
export * from './store/kv.js';
