/** The HTTP/1.1 front of the broker: `createServer(options, service)`. */
export { ROLE_BITS, type Role, type RoleSet } from './access-level.js';
export type * from './analytics-service.js';
export type { AnswerRoom } from './answer-room.js';
export { AnswerText, type TextRoom } from './answer-text.js';
export type { Authenticator, Caller, Unauthenticated, Verdict } from './authentication.js';
export type { ConnectionBounds } from './connections.js';
export { type DoorOptions, isLoopback } from './door.js';
export type * from './ephemeral-service.js';
export type { FrontLogger } from './exchange.js';
export type { GateOptions } from './gate.js';
export type * from './group-service.js';
export type * from './kv-service.js';
export { KV_LIMITS, type KvLimits, TIMER_CALL_DEFAULTS, type TimerCallLimits } from './limits.js';
export * from './list-text.js';
export * from './lock-service.js';
export {
  anonymousBytes,
  isMachineRefusal,
  residentBytes,
  virtualBytes,
} from './machine-figures.js';
export { type ReadFamily, readExposition } from './metrics/exposition-reader.fake.js';
export type * from './node-figures.js';
export type * from './record-service.js';
export type * from './resource-service.js';
export { methodsOf, type Route } from './route.js';
export { ROUTES } from './routes/index.js';
export {
  createServer,
  type HttpServer,
  type HttpServerOptions,
  ListenError,
  type Unready,
} from './server.js';
export type * from './service.js';
export { StaticFilesError } from './static-files.js';
export { streamRowsText } from './stream-rows.js';
export type * from './stream-service.js';
export type * from './surface-service.js';
export type * from './timer-service.js';
export { loadUws, NativeBuildMissingError, type UwsResponse } from './uws.js';
