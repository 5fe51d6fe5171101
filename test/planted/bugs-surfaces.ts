/** Bugs of the state surfaces: key/value, locks, timers, streams. */
import type { PlantedBug } from './bug.js';

export const SURFACE_BUGS: readonly PlantedBug[] = [
  {
    name: 'kv-version-used-again',
    meaning: 'the version of a removed row is given once more',
    edits: [
      {
        file: 'packages/engine/state/kv/apply.ts',
        find: 'state.delete(kvRows, key);\nelse {',
        replace: '{ state.delete(kvRows, key); version--; }\nelse {',
      },
    ],
    hunt: 'single',
    seeds: 30,
  },
  {
    name: 'kv-counter-past-its-bounds',
    meaning: 'an increment does not look at the upper bound',
    edits: [
      {
        file: 'packages/engine/features/kv/judge.ts',
        find: 'return max !== null && compareDecimals(value, max) > 0;',
        replace: 'return false;',
      },
    ],
    hunt: 'single',
    seeds: 100,
    first: 14,
  },
  {
    name: 'kv-compare-without-comparing',
    meaning: 'a write that expects a version is applied to any live row',
    edits: [
      {
        file: 'packages/engine/features/kv/judge.ts',
        find: "return live.version === expect ? null : 'version';",
        replace: 'return null;',
      },
    ],
    hunt: 'single',
    seeds: 60,
    first: 5,
  },
  {
    name: 'kv-created-twice',
    meaning: 'a row that is to be created replaces one that is there',
    edits: [
      {
        file: 'packages/engine/features/kv/judge.ts',
        find: "return 'exists';",
        replace: 'return null;',
      },
    ],
    hunt: 'single',
    seeds: 60,
  },
  {
    name: 'kv-half-of-a-lost-call',
    meaning: 'a call that lost what it required has written what stood before that',
    edits: [
      {
        file: 'packages/engine/features/kv/judge.ts',
        find: 'writes: failure === null ? writes : []',
        replace: 'writes',
      },
    ],
    hunt: 'single',
    seeds: 100,
    first: 10,
  },
  {
    name: 'kv-read-without-asking',
    meaning: 'a node answers a read from its own state, however old that is',
    edits: [
      {
        file: 'packages/broker/service/kv-requests.ts',
        find:
          'reads.confirmed(null, walk, reply, (outcome) => reply.send(outcome), ' +
          'deadlineMs, bytes);',
        replace:
          'const steps = walk(); let step = steps.next(); ' +
          'while (!step.done) step = steps.next(); reply.send(step.value);',
      },
    ],
    hunt: 'busy',
    seeds: 16,
    first: 3,
  },
  {
    name: 'kv-of-a-rolled-back-transaction',
    meaning: 'a transaction whose acks are refused has counted all the same',
    edits: [
      {
        file: 'packages/engine/features/kv/transaction.ts',
        find: 'size.bytes += kvCallBytes(call, verdict);',
        replace: 'writeKv(draft, call.tenant, verdict);',
      },
    ],
    hunt: 'single',
    seeds: 100,
    first: 9,
  },
  {
    name: 'guard-not-looked-at',
    meaning: 'a check holds whatever the version of the row is',
    edits: [
      {
        file: 'packages/engine/features/kv/judge.ts',
        find: "case 'check': {\nconst loss = lossOf(op.expect, live);",
        replace: "case 'check': { const loss = null;",
      },
    ],
    hunt: 'single',
    seeds: 60,
    first: 6,
  },
  {
    name: 'lock-after-its-lifetime',
    meaning: 'a row that has expired is live until it is swept',
    edits: [
      {
        file: 'packages/engine/features/kv/judge.ts',
        find: 'stored !== undefined && isLiveAt(stored, this.#nowUs) ? stored : undefined',
        replace: 'stored',
      },
    ],
    hunt: 'single',
    seeds: 100,
    first: 6,
  },
  {
    name: 'lock-swept-although-renewed',
    meaning: 'a row is swept when its first lifetime ends, whatever renewed it',
    edits: [
      {
        file: 'packages/engine/state/kv/apply.ts',
        find: 'state.delete(kvExpiries, kvExpiryKey(before, key));',
        replace: '{}',
      },
    ],
    hunt: 'single',
    seeds: 60,
  },
  {
    name: 'lock-released-by-anyone',
    meaning: 'a release does not look at the token',
    edits: [
      {
        file: 'packages/broker/service/locks.ts',
        find: 'expect: op.token, required: false };',
        replace: 'expect: null, required: false };',
      },
    ],
    hunt: 'single',
    seeds: 100,
    first: 6,
  },
  {
    name: 'lock-renewed-by-anyone',
    meaning: 'a renewal does not look at the token',
    edits: [
      {
        file: 'packages/broker/service/locks.ts',
        find: 'permit.version !== op.token && !isOwn',
        replace: 'false',
      },
    ],
    hunt: 'single',
    seeds: 60,
  },
  {
    name: 'timer-fired-and-kept',
    meaning: 'a timer that has fired stays, and fires again',
    edits: [
      {
        file: 'packages/engine/features/timers/timers.ts',
        find: 'if (gone.length > 0)',
        replace: 'if (gone.length > 1)',
      },
    ],
    hunt: 'single',
    seeds: 60,
  },
  {
    name: 'timer-cancelled-and-kept',
    meaning: 'a cancel is confirmed, and the timer fires',
    edits: [
      {
        file: 'packages/engine/features/timers/plan.ts',
        find: 'if (cancelled.length > 0)',
        replace: 'if (cancelled.length > 1)',
      },
    ],
    hunt: 'single',
    seeds: 60,
    first: 7,
  },
  {
    name: 'timer-forgotten-by-the-next-leader',
    meaning: 'a leader does not look for timers that were there before it',
    edits: [
      {
        file: 'packages/engine/features/timers/timers.ts',
        find: 'this.#nextUs = this.#first();\nsite.clock.lead();',
        replace: 'this.#nextUs = null; site.clock.lead();',
      },
    ],
    hunt: 'single',
    seeds: 60,
  },
  {
    name: 'timer-early',
    meaning: 'a timer fires half a second before it is due',
    edits: [
      {
        file: 'packages/engine/features/timers/timers.ts',
        find: 'const nowUs = this.#now(draft);\nif (this.#nextUs > nowUs)',
        replace: 'const nowUs = this.#now(draft) + 500_000; if (this.#nextUs > nowUs)',
      },
    ],
    hunt: 'busy',
    seeds: 16,
  },
  {
    name: 'stream-cycle-not-fenced',
    meaning: 'a cycle is committed under a lease that is over',
    edits: [
      {
        file: 'packages/engine/streams/cycle.ts',
        find: "if (fenceOf(draft, memory, subject, ack.leaseId) !== 'held')",
        replace: 'if (subject.cursor.lease === null)',
      },
    ],
    hunt: 'single',
    seeds: 100,
    first: 7,
  },
  {
    name: 'stream-state-of-a-refused-cycle',
    meaning: 'a cycle whose lease is over has changed the state',
    edits: [
      {
        file: 'packages/engine/streams/cycle.ts',
        find: "if (ack === 'bad_lease')",
        replace:
          "draft.emit({ kind: 'stream-state', store: query.store, partition: partition.number, " +
          'changes: changesOf(draft.state, command, query.store, partition.number) }); ' +
          "if (ack === 'bad_lease')",
      },
    ],
    hunt: 'single',
    seeds: 60,
  },
  {
    name: 'stream-lease-kept-and-cursor-at-the-end',
    meaning: 'an ack of a part of the batch passes the whole of it',
    edits: [
      {
        file: 'packages/engine/streams/cycle.ts',
        find: 'lease.conflation ? lease.batchEnd : first + done - 1;',
        replace: 'lease.batchEnd;',
      },
    ],
    hunt: 'single',
    seeds: 150,
    first: 24,
  },
];
