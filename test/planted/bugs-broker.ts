/** Bugs of the engine and of the broker. */
import type { PlantedBug } from './bug.js';

export const BROKER_BUGS: readonly PlantedBug[] = [
  {
    name: 'answer-before-commit',
    meaning: 'a client is answered when its entry is proposed',
    edits: [
      {
        file: 'packages/broker/leader.ts',
        find: 'bytes: body.length, answers, verdicts: [] });',
        replace:
          'bytes: body.length, answers: [], verdicts: [] }); ' +
          'this.#give(answers, index, placed.term);',
      },
    ],
    hunt: 'single',
    seeds: 30,
  },
  {
    name: 'leased-messages-handed-out',
    meaning: 'messages under a live lease are handed out to another consumer',
    edits: [
      {
        file: 'packages/engine/pop-claim.ts',
        find: 'cursor.lease !== null && memory.leaseLive(draft, group, number, cursor.lease)',
        replace: 'false',
      },
    ],
    hunt: 'single',
    seeds: 30,
  },
  {
    name: 'duplicates-stored-again',
    meaning: 'a transaction id that is known is stored a second time',
    edits: [
      {
        file: 'packages/engine/push.ts',
        find: 'const original = originalOf(draft, target.partition, id, draft.nowUs - windowUs);',
        replace: 'const original = null;',
      },
    ],
    hunt: 'single',
    seeds: 30,
  },
  {
    name: 'said-before-durable',
    meaning: 'what may leave only after a write leaves when any write ends',
    edits: [
      {
        file: 'packages/broker/consensus.ts',
        find: 'if (first === undefined || first.writesLeft > 0)',
        replace: 'if (first === undefined)',
      },
    ],
    hunt: 'single',
    seeds: 20,
  },
  {
    name: 'ids-not-checkpointed',
    meaning: 'a checkpoint is made without the transaction ids of its entries',
    edits: [
      {
        file: 'packages/broker/replica.ts',
        find: 'this.#transactions.flush();',
        replace: '',
      },
    ],
    hunt: 'single',
    seeds: 20,
  },
  {
    name: 'applied-before-own-log',
    meaning: 'the state runs ahead of what the own log holds durably',
    edits: [
      {
        file: 'packages/broker/consensus.ts',
        find: 'if (entry === undefined || entry.index > durable)',
        replace: 'if (entry === undefined)',
      },
      {
        file: 'raft/log.ts',
        find: 'const end = logIndex(Math.min(this.#committed, this.#durable) + 1);',
        replace: 'const end = logIndex(this.#committed + 1);',
      },
      {
        file: 'raft/log.ts',
        find: 'this.#applying < Math.min(this.#committed, this.#durable)',
        replace: 'this.#applying < this.#committed',
      },
    ],
    hunt: 'cluster',
    seeds: 12,
  },
  {
    name: 'live-entries-given-up',
    meaning: 'the log is given up although rows of the state refer to its entries',
    edits: [
      {
        file: 'packages/broker/log-space.ts',
        find: 'Math.min(need.floor, checkpointIndex() + 1,',
        replace: 'Math.min(checkpointIndex() + 1,',
      },
    ],
    hunt: 'cluster',
    seeds: 60,
  },
];
