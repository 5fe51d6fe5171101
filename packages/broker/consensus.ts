/**
 * Drives the consensus core: the core decides, this file does. It takes what the core has ready,
 * has term, vote and entries made durable, tells the core when they are, and hands committed
 * entries over.
 *
 * What must hold:
 * - What may only leave "after durable" (votes, append acknowledgements, also those to this node)
 *   waits for the writes of its own round and of every round before it.
 * - An entry is applied only when this node's own log holds it durably, even if a majority
 *   elsewhere does already: otherwise a checkpoint could claim what a power loss takes from the
 *   log.
 * - A failed write ends the process (the log's owner sees to it); nothing is retried on a disk that
 *   lost a write.
 */

import {
  type Configuration,
  type Entry,
  logIndex,
  type Message,
  NO_NODE,
  type NodeId,
  Raft,
  type RaftSettings,
  type RaftStorage,
  type Ready,
  type SoftState,
  type Status,
  term as toTerm,
} from '@svc/raft';
import type { HardStateFile, Log, LogEntry } from '@svc/storage';
import type { Cancel, Clock } from './clock.js';

export interface ConsensusOptions {
  readonly id: NodeId;
  readonly configuration: Configuration;
  readonly log: Log;
  readonly hardState: HardStateFile;
  readonly clock: Clock;
  readonly random: () => number;
  readonly settings: Partial<RaftSettings>;
  /** What the checkpoint holds: replay begins after it. */
  readonly appliedIndex: number;
  readonly tickMs: number;
  /** Entries in log order, durable here and on a majority. They are applied when this returns. */
  readonly onCommitted: (entries: readonly Entry[]) => void;
  readonly onRole: (role: SoftState) => void;
}

interface Round {
  writesLeft: number;
  readonly afterDurable: readonly Message[];
}

const NORMAL = 0;
const CONFIGURATION = 1;

export class Consensus {
  readonly #options: ConsensusOptions;
  readonly #raft: Raft;
  readonly #rounds: Round[] = [];
  readonly #committed: Entry[] = [];
  #saved: { term: number; vote: number };
  #pumping = false;
  #stopTicking: Cancel | null = null;
  #lastIndex: number;

  constructor(options: ConsensusOptions) {
    this.#options = options;
    const { log, hardState } = options;
    const stored = hardState.state ?? { term: 0, vote: 0 };
    const lastTerm = log.term(log.lastIndex) ?? 0;
    // Entries of a term may be durable before that term is: the vote of such a term was never sent.
    this.#saved = lastTerm > stored.term ? { term: lastTerm, vote: NO_NODE } : stored;
    this.#lastIndex = log.lastIndex;
    this.#raft = new Raft({
      id: options.id,
      nowMs: options.clock.nowMs(),
      random: options.random,
      storage: new LogStorage(log),
      hardState: {
        term: toTerm(this.#saved.term),
        vote: this.#saved.vote as NodeId,
        commit: logIndex(options.appliedIndex),
      },
      configuration: options.configuration,
      configurationIndex: logIndex(0),
      applied: logIndex(options.appliedIndex),
      settings: options.settings,
    });
  }

  /** Begins to tick. A group of one elects itself at once instead of waiting for its time-out. */
  start(): void {
    const { clock, configuration, tickMs } = this.#options;
    this.#stopTicking = clock.every(tickMs, () => {
      this.#raft.tick(clock.nowMs());
      this.#pump();
    });
    if (configuration.voters.length === 1) this.#raft.campaign();
    this.#pump();
  }

  stop(): void {
    this.#stopTicking?.();
    this.#stopTicking = null;
  }

  status(): Status {
    return this.#raft.status();
  }

  /** The index that the next proposal will have, if this node leads. */
  get nextIndex(): number {
    return this.#lastIndex + 1;
  }

  propose(body: Uint8Array): { readonly index: number; readonly term: number } | null {
    const proposal = this.#raft.propose(body);
    if (!proposal.accepted) {
      // The leader bounds what is in flight by itself. If it does not, the node would refuse every
      // write from here on while it leads: better to end and start again.
      if (proposal.reason === 'uncommitted_full') {
        throw new Error(`a leader with room for this entry was refused: ${proposal.reason}`);
      }
      return null;
    }
    this.#pump();
    return proposal;
  }

  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    while (this.#raft.hasReady()) this.#take(this.#raft.ready());
    this.#pumping = false;
  }

  #take(ready: Ready): void {
    const round: Round = { writesLeft: 1, afterDurable: ready.afterDurable };
    this.#rounds.push(round);
    this.#save(ready, round);
    const last = ready.entries[ready.entries.length - 1];
    if (last !== undefined) {
      round.writesLeft++;
      this.#lastIndex = last.index;
      this.#options.log.append(ready.entries.map(stored), () => this.#written(round));
    }
    for (const entry of ready.committed) this.#committed.push(entry);
    this.#written(round);
    if (ready.softState !== undefined) this.#options.onRole(ready.softState);
    this.#apply();
  }

  /** Term and vote are written only when they change; the commit index is recomputed at a start. */
  #save(ready: Ready, round: Round): void {
    const next = ready.hardState;
    if (next === undefined) return;
    if (next.term === this.#saved.term && next.vote === this.#saved.vote) return;
    this.#saved = { term: next.term, vote: next.vote };
    round.writesLeft++;
    this.#options.hardState.save(this.#saved, () => this.#written(round));
  }

  #written(round: Round): void {
    round.writesLeft--;
    for (;;) {
      const first = this.#rounds[0];
      if (first === undefined || first.writesLeft > 0) break;
      this.#rounds.shift();
      for (const message of first.afterDurable) this.#raft.step(message);
    }
    this.#apply();
    this.#pump();
  }

  #apply(): void {
    const durable = this.#options.log.durableIndex;
    let count = 0;
    while (count < this.#committed.length) {
      const entry = this.#committed[count];
      if (entry === undefined || entry.index > durable) break;
      count++;
    }
    if (count === 0) return;
    const entries = this.#committed.splice(0, count);
    this.#options.onCommitted(entries);
    this.#raft.applied((entries[count - 1] as Entry).index);
  }
}

function stored(entry: Entry): LogEntry {
  const type = entry.type === 'normal' ? NORMAL : CONFIGURATION;
  return { index: entry.index, term: entry.term, type, data: entry.data };
}

/** The log as the core reads it. */
class LogStorage implements RaftStorage {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  firstIndex() {
    return logIndex(this.#log.firstIndex);
  }

  lastIndex() {
    return logIndex(this.#log.lastIndex);
  }

  term(index: number) {
    const found = index === 0 ? 0 : this.#log.term(index);
    return found === undefined ? undefined : toTerm(found);
  }

  entries(from: number, to: number, bytesMax: number): Entry[] {
    return this.#log.entries(from, to, bytesMax).map((entry) => ({
      index: logIndex(entry.index),
      term: toTerm(entry.term),
      type: entry.type === NORMAL ? 'normal' : 'configuration',
      data: entry.data,
    }));
  }

  /** Snapshots are not offered: the whole log is kept. */
  snapshot() {
    return undefined;
  }
}
