/** Bugs of the raft core, found by storms and by the exhaustive model. */
import type { PlantedBug } from './bug.js';

const BEFORE_WAITING_FOR_DISK = 'send(message) {';

/** Says a kind of message at once instead of after the disk. */
function early(condition: string): string {
  return `send(message) { if (${condition}) { this.messages.push(message); return; }`;
}

const ELECTIONS: readonly PlantedBug[] = [
  {
    name: 'vote-before-durable',
    meaning: 'a vote is answered before it is on disk',
    edits: [
      {
        file: 'raft/core.ts',
        find: BEFORE_WAITING_FOR_DISK,
        replace: early("message.type === 'vote-response' && message.to !== this.id"),
      },
    ],
    hunt: 'storm-elections',
    seeds: 40,
  },
  {
    name: 'vote-request-before-durable',
    meaning: 'a candidate asks for votes before its own term and vote are on disk',
    edits: [
      {
        file: 'raft/core.ts',
        find: BEFORE_WAITING_FOR_DISK,
        replace: early("message.type === 'vote-request'"),
      },
    ],
    hunt: 'storm-elections',
    seeds: 40,
  },
  {
    name: 'two-votes-a-term',
    meaning: 'a voter that has voted votes again in the same term',
    edits: [{ file: 'raft/election.ts', find: 'core.vote === NO_NODE &&', replace: 'true &&' }],
    hunt: 'storm-elections',
    seeds: 20,
  },
  {
    name: 'vote-forgotten-by-restart',
    meaning: 'a restart keeps the term and forgets the vote',
    edits: [
      {
        file: 'raft/core.ts',
        find: 'this.vote = hardState.vote;',
        replace: 'this.vote = NO_NODE;',
      },
    ],
    hunt: 'storm-elections',
    seeds: 60,
    first: 60,
  },
  {
    name: 'vote-cleared-within-a-term',
    meaning: 'a change of role forgets the vote although the term is the same',
    edits: [{ file: 'raft/core.ts', find: 'if (this.term !== newTerm) {', replace: '{' }],
    hunt: 'model',
    seeds: 2,
  },
  {
    name: 'vote-for-a-shorter-log',
    meaning: 'a vote is given to a candidate whose log is behind',
    edits: [
      {
        file: 'raft/election.ts',
        find: 'const granted = free && core.log.upToDate(message.lastIndex, message.lastTerm);',
        replace: 'const granted = free;',
      },
    ],
    hunt: 'storm-elections',
    seeds: 20,
  },
  {
    name: 'votes-of-the-new-members-alone',
    meaning: 'in a joint configuration the majority of the new voters elects a leader',
    edits: [
      {
        file: 'raft/quorum.ts',
        find: 'if (incoming === outgoing)\nreturn incoming;',
        replace: 'return incoming;',
      },
    ],
    hunt: 'storm-members',
    seeds: 250,
    first: 245,
  },
];

const REPLICATION: readonly PlantedBug[] = [
  {
    name: 'old-term-by-count',
    meaning: 'an entry of an earlier term counts as committed because a quorum holds it',
    edits: [
      {
        file: 'raft/replication.ts',
        find: ' || core.log.term(index) !== core.term',
        replace: '',
      },
    ],
    hunt: 'storm-elections',
    seeds: 40,
  },
  {
    name: 'acknowledged-before-durable',
    meaning: 'a follower acknowledges entries that its disk does not hold yet',
    edits: [
      {
        file: 'raft/core.ts',
        find: BEFORE_WAITING_FOR_DISK,
        replace: early("message.type === 'append-response' && message.to !== this.id"),
      },
    ],
    hunt: 'storm',
    seeds: 20,
  },
  {
    name: 'half-is-a-quorum',
    meaning: 'of an even number of voters, half of them commit',
    edits: [
      {
        file: 'raft/quorum.ts',
        find: 'values[values.length >> 1]',
        replace: 'values[(values.length - 1) >> 1]',
      },
    ],
    hunt: 'storm',
    seeds: 20,
  },
  {
    name: 'commit-by-the-new-members-alone',
    meaning: 'in a joint configuration the majority of the new voters commits',
    edits: [
      {
        file: 'raft/quorum.ts',
        find: 'Math.min(incoming, majorityValue(config.outgoing, peers, field))',
        replace: 'incoming',
      },
    ],
    hunt: 'storm-members',
    seeds: 20,
  },
  {
    name: 'commit-beyond-the-append',
    meaning: 'a follower takes the commit index for entries that the append did not show to match',
    edits: [
      {
        file: 'raft/following.ts',
        find: 'Math.min(message.commit, end)',
        replace: 'Math.min(message.commit, log.last)',
      },
    ],
    hunt: 'storm',
    seeds: 120,
    first: 17,
  },
  {
    name: 'commit-beyond-the-match',
    meaning: 'a heartbeat tells a commit index beyond what the peer is known to hold',
    edits: [
      {
        file: 'raft/replication.ts',
        find: 'Math.min(peer.match, core.log.committed)',
        replace: 'core.log.committed',
      },
    ],
    hunt: 'storm',
    seeds: 30,
  },
  {
    name: 'late-append-cuts',
    meaning: 'an append that comes late cuts off entries that were acknowledged since',
    edits: [
      {
        file: 'raft/log.ts',
        find: 'if (!this.matches(entry.index, entry.term))\nbreak;\nposition++;',
        replace: 'break;',
      },
    ],
    hunt: 'storm',
    seeds: 20,
  },
  {
    name: 'previous-entry-not-compared',
    meaning: 'an append is taken although the entry before it has another term',
    edits: [
      {
        file: 'raft/following.ts',
        find: 'log.matches(previousIndex, previousTerm)',
        replace: 'previousIndex <= log.last',
      },
    ],
    hunt: 'model',
    seeds: 2,
  },
  {
    name: 'applied-before-own-disk',
    meaning: 'an entry is applied before the own log holds it durably',
    edits: [
      {
        file: 'raft/log.ts',
        find: 'this.#applying < Math.min(this.#committed, this.#durable)',
        replace: 'this.#applying < this.#committed',
      },
      {
        file: 'raft/log.ts',
        find: 'const end = logIndex(Math.min(this.#committed, this.#durable) + 1);',
        replace: 'const end = logIndex(this.#committed + 1);',
      },
    ],
    hunt: 'storm',
    seeds: 20,
  },
];

const READS: readonly PlantedBug[] = [
  {
    name: 'read-without-asking',
    meaning: 'a leader answers reads without making sure that it still leads',
    edits: [
      {
        file: 'raft/reading.ts',
        find: 'else if (core.alone || (read.from === core.id && leaseHolds(core)))',
        replace: 'else if (true)',
      },
    ],
    hunt: 'storm-reads',
    seeds: 30,
  },
  {
    name: 'read-before-own-entry',
    meaning: 'a new leader answers reads before it knows what is committed',
    edits: [
      {
        file: 'raft/reading.ts',
        find: 'core.reads.waitForOwnTerm(read);',
        replace: 'answer(core, read, committed);',
      },
    ],
    hunt: 'storm-reads',
    seeds: 20,
  },
  {
    name: 'read-waits-through-elections',
    meaning: 'reads that wait are not dropped when the role or the term changes',
    edits: [
      {
        file: 'raft/core.ts',
        find: 'this.reads.drop();\nthis.transferTarget = NO_NODE;',
        replace: 'this.transferTarget = NO_NODE;',
      },
    ],
    hunt: 'storm-reads',
    seeds: 100,
    first: 21,
  },
  {
    name: 'read-joins-a-round-under-way',
    meaning: 'a read is confirmed by answers to a heartbeat that left before it began',
    edits: [
      { file: 'raft/reads.ts', find: 'index, round: 0 }', replace: 'index, round: this.round }' },
    ],
    hunt: 'storm-reads',
    seeds: 120,
    first: 19,
  },
  {
    name: 'lease-from-the-answer',
    meaning: 'a lease counts from when the answer came, not from when the heartbeat left',
    edits: [
      {
        file: 'raft/replication.ts',
        find: 'Math.max(peer.ackedSentMs, message.sentMs)',
        replace: 'core.nowMs',
      },
    ],
    hunt: 'storm-leases',
    seeds: 100,
    first: 22,
  },
  {
    name: 'lease-kept-after-handover',
    meaning: 'a leader that told another to campaign goes on to answer by its lease',
    edits: [{ file: 'raft/replication.ts', find: 'core.leaseGivenUp = true;', replace: '' }],
    hunt: 'storm-leases',
    seeds: 40,
    first: 13,
  },
  {
    name: 'promise-forgotten-by-restart',
    meaning: 'a follower that restarts helps to elect another while a lease rests on its word',
    edits: [
      {
        file: 'raft/core.ts',
        find: 'mayHavePromised ? settings.electionTimeoutMs : 0',
        replace: '0',
      },
    ],
    hunt: 'storm-leases',
    seeds: 100,
  },
  {
    name: 'promise-does-not-bind-itself',
    meaning: 'a follower campaigns itself while a lease rests on its word',
    edits: [
      { file: 'raft/election.ts', find: 'if (!forced && core.promised)', replace: 'if (false)' },
    ],
    hunt: 'storm-leases',
    seeds: 50,
  },
  {
    name: 'promise-by-an-old-clock',
    meaning: 'a follower counts its promise from when it last looked at the clock',
    edits: [
      {
        file: 'raft/core.ts',
        find: "if (this.settings.reads === 'lease')\nthis.promiseRenewed = true;",
        replace:
          "if (this.settings.reads === 'lease') " +
          'this.promisedUntilMs = this.nowMs + this.settings.electionTimeoutMs;',
      },
    ],
    hunt: 'storm-leases',
    seeds: 300,
    first: 93,
  },
];

const LATE_TICKS: readonly PlantedBug[] = [
  {
    name: 'late-tick-counts-in-full',
    meaning: 'the time in which the host stood counts as silence of the others',
    edits: [
      {
        file: 'raft/running-time.ts',
        find: 'if (passedMs > this.#tickMsMax)',
        replace: 'if (false)',
      },
    ],
    hunt: 'scenarios',
    seeds: 1,
  },
  {
    name: 'late-tick-judges-at-once',
    meaning: 'a late tick judges before what arrived meanwhile was read',
    edits: [
      {
        file: 'raft/running-time.ts',
        find: 'this.#owedMs = this.#tickMsMax;',
        replace: 'this.#ms += this.#tickMsMax;',
      },
    ],
    hunt: 'scenarios',
    seeds: 1,
  },
  {
    name: 'late-ticks-never-count',
    meaning: 'a host whose ticks are always late never finds that it is cut off',
    edits: [{ file: 'raft/running-time.ts', find: 'this.#ms += this.#owedMs;', replace: '' }],
    hunt: 'scenarios',
    seeds: 1,
  },
  {
    name: 'lease-by-running-time',
    meaning: 'a lease goes on while the host stands, although the others do not wait',
    edits: [
      {
        file: 'raft/reading.ts',
        find: 'return core.nowMs < ackedMs',
        replace: 'return core.ranMs < ackedMs',
      },
    ],
    hunt: 'storm-leases',
    seeds: 40,
  },
];

const MEMBERS: readonly PlantedBug[] = [
  {
    name: 'two-changes-at-once',
    meaning: 'the members are changed again before the first change is applied',
    edits: [
      {
        file: 'raft/membership.ts',
        find: 'return core.pendingConfigurationIndex > core.log.applied;',
        replace: 'return false;',
      },
    ],
    hunt: 'storm-members',
    seeds: 60,
    first: 12,
  },
  {
    name: 'vote-while-recovering',
    meaning: 'a node that lost acknowledged entries votes as if it held them',
    edits: [
      {
        file: 'raft/election.ts',
        find: 'if (core.recovery !== undefined) {\ncore.drops.recovering++;\nreturn;\n}',
        replace: '',
      },
    ],
    hunt: 'storm-losses',
    seeds: 100,
    first: 85,
  },
  {
    name: 'match-kept-after-a-loss',
    meaning: 'a leader does not take back what a peer has lost',
    edits: [
      {
        file: 'raft/replication.ts',
        find: 'peer.takeBack(message.lost, logIndex(Math.min(meeting, core.log.last)));',
        replace: '',
      },
    ],
    hunt: 'storm-losses',
    seeds: 20,
  },
  {
    name: 'acknowledgement-of-a-former-life',
    meaning: 'acknowledgements of before a loss count after it',
    edits: [{ file: 'raft/replication.ts', find: 'if (life === peer.life)', replace: 'if (true)' }],
    hunt: 'model',
    seeds: 1,
    first: 3,
  },
  {
    name: 'replaced-entry-reported-durable',
    meaning: 'the end of a write counts for the entry that has replaced the written one',
    edits: [
      {
        file: 'raft/log.ts',
        find: 'if (!this.matches(index, entryTerm))\nreturn;',
        replace: '',
      },
      {
        file: 'raft/raft.ts',
        find: 'const index = message.term === term ? message.index : logIndex(0);',
        replace: 'const index = message.index;',
      },
    ],
    hunt: 'storm',
    seeds: 800,
    first: 753,
  },
];

export const RAFT_BUGS: readonly PlantedBug[] = [
  ...ELECTIONS,
  ...REPLICATION,
  ...READS,
  ...LATE_TICKS,
  ...MEMBERS,
];
