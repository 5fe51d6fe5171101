// What other folders may use: a node as a child process, clients for it, and what cleans up.

export { FakeBroker, type PlantedFault } from './broker.fake.js';
export { checkoutRoot, nodeEntry } from './checkout.js';
export {
  type Address,
  ConnectionLostError,
  HttpConnection,
  requestBytes,
} from './http-connection.js';
export { type Answer, HttpExchange } from './http-exchange.js';
export { readArray, readInteger, readObject, readString } from './json-slices.js';
export { freePort, type NodePlan, NodeProcess } from './node-process.js';
export { Scratch } from './scratch.js';
