/** Bugs of the engine and of the broker. */
import type { PlantedBug } from './bug.js';

export const BROKER_BUGS: readonly PlantedBug[] = [
  {
    name: 'answer-before-commit',
    meaning: 'a client is answered when its entry is proposed',
    edits: [
      {
        file: 'packages/broker/leader/leader.ts',
        find: 'proposedMs, answers, verdicts: [] });',
        replace: 'proposedMs, answers: [], verdicts: [] }); this.#give(answers, index, term);',
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
        file: 'packages/engine/delivery/pop-claim.ts',
        find: 'cursor.lease !== null && memory.leaseLive(draft, group, number, cursor.lease)',
        replace: 'false',
      },
    ],
    hunt: 'single',
    seeds: 30,
    first: 3,
  },
  {
    name: 'waiting-partition-forgotten',
    meaning: 'a partition whose message waits for its retry is never looked at again',
    edits: [
      {
        file: 'packages/engine/delivery/pop-claim.ts',
        find: 'delayTo(draft, memory, status, cursor.heldUntilUs);',
        replace: 'memory.forget(status);',
      },
    ],
    hunt: 'single',
    seeds: 90,
  },
  {
    name: 'filed-for-company',
    meaning: 'a batch is never taken apart, and what stands in its front is filed for all of it',
    edits: [
      {
        file: 'packages/engine/delivery/delivery-limit.ts',
        find: 'return deliveryLimit > 0 && Math.max(committed + 1, logStart) <= aloneTo;',
        replace: 'return false;',
      },
      {
        file: 'packages/engine/delivery/pop-claim.ts',
        find: 'options.deliveryLimit > 0 && isOnly && first === last ? first : -1',
        replace: 'first',
      },
    ],
    hunt: 'single',
    seeds: 90,
    first: 30,
  },
  {
    name: 'duplicates-stored-again',
    meaning: 'a transaction id that is known is stored a second time',
    edits: [
      {
        file: 'packages/engine/push/push.ts',
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
        file: 'packages/broker/consensus/consensus.ts',
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
        file: 'packages/broker/leader/replica.ts',
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
        file: 'packages/broker/consensus/consensus.ts',
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
        file: 'packages/broker/log/space.ts',
        find: 'Math.min(oldest, asOf + 1, checkpointIndex() + 1,',
        replace: 'Math.min(asOf + 1, checkpointIndex() + 1,',
      },
    ],
    hunt: 'cluster',
    seeds: 60,
  },
  {
    name: 'moved-to-a-place-that-was',
    meaning: 'an append that moves within the log is looked for at its former byte',
    edits: [
      {
        file: 'packages/engine/state/trim.ts',
        find: 'state.put(appends, key, { ...row, index, position });',
        replace: 'state.put(appends, key, { ...row, index });',
      },
    ],
    hunt: 'busy',
    seeds: 20,
  },
  {
    name: 'moved-although-it-has-gone',
    meaning: 'an append is moved by what was read of it, whatever has become of it since',
    edits: [
      {
        file: 'packages/engine/upkeep/relocation.ts',
        find: 'if (!isLiveAt(draft.state, move))',
        replace: 'if (move === null)',
      },
    ],
    hunt: 'busy',
    seeds: 30,
    first: 7,
  },
  {
    name: 'unread-removed',
    meaning: 'retention takes no account of groups that have not come to a partition yet',
    edits: [
      {
        file: 'packages/engine/upkeep/retention.ts',
        find: 'if (withRow.has(nameOf(key)))',
        replace: 'if (rows.length > 0 || withRow.has(nameOf(key)))',
      },
    ],
    hunt: 'single',
    seeds: 30,
    first: 5,
  },
  {
    name: 'acks-of-a-rolled-back-transaction',
    meaning: 'a transaction whose pushes are refused has acknowledged its messages all the same',
    edits: [
      {
        file: 'packages/engine/delivery/transaction-plan.ts',
        find: 'const acks = judgeAcks(draft, site, command, size);',
        replace:
          'const acks = judgeAcks(draft, site, command, size); ' +
          'for (const change of acks.changes.splice(0)) writeTarget(draft, site.memory, change);',
      },
    ],
    hunt: 'single',
    seeds: 30,
  },
  {
    name: 'pushes-of-a-rolled-back-transaction',
    meaning: 'a transaction whose pushes are refused has stored those that were new',
    edits: [
      {
        file: 'packages/engine/delivery/transaction-plan.ts',
        find: 'if (rollback !== null)',
        replace:
          "if (rollback?.reason === 'duplicate') pushes.push(command.pushes);" +
          'if (rollback !== null)',
      },
    ],
    hunt: 'single',
    seeds: 30,
  },
  {
    name: 'reads-without-rows',
    meaning: 'a node that lost its rows shows an empty state before it has those of another node',
    edits: [
      {
        file: 'packages/broker/node/parts.ts',
        find: '    stateless,\n',
        replace: '    stateless: false,\n',
      },
    ],
    hunt: 'busy',
    seeds: 30,
    first: 7,
  },
  {
    name: 'cursors-left-out-by-a-seek',
    meaning: 'a seek that takes several entries leaves out a partition between two of them',
    edits: [
      {
        file: 'packages/engine/upkeep/group-change-walk.ts',
        find: 'row.nextPartition = number + 1;',
        replace: 'row.nextPartition = number + 2;',
      },
    ],
    hunt: 'single',
    seeds: 50,
    first: 9,
  },
  {
    name: 'verdicts-before-their-entry',
    meaning: 'acknowledgements that come with a pop are told as done before they are in the log',
    edits: [
      {
        file: 'packages/broker/service/ack-and-pop.ts',
        find: 'parts.submit(acks, new AcksReply(both));',
        replace:
          '{ const item = { success: true, error: null, leaseReleased: true, dlq: false, ' +
          "noop: false }; both.acked({ kind: 'acked', items: acks.items.map(() => item) }); " +
          'parts.submit(acks, { gone: false, onGone: null, send: () => true }); }',
      },
    ],
    hunt: 'joined',
    seeds: 30,
  },
];
