/** `@svc/client`: the client of the broker. */
export type { Duration } from './base/durations.js';
export { ClientError } from './base/errors.js';
export type { Logger } from './base/log.js';
export type { Fetch } from './base/platform.js';
export type { ClientOptions, Retry429, Strategy } from './transport/settings.js';
