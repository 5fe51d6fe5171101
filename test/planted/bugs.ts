/**
 * The planted bugs: each breaks one promise, and each must be found within its number of seeds.
 *
 * To add one: choose a line of the source whose loss nobody should survive, put its compiled text
 * (`dist/`) and what shall stand there instead into one of the lists, with the cheapest hunt
 * that could notice. `npm run planted -- --bug <name> --all --seeds 300` says how many seeds do.
 * Allow so many that by this share all of them miss once in thousands of tries: the order of random
 * events changes with every change of the program. A bug that no hunt finds is a reason to improve
 * a hunt; it does not belong here.
 */
import type { PlantedBug } from './bug.js';
import { BROKER_BUGS } from './bugs-broker.js';
import { CLUSTER_BUGS } from './bugs-cluster.js';
import { RAFT_BUGS } from './bugs-raft.js';
import { STANDBY_BUGS } from './bugs-standby.js';
import { STORAGE_BUGS } from './bugs-storage.js';
import { SURFACE_BUGS } from './bugs-surfaces.js';

export const BUGS: readonly PlantedBug[] = [
  ...RAFT_BUGS,
  ...STORAGE_BUGS,
  ...BROKER_BUGS,
  ...CLUSTER_BUGS,
  ...SURFACE_BUGS,
  ...STANDBY_BUGS,
];
