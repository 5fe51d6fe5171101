/** Bugs of a standby and of its source. Only two clusters can show them. */
import type { PlantedBug } from './bug.js';

const FOLLOWING: readonly PlantedBug[] = [
  {
    name: 'read-not-begun-anew',
    meaning: 'after a connection broke, a standby reads on from what it had received, not mirrored',
    edits: [
      {
        file: 'packages/standby/follower.ts',
        find: 'this.#received = null;\nthis.#scanned = 0;',
        replace: 'this.#scanned = 0;',
      },
    ],
    hunt: 'standby',
    seeds: 40,
    first: 27,
  },
  {
    name: 'standby-proposes-within-apply',
    meaning: 'a standby proposes while consensus tells what is applied, at indexes that are taken',
    edits: [
      {
        file: 'packages/broker/leader/standby-leader.ts',
        find: 'this.#becomePrimary(first);\nelse\nthis.#wake();',
        replace: 'this.#becomePrimary(first);\nelse\nthis.#goOn();',
      },
    ],
    hunt: 'standby',
    seeds: 40,
    first: 13,
  },
  {
    name: 'source-entry-unchecked',
    meaning: 'a standby takes an entry whose bytes were changed on the way',
    edits: [
      {
        file: 'packages/standby/read-answer.ts',
        find: 'if (this.#checksum(body) !== this.#bodyChecksum)',
        replace: 'if (false)',
      },
    ],
    hunt: 'standby',
    seeds: 40,
    first: 5,
  },
];

const SOURCE: readonly PlantedBug[] = [
  {
    name: 'source-sends-what-is-not-applied',
    meaning: 'a source sends entries that no quorum has, and another leader replaces them',
    edits: [
      {
        file: 'packages/broker/standby/source-reads.ts',
        find: 'return Math.min(appliedIndex(), log.lastIndex);',
        replace: 'return log.lastIndex;',
      },
    ],
    hunt: 'standby',
    seeds: 40,
    first: 42,
  },
  {
    name: 'readers-forgotten-after-a-restart',
    meaning: 'a node of a source that starts again keeps its log for nobody until they call',
    edits: [
      {
        file: 'packages/broker/standby/hold-keeper.ts',
        find: 'this.#holds = new Holds(options.holdMs);\nthis.#read();',
        replace: 'this.#holds = new Holds(options.holdMs);',
      },
    ],
    hunt: 'standby',
    seeds: 40,
    first: 5,
  },
];

const ADMISSION: readonly PlantedBug[] = [
  {
    name: 'admission-keeps-the-old-term',
    meaning: 'the planned position of a standby has the term of the entry before',
    edits: [
      {
        file: 'packages/engine/features/standby/mirror.ts',
        find: 'const { term } = entry;',
        replace: 'const { term } = this.#position;',
      },
    ],
    hunt: 'standby',
    seeds: 5,
  },
  {
    name: 'admission-by-the-applied-state',
    meaning: 'an entry of the source is judged by the state without what is in flight before it',
    edits: [
      {
        file: 'packages/engine/features/standby/mirror.ts',
        find: 'applyEntry(this.#state, NO_INDEX, index, body, undefined',
        replace: 'applyEntry(new PlannedState(this.#applied), NO_INDEX, index, body, undefined',
      },
      {
        file: 'packages/engine/features/standby/mirror.ts',
        find: 'this.#state = new PlannedState(applied);',
        replace: 'this.#state = new PlannedState(applied); this.#applied = applied;',
      },
      {
        file: 'packages/engine/features/standby/mirror.ts',
        find: '#spoiled = false;\nconstructor',
        replace: '#applied;\n#spoiled = false;\nconstructor',
      },
    ],
    hunt: 'standby',
    seeds: 5,
  },
  {
    name: 'standby-plans-by-itself',
    meaning: 'a standby whose role is applied is led by a planner, as an ordinary cluster',
    edits: [
      {
        file: 'packages/broker/node/leadership.ts',
        find: 'if (!parts.role.isStandby && begins === null)',
        replace: 'if (begins === null)',
      },
    ],
    hunt: 'standby',
    seeds: 10,
  },
];

const HOLDS: readonly PlantedBug[] = [
  {
    name: 'log-not-kept-for-a-standby',
    meaning: 'a source gives its log up whether or not a standby has read it',
    edits: [
      {
        file: 'packages/broker/log/space.ts',
        find: 'return Math.min(sending, holds?.heldFrom ?? Number.MAX_SAFE_INTEGER);',
        replace: 'return sending;',
      },
    ],
    hunt: 'standby',
    seeds: 40,
    first: 10,
  },
];

const PROMOTION: readonly PlantedBug[] = [
  {
    name: 'promotion-answered-early',
    meaning: 'a promotion is answered when it is proposed, not when it is applied',
    edits: [
      {
        file: 'packages/broker/leader/standby-leader.ts',
        find: "role: 'promoted', position, wallUs, atUs }, answers);",
        replace:
          "role: 'promoted', position, wallUs, atUs }, []);" +
          'for (const one of promoters) one.onOutcome(PROMOTED, 0, 0);',
      },
    ],
    hunt: 'standby',
    seeds: 40,
    first: 9,
  },
  {
    name: 'promotion-at-the-applied-entry',
    meaning: 'a promotion names the last applied entry of the source, though others are in flight',
    edits: [
      {
        file: 'packages/broker/leader/standby-leader.ts',
        find: 'const { position, stampUs: atUs } = this.#plan;',
        replace: 'const { stampUs: atUs } = this.#plan; const position = this.appliedPosition;',
      },
    ],
    hunt: 'standby',
    seeds: 40,
    first: 28,
  },
];

export const STANDBY_BUGS: readonly PlantedBug[] = [
  ...FOLLOWING,
  ...SOURCE,
  ...ADMISSION,
  ...HOLDS,
  ...PROMOTION,
];
