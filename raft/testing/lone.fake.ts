/**
 * One node by itself, for scenes that need an exact order of events: the test plays its peers, its
 * disk and its clock.
 */
import { type Configuration, configuration } from '../configuration.js';
import type { Entry } from '../entry.js';
import { logIndex, NO_NODE, nodeId, term } from '../identifiers.js';
import type { Message } from '../messages.js';
import type { RaftSettings } from '../options.js';
import { Raft } from '../raft.js';
import type { HardState, ReadState, Ready } from '../ready.js';
import { FakeDisk } from './disk.fake.js';

export interface LoneOptions {
  readonly id?: number;
  readonly voters?: readonly number[];
  readonly learners?: readonly number[];
  /** The terms of the entries that the log starts with. */
  readonly terms?: readonly number[];
  readonly hardState?: { readonly term: number; readonly vote?: number; readonly commit?: number };
  readonly recovering?: boolean;
  readonly settings?: Partial<RaftSettings>;
  /** What chance always gives; 0 makes the election timeout exact. */
  readonly random?: number;
}

export class LoneNode {
  readonly raft: Raft;
  readonly disk = new FakeDisk(false);
  readonly committed: Entry[] = [];
  readonly readStates: ReadState[] = [];
  nowMs = 0;

  constructor(options: LoneOptions = {}) {
    const terms = options.terms ?? [];
    const hard = options.hardState ?? { term: Math.max(0, ...terms) };
    const hardState: HardState = {
      term: term(hard.term),
      vote: nodeId(hard.vote ?? NO_NODE),
      commit: logIndex(hard.commit ?? 0),
    };
    const entries = entriesOf(1, terms);
    this.disk.accept({ ...NOTHING, hardState, entries });
    this.disk.sync();
    this.raft = new Raft({
      id: nodeId(options.id ?? 1),
      nowMs: 0,
      random: () => options.random ?? 0,
      storage: this.disk,
      hardState,
      configuration: founding(options),
      configurationIndex: logIndex(0),
      applied: logIndex(0),
      recovering: options.recovering ?? false,
      settings: {
        electionTimeoutMs: 100,
        heartbeatMs: 10,
        leaseMarginMs: 10,
        appendStuckMs: 100,
        preVote: false,
        checkQuorum: false,
        ...options.settings,
      },
    });
  }

  /** Time passes in steps of a heartbeat. */
  pass(ms: number): void {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs; ) {
      this.nowMs += Math.min(10, endMs - this.nowMs);
      this.raft.tick(this.nowMs);
    }
  }

  step(...messages: readonly Message[]): void {
    for (const message of messages) this.raft.step(message);
  }

  /** Carries out all that is ready, disk included; returns what went to peers. */
  drain(): readonly Message[] {
    const out: Message[] = [];
    for (;;) {
      const before = out.length;
      out.push(...this.sendOnly());
      const synced = this.sync();
      out.push(...synced);
      if (out.length === before && !this.raft.hasReady()) return out;
    }
  }

  /** What leaves without waiting for the disk; writes stay under way. */
  sendOnly(): readonly Message[] {
    const out: Message[] = [];
    while (this.raft.hasReady()) {
      const ready = this.raft.ready();
      this.disk.accept(ready);
      out.push(...ready.messages);
      this.committed.push(...ready.committed);
      this.readStates.push(...ready.readStates);
      const last = ready.committed.at(-1);
      if (last !== undefined) this.raft.applied(last.index);
    }
    return out;
  }

  /** All writes under way become durable; returns what waited for them and goes to peers. */
  sync(): readonly Message[] {
    const out: Message[] = [];
    while (this.disk.writesUnderWay > 0) {
      for (const message of this.disk.sync()) {
        if (message.to === this.raft.status().id) this.raft.step(message);
        else out.push(message);
      }
    }
    return out;
  }

  /** Elected by the votes of `voters`; what it said so far is dropped. */
  lead(voters: readonly number[]): void {
    this.raft.campaign();
    this.drain();
    for (const from of voters) {
      const { id, term: ofTerm } = this.raft.status();
      const vote = { type: 'vote-response', from: nodeId(from), to: id, term: ofTerm } as const;
      this.raft.step({ ...vote, granted: true });
    }
    this.drain();
  }

  /** `from` acknowledges everything up to `index`. */
  acknowledge(from: number, index: number, life = 0): void {
    const { id: to, term: ofTerm } = this.raft.status();
    const envelope = { from: nodeId(from), to, term: ofTerm };
    this.raft.step({ type: 'append-response', ...envelope, index: logIndex(index), life });
  }
}

export function entriesOf(first: number, terms: readonly number[]): readonly Entry[] {
  return terms.map((value, place) => ({
    index: logIndex(first + place),
    term: term(value),
    type: 'normal',
    data: new Uint8Array(0),
  }));
}

/** A ready without work, to be filled in. */
export const NOTHING: Ready = {
  softState: undefined,
  hardState: undefined,
  snapshot: undefined,
  entries: [],
  mustSync: false,
  messages: [],
  afterDurable: [],
  committed: [],
  readStates: [],
};

function founding(options: LoneOptions): Configuration {
  return configuration(
    (options.voters ?? [1, 2, 3]).map(nodeId),
    (options.learners ?? []).map(nodeId),
  );
}
