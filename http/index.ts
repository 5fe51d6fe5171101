/** The HTTP/1.1 front of the broker: `createServer(options, service)`. */
export { ROLE_BITS, type Role, type RoleSet } from './access-level.js';
export type { Authenticator, Caller, Unauthenticated, Verdict } from './authentication.js';
export type { Counters } from './counters.js';
export type * from './group-service.js';
export type * from './record-service.js';
export type * from './resource-service.js';
export type { FrontLogger, Route } from './route.js';
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
export { NativeBuildMissingError } from './uws.js';
