/**
 * The deterministic broker. In teaching order: the state and its rows; commands, effects and how
 * they are applied; the leader's planner; reads.
 */
export {
  AppendDamage,
  type Checksum,
  type DecodedAppend,
  decodeAppend,
  type TransactionSink,
  verifyAppend,
} from './append.js';
export { type AppendObserver, applyEntry, readMeta } from './apply.js';
export { EngineBug } from './assert.js';
export { findPartition, findQueue } from './catalog.js';
export { CatalogueFault } from './catalogue-fault.js';
export { CLUSTER_VERSION_READ, clusterVersionOf, refuseNewerVersion } from './cluster-version.js';
export {
  type CodecRefusal,
  decodeForwarded,
  encodeForwarded,
  type ForwardedCommand,
} from './command-codec.js';
export * from './commands.js';
export type { Ticket } from './delivery.js';
export type { Surroundings } from './draft.js';
export { type LogNeed, LogSurvey } from './log-survey.js';
export { MapState } from './map-state.js';
export { applyMembership, type Membership, membershipAt } from './memberships.js';
export { decodeAnswer, encodeAnswer, type ForwardedAnswer } from './outcome-codec.js';
export {
  type Answer,
  PLANNER_LIMITS,
  Planner,
  type PlannerLimits,
  type Turn,
} from './planner.js';
export {
  listQueues,
  type MessageCounts,
  type PartitionDepth,
  type PartitionView,
  type QueueDetail,
  type QueueView,
  queueDepth,
  queueDetail,
} from './queue-views.js';
export type * from './refusals.js';
export {
  newRequestSession,
  type RequestId,
  type RequestOrigin,
  type RequestSession,
  SETTLED_MAX,
} from './request-id.js';
export type * from './rows.js';
export { findSlices } from './slices.js';
export type * from './state.js';
export { LOCAL_TABLES, TABLES } from './table-list.js';
export { TransactionIndex } from './transaction-index.js';
export { WindowSurvey } from './window-survey.js';
