/** The process: joins the layers. `main.ts` is its program. The rest is exported for tests. */

export { type Config, readConfig } from './config/config.js';
export { memberId } from './config/member-id.js';
export { Consensus } from './consensus/consensus.js';
export { type OpenDirectory, openDirectory } from './directory/node-directory.js';
export { CURRENT as CURRENT_STATE, StateStore } from './directory/state-store.js';
export { Leader } from './leader/leader.js';
export { Replica } from './leader/replica.js';
export { Node, openNode } from './node/node.js';
export type { NodeOptions } from './node/options.js';
export type { CallKind } from './peers/call-frames.js';
export { type CallFailure, type OwnCall, PeerCalls } from './peers/calls.js';
export type { PeerChannel, PeerPort } from './peers/port.js';
export type { ServedCall } from './peers/served-calls.js';
export type { Broker } from './service/broker.js';
export type { AnswerListener, SourceCall, SourcePort } from './standby/source-port.js';
export type { Cancel, Clock } from './system/clock.js';
export { CRASH_POINTS, type CrashPoint } from './system/crash-points.js';
export { createLogger, type Logger } from './system/logging.js';
export type { RandomSource } from './system/random.js';
