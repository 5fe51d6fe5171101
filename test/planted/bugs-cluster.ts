/** Bugs between nodes, of forwarding and of snapshots. Only whole clusters can show them. */
import type { PlantedBug } from './bug.js';

const REQUESTS: readonly PlantedBug[] = [
  {
    name: 'request-id-forgotten-by-a-new-leader',
    meaning: 'a new leader does not look for the outcomes that its predecessors recorded',
    edits: [
      {
        file: 'packages/engine/planner/request-memory.ts',
        find: "known.set(requestOfKey(key).sequence, { stage: 'recorded', sinceMs: AGE_UNKNOWN });",
        replace: '',
      },
    ],
    hunt: 'busy',
    seeds: 30,
    first: 4,
  },
  {
    name: 'give-back-lost',
    meaning: 'what a client that has gone had claimed is not given back',
    edits: [
      {
        file: 'packages/broker/service/pop-delivery.ts',
        find: 'this.#options.giveBack({',
        replace: 'if (false) this.#options.giveBack({',
      },
    ],
    hunt: 'busy',
    seeds: 10,
    first: 3,
  },
  {
    name: 'held-beyond-the-deadline',
    meaning: 'a request that nobody leads to an end is not answered at its deadline',
    edits: [
      {
        file: 'packages/broker/requests/held-requests.ts',
        find: "if (request.place !== 'ended' && limitMs(request) <= nowMs)",
        replace: 'if (false)',
      },
    ],
    hunt: 'cluster',
    seeds: 40,
    first: 4,
  },
];

const SNAPSHOTS: readonly PlantedBug[] = [
  {
    name: 'install-marker-not-written',
    meaning: 'a received snapshot is installed without a durable word that it shall be',
    edits: [
      {
        file: 'packages/broker/repair/group-recovery.ts',
        find: 'writeInstall(parts.disk, parts.directory, {',
        replace: '((..._) => {})(parts.disk, parts.directory, {',
      },
    ],
    hunt: 'busy',
    seeds: 10,
    first: 2,
  },
  {
    name: 'install-keeps-the-old-log',
    meaning: 'a snapshot replaces the state, and the log stays as it was',
    edits: [
      {
        file: 'packages/broker/directory/snapshot-install.ts',
        find: 'if (install.resetsLog)',
        replace: 'if (false)',
      },
    ],
    hunt: 'busy',
    seeds: 10,
    first: 2,
  },
];

export const CLUSTER_BUGS: readonly PlantedBug[] = [...REQUESTS, ...SNAPSHOTS];
