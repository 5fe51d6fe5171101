/** The multi-tenant gateway that a node runs in front of its own HTTP front. */
export * from './base/access.js';
export type { Rate } from './base/bucket.js';
export type * from './base/caller.js';
export type * from './base/clock.js';
export type * from './base/cluster-view.js';
export type * from './base/logger.js';
export * from './base/overloaded.js';
export * from './base/random.js';
export * from './base/refusal.js';
export * from './credentials/api-key.js';
export * from './credentials/credentials.js';
export * from './credentials/epochs.js';
export * from './credentials/invalidation.js';
export type { MaybePromise } from './credentials/known.js';
export * from './credentials/passwords.js';
export * from './credentials/presented.js';
export * from './credentials/session-cookie.js';
export * from './credentials/session-tokens.js';
export { Turns } from './credentials/turns.js';
export * from './edge/address-rates.js';
export * from './edge/client-address.js';
export * from './edge/deadlines.js';
export * from './edge/head-bounds.js';
export * from './edge/login-guard.js';
export * from './edge/networks.js';
export * from './edge/origins.js';
export * from './edge/security-headers.js';
export * from './embedding/gateway.js';
export * from './limits/admission.js';
export * from './limits/cluster-limits.js';
export * from './limits/limits.js';
export * from './limits/push-blocks.js';
export * from './listener/listener.js';
export * from './metering/samples.js';
export * from './passage/passage.js';
export { injectedHeaders, isRelayed } from './pipeline/relayed-head.js';
export * from './pipeline/targets.js';
export * from './records/batch.js';
export * from './records/bootstrap.js';
export * from './records/checks.js';
export * from './records/clusters.js';
export * from './records/keys.js';
export * from './records/outbox.js';
export * from './records/provision.js';
export * from './records/queues.js';
export * from './records/roles.js';
export * from './records/rows.js';
export * from './records/seed.js';
export * from './records/sessions.js';
export { DamagedRowError } from './records/shape.js';
export * from './records/tenants.js';
export * from './records/users.js';
export {
  GithubLogin,
  GoogleLogin,
  type GoogleOptions,
  type LoginProvider,
  type ProviderFetch,
  type ProviderOptions,
} from './routes/login-provider.js';
export { OwnRoutes } from './routes/own-routes.js';
export type {
  BrokerPort,
  BrokerRequest,
  GrantsPort,
  OwnAnswer,
  OwnRequest,
  OwnRoute,
  RouteConfig,
  RouteParts,
} from './routes/route.js';
export { StateTokens } from './routes/state-tokens.js';
export { OWN_ROUTES } from './routes/table.js';
export * from './state/gateway-state.js';
export * from './store/kv.js';
export * from './upkeep/inventory.js';
export * from './upkeep/tenant-grants.js';
export * from './usage/journal.js';
export * from './usage/monthly-quotas.js';
export * from './usage/roll-up.js';
export * from './usage/spool-disk.js';
export * from './usage/usage-flush.js';
export * from './usage/usage-upkeep.js';
