/** The process: joins the layers. `main.ts` is its entry; the rest is exported for tests. */

export type { Broker } from './broker.js';
export { type Cancel, type Clock, SystemClock } from './clock.js';
export { type Config, readConfig } from './config.js';
export { Consensus } from './consensus.js';
export { CRASH_POINTS, type CrashPoint } from './crash-points.js';
export { FakeGroup, type FakeMachine } from './group.fake.js';
export { Answers } from './group-clients.fake.js';
export { Leader } from './leader.js';
export { createLogger, type Logger } from './logging.js';
export { memberId } from './member-id.js';
export { Node, openNode } from './node.js';
export { type OpenDirectory, openDirectory } from './node-directory.js';
export type { NodeOptions } from './node-options.js';
export type { CallKind } from './peer-call-frames.js';
export { type CallFailure, type OwnCall, PeerCalls } from './peer-calls.js';
export type { PeerChannel, PeerPort } from './peer-port.js';
export type { ServedCall } from './peer-served-calls.js';
export { type RandomSource, SystemRandom } from './random.js';
export { Replica } from './replica.js';
export { CURRENT as CURRENT_STATE, StateStore } from './state-store.js';
export { SimulatedPlace } from './state-store-simulated.js';
