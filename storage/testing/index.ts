/** A disk and an LMDB in memory that lose power as real ones do. For tests alone. */
export { SimulatedBacking, type SimulatedBackingOptions } from './simulated-backing.js';
export { type Operation, SimulatedDisk, type SimulatedDiskOptions } from './simulated-disk.js';
