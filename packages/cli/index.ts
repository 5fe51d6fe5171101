/** `@svc/cli`: the command line of the broker, to be run in any process. */
export type { CredentialStore } from './base/credential-store.js';
export type { Input, Output, World } from './base/world.js';
export { run } from './program/program.js';
