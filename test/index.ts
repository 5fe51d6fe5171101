/** What the programs of `bench/` start and ask: nodes as child processes. */
export { type Environment, NodeUnderTest } from './process/node-under-test.js';
export { freePort } from './process/ports.js';
