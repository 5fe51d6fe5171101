/** The HTTP/1.1 front of the broker: `createServer(options, service)`. */

export type { Operation } from './api.js';
export type { Demand, GateRefusal, OpenDemand, TooFar } from './base/demand.js';
export {
  ANSWER_BYTES_IN_FLIGHT_DEFAULT,
  BODY_BYTES_IN_FLIGHT_DEFAULT,
  DRAIN_BODY_BYTES_IN_FLIGHT_DEFAULT,
  KV_LIMITS,
  type KvLimits,
  STREAMED_ANSWER_BYTES_MIN,
  TIMER_CALL_DEFAULTS,
  type TimerCallLimits,
} from './base/limits.js';
export { countKv } from './endpoints/kv/kv-meters.js';
export { streamRowsText } from './endpoints/streams/state.js';
export type {
  Authenticator,
  Caller,
  CheckedCaller,
  Unauthenticated,
} from './exchange/access-level.js';
export {
  KV_NEEDS_NO_GRANT,
  POPS_MAKE_NO_QUEUE,
  ROLE_BITS,
  type Role,
  type RoleSet,
  SEES_ITS_TENANT_ALONE,
} from './exchange/access-level.js';
export {
  AnswerBudget,
  type AnswerRoom,
  type AnswerShare,
  type UnreadAnswer,
} from './exchange/answer-budget.js';
export { standingHeaders } from './exchange/answer-heads.js';
export { AnswerText, type TextRoom } from './exchange/answer-text.js';
export { readBody } from './exchange/body-reader.js';
export {
  type ConnectionBounds,
  peerOf,
  type TrackedRequest,
  UNBOUNDED,
} from './exchange/connections.js';
export { type DoorOptions, isLoopback } from './exchange/door.js';
export { BODIES_OVERLOADED_REFUSAL, type Status } from './exchange/errors.js';
export { Exchange } from './exchange/exchange.js';
export { HeldBody } from './exchange/held-body.js';
export * from './exchange/list-text.js';
export { type LoopClock, LoopShare, type Step } from './exchange/loop-share.js';
export type {
  AnswerHead,
  CallClient,
  CallRequest,
  Identity,
  MemoryCall,
} from './exchange/memory-call.js';
export { MemoryCalls } from './exchange/memory-calls.js';
export { PassedAnswer } from './exchange/passed-answer.js';
export { Head, readHead } from './exchange/request-head.js';
export { type FrontLogger, ListenerRim, type Rim, type RimOptions } from './exchange/rim.js';
export { StaticFilesError } from './exchange/static-files.js';
export {
  type BodySource,
  bytesOfChunk,
  type TransportRequest,
  type TransportResponse,
} from './exchange/transport.js';
export { NativeBuildMissingError } from './exchange/uws.js';
export type { Gate, GateOptions, Pass } from './gate/gate.js';
export { JsonError } from './json/json-error.js';
export { type KeySet, keySet } from './json/json-keys.js';
export { JsonReader, KEY_UNKNOWN, KEYS_END } from './json/json-reader.js';
export {
  anonymousBytes,
  isMachineRefusal,
  residentBytes,
  virtualBytes,
} from './metrics/machine-figures.js';
export type * from './ports/analytics-service.js';
export type * from './ports/ephemeral-service.js';
export type * from './ports/group-service.js';
export type * from './ports/kv-service.js';
export * from './ports/lock-service.js';
export type * from './ports/node-figures.js';
export type * from './ports/record-service.js';
export type * from './ports/resource-service.js';
export type * from './ports/service.js';
export type * from './ports/stream-service.js';
export type * from './ports/surface-service.js';
export type * from './ports/timer-service.js';
export type { Endpoint } from './routing/endpoint.js';
export type { GatedHalf, GatedSurface, GatewayClass } from './routing/gateway-class.js';
export { methodsOf, type Route } from './routing/route.js';
export { type RouteMatch, Router } from './routing/router.js';
export type { Elsewhere, PassedRequest } from './server/elsewhere.js';
export { ListenError, portTaken } from './server/listen-error.js';
export { ROUTES } from './server/routes.js';
export {
  createServer,
  type HttpServer,
  type HttpServerOptions,
  type ReadRequest,
  type Unready,
} from './server/server.js';
export { SocketListener, type TlsFiles } from './server/socket-listener.js';
export { visitUrl } from './server/visit-url.js';
