/** The multi-tenant gateway that a node runs in front of its own HTTP front. */
export type { Role } from './base/access.js';
export { REFUSALS, type Refusal, refusalBody } from './base/refusal.js';
export { Credentials } from './credentials/credentials.js';
export { Epochs } from './credentials/epochs.js';
export { SessionTokens } from './credentials/session-tokens.js';
export type { HstsMode } from './edge/security-headers.js';
export { Gateway, type GatewaySettings } from './embedding/gateway.js';
export type { Limits } from './limits/limits.js';
export { type Admitted, Passage, type PassageConfig } from './passage/passage.js';
export { CLASSES, type ClassRule } from './pipeline/classes.js';
export { Targets } from './pipeline/targets.js';
export { SEEDED_PLANS } from './records/seed.js';
export {
  type Json,
  type KeyValueStore,
  type Page,
  type PageQuery,
  type Row,
  StoreUnavailableError,
  type WriteOp,
  type WriteResult,
} from './store/kv.js';
export { BrokerUnavailableError } from './upkeep/inventory.js';
export type { BrokerGrants, Grant, GrantKind } from './upkeep/tenant-grants.js';
