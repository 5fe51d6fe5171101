/** Reads the text that Prometheus reads. For tests alone. */
export { type ReadFamily, readExposition } from './exposition-reader.fake.js';
