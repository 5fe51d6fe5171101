/** Machines in memory that carry whole nodes, and their clients. For tests alone. */
export { CERTIFICATE, writeCertificate } from './certificate.fake.js';
export { EventHeap } from './event-heap.fake.js';
export { FakeGroup, type FakeMachine } from './group.fake.js';
export { Answers } from './group-clients.fake.js';
export { randomSource } from './random-source.fake.js';
export { SimulatedPlace } from './state-store-simulated.js';
