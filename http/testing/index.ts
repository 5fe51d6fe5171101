/** Doubles and clients for tests of other workspaces. For tests alone. */
export { type ReadFamily, readExposition } from './exposition-reader.fake.js';
export { PUSHED, TestFront, until } from './front.fake.js';
export { batchOf } from './message-batch.fake.js';
export { RawClient, type RawRequest, requestBytes } from './raw-client.fake.js';
export { grantWith } from './surface-service.fake.js';
