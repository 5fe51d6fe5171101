/** The HTTP/1.1 front of the broker: `createServer(options, service)`. */
export type { Counters } from './counters.js';
export type { FrontLogger } from './route.js';
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
