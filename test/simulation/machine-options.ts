/** What a simulated machine is made of. */
import type { SeededRandom } from '../seeded-random.js';
import type { Fault, FaultCounts } from './faults.js';
import type { MachineSettings } from './machine-settings.js';
import type { SimulatedLoop } from './simulated-loop.js';
import type { Surroundings } from './surroundings.js';

/** A clock is set back by so much at most while its node is down. */
export const BOOT_BACK_US = 200_000;

export interface MachineOptions {
  readonly number: number;
  /** The machines that the group was founded with. */
  readonly founders: readonly number[];
  readonly clusterId: string;
  readonly settings: MachineSettings;
  /** Variables beside those of the settings. */
  readonly environment: Readonly<Record<string, string>>;
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly faults: ReadonlySet<Fault>;
  readonly counts: FaultCounts;
  readonly clockRate: number;
  /** As in `Shape`. */
  readonly tempo: number;
  readonly surroundings: Surroundings;
}
