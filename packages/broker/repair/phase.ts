/**
 * Repair of a damaged log before consensus starts. What enters: a log that was opened in spite of
 * its damage. What leaves: a log that is whole, and the word whether this node may vote.
 *
 * A record that a peer still has is put back in place. For one that nobody can have, and for a lost
 * tail, repair/decision.ts says what is safe and why. Until it is decided the node waits, says what
 * it waits for, and answers others (repair/answer.ts), so that two damaged nodes can repair each
 * other.
 *
 * A lost tail is settled before the records right in front of it, because the log cannot tell where
 * those end as long as something may follow. What it was that they held may matter for the tail (a
 * configuration). So the tail is then cut with the marker, its question is decided again when the
 * records are back, and the marker goes if the answer is still the same.
 *
 * What must hold:
 * - A cut destroys the evidence that there was anything to lose. So if the node may not vote after
 *   it, or not yet, the marker is durable before the cut; a crash in between finds it.
 * - Entries that are adopted follow this log's last one: each is asked for with the term of the
 *   one before it, which makes the logs alike up to there. The marker goes when all are durable.
 * - An entry is never adopted over one that is readable here: only behind a cut.
 *
 * A torn tail (a write that power interrupted) was cut when the log was opened. What peers may have
 * of it is asked for and taken over; for a peer that does not answer the node does not wait long.
 *
 * A marker that stands at the start, before a log that is whole, is of an earlier life: of one
 * that ended while it took entries over, or that waited for a leader. Where nobody leads, nobody
 * might without this node's vote (two voters, of which this one was killed in the middle), so the
 * question is asked again, of the entry behind the end of the log. The proof of repair/decision.ts
 * is the same: what came into the log since the loss is of a log that held all that was committed
 * before it, that which was taken over or a leader's, and no leader had this node's vote. Silence
 * leaves the marker where it is, and so does a leader, who fills the log up.
 */
import type { NodeId } from '@svc/raft';
import type { DamagedSlot, LogEntry } from '@svc/storage';
import { nodeNumber } from '../config/member-id.js';
import type { FrameContent, RepairAnswer } from '../peers/frames.js';
import type { Cancel, Clock } from '../system/clock.js';
import { type ConfigurationsInForce, configurationsIn } from './configurations.js';
import {
  decideRecord,
  decideTail,
  decideTornTail,
  type LostTail,
  type TailDecision,
} from './decision.js';
import { type RepairingLog, RepairRounds } from './rounds.js';

/** So long every peer that is up has had several rounds to answer. */
const PATIENCE_MS = 2000;
/**
 * Entries taken over outside consensus, one round trip each: a few seconds. A group of writes that
 * was lost with a tail has at most a few hundred.
 */
const ADOPT_MAX = 4096;
const ADOPT_RETRY_MS = 300;
const ADOPT_TRIES_MAX = 20;

/** What of `Log` the phase needs. */
export interface PhaseLog extends RepairingLog {
  cutFrom(index: number, done: () => void): void;
  append(entries: readonly LogEntry[], done: () => void): void;
}

export interface RepairPhaseOptions {
  readonly self: NodeId;
  /** Durable. */
  readonly ownTerm: number;
  readonly log: PhaseLog;
  /** Everyone who may hold entries, without this node. */
  readonly peers: readonly NodeId[];
  /** What may have been in force when entry `index` was committed. */
  readonly configurationsBefore: (index: number) => ConfigurationsInForce;
  /** What the checkpoint holds is committed. */
  readonly appliedIndex: number;
  /** The first entry of a torn tail that was cut at open; null for none. */
  readonly tornTail: number | null;
  /** The marker stands already: an earlier life lost entries. */
  readonly recovering: boolean;
  /** Both durable when they return. */
  readonly markRecovering: () => void;
  readonly clearRecovering: () => void;
  readonly send: (to: NodeId, content: FrameContent) => boolean;
  readonly clock: Clock;
  /** Drawn at random: 0..2^32-1. */
  readonly round: number;
  readonly report: (text: string) => void;
}

export interface RepairResult {
  /** This node starts without its vote; the marker stands. */
  readonly recovering: boolean;
  readonly repaired: number;
  /** Entries from here on were given up; null for none. */
  readonly cutFrom: number | null;
  readonly adopted: number;
}

interface Adoption {
  readonly from: NodeId;
  readonly lastIndex: number;
  next: number;
  tries: number;
  writing: boolean;
  cancel: Cancel;
}

export class RepairPhase {
  readonly #options: RepairPhaseOptions;
  readonly #rounds: RepairRounds;
  readonly #startedMs: number;
  readonly #onDone: (result: RepairResult) => void;
  #recovering: boolean;
  #cutFrom: number | null = null;
  #adopted = 0;
  #adoption: Adoption | null = null;
  #cutting = false;
  /** A tail that is cut and was found to matter to nobody, or is to be taken over. */
  #settled: { readonly lost: LostTail; readonly marked: boolean } | null = null;
  #tornTail: number | null;
  /** Nothing is known of it and what follows, and the marker of an earlier life stands for it. */
  #resumeAt: number | null;
  #ended = false;

  /** `onDone` runs once, never before `start` returns. */
  constructor(options: RepairPhaseOptions, onDone: (result: RepairResult) => void) {
    this.#options = options;
    this.#onDone = onDone;
    this.#recovering = options.recovering;
    // A node without a vote has nothing to find out about a tail that no node was told of.
    this.#tornTail = options.recovering ? null : options.tornTail;
    const { log } = options;
    this.#resumeAt = options.recovering && log.isWhole ? log.lastIndex + 1 : null;
    this.#startedMs = options.clock.nowMs();
    this.#rounds = new RepairRounds({
      log: options.log,
      peers: () => options.peers,
      send: options.send,
      clock: options.clock,
      round: options.round,
      report: options.report,
      tornTail: this.#tornTail ?? this.#resumeAt,
      onProgress: () => this.#decide(),
    });
  }

  /** It has a marker: others must not take what it lacks for what it never had. */
  get recovering(): boolean {
    return this.#recovering;
  }

  start(): void {
    this.#options.clock.soon(() => {
      if (!this.#ended) this.#rounds.start();
    });
  }

  /** Gives up without a result: the node stops. */
  stop(): void {
    this.#ended = true;
    this.#rounds.stop();
    this.#adoption?.cancel();
  }

  onAnswer(from: NodeId, answer: RepairAnswer): void {
    if (this.#ended) return;
    if (this.#adoption === null) this.#rounds.onAnswer(from, answer);
    else this.#adopt(this.#adoption, from, answer);
  }

  #decide(): void {
    if (this.#ended || this.#cutting || this.#adoption !== null) return;
    const { log } = this.#options;
    const damage = log.damage();
    const first = damage[0];
    if (first?.kind === 'record' && this.#decideRecord(first)) return;
    const last = damage.at(-1);
    if (last?.kind === 'tail') this.#decideLostTail(last.index);
    else if (log.isWhole) this.#decideWhole();
  }

  /** True when it is cut, with all that follows. */
  #decideRecord({ index, runFirst }: DamagedSlot): boolean {
    const found = decideRecord(this.#lostFrom(index).lost);
    if (found === 'wait') return false;
    // A run of damaged headers leaves as a whole, and of its first slots nothing was concluded.
    const decision = runFirst < index ? 'recover' : found;
    if (decision === 'recover') this.#mark();
    this.#tornTail = null;
    this.#cut(runFirst, () => {
      // If no entry is committed at this slot, none is behind it either.
      const settled = this.#settled;
      this.#settled = null;
      if (decision === 'cut' && settled?.marked === true) this.#unmark();
      this.#decide();
    });
    return true;
  }

  #decideLostTail(index: number): void {
    const { lost, complete } = this.#lostFrom(index);
    const decision: TailDecision = this.#recovering ? { kind: 'recover' } : decideTail(lost);
    if (decision.kind === 'wait') return;
    const isPlain = decision.kind === 'cut' && complete;
    if (!isPlain) this.#mark();
    if (decision.kind !== 'recover') this.#settled = { lost, marked: !isPlain };
    this.#cut(index, () => this.#decide());
  }

  #decideWhole(): void {
    const settled = this.#settled;
    this.#settled = null;
    if (settled !== null) {
      const { index } = settled.lost;
      const { lost, complete } = this.#lostFrom(index);
      const decision = decideTail({ ...lost, words: settled.lost.words });
      const isDecided = complete && (decision.kind === 'cut' || decision.kind === 'adopt');
      if (settled.marked && isDecided) this.#follow(decision, index, true);
      else this.#decide();
      return;
    }
    if (this.#resumeAt !== null) {
      this.#resume(this.#resumeAt);
      return;
    }
    if (this.#tornTail === null) {
      this.#end();
      return;
    }
    const index = this.#tornTail;
    const decision = decideTornTail(this.#lostFrom(index).lost);
    if (decision.kind === 'wait') return;
    this.#tornTail = null;
    this.#follow(decision, index, false);
  }

  #resume(index: number): void {
    const { lost, complete } = this.#lostFrom(index);
    const isLed = [...lost.words.values()].some(({ led }) => led);
    const decision: TailDecision = isLed ? { kind: 'recover' } : decideTail(lost);
    if (decision.kind === 'wait' && !lost.patient) return;
    this.#resumeAt = null;
    const isDecided = decision.kind === 'cut' || decision.kind === 'adopt';
    if (complete && isDecided) this.#follow(decision, index, true);
    else this.#decide();
  }

  /** The log ends before `index`. */
  #follow(decision: TailDecision, index: number, marked: boolean): void {
    if (decision.kind === 'adopt') {
      // What a peer has of it may be committed by this node's word: no vote until it is here.
      this.#mark();
      this.#beginAdoption(decision.from, index, decision.lastIndex);
      return;
    }
    if (marked) this.#unmark();
    this.#decide();
  }

  #lostFrom(index: number): { readonly lost: LostTail; readonly complete: boolean } {
    const { self, ownTerm, configurationsBefore, appliedIndex, clock } = this.#options;
    const { configurations: readable, formerVoters, complete } = configurationsBefore(index);
    // Entries that are held are not judged yet. A configuration too many is only stricter.
    const held = configurationsIn(this.#rounds.held.filter((entry) => entry.index < index));
    const configurations = [...readable, ...held];
    const lost = {
      self,
      ownTerm,
      configurations,
      formerVoters,
      committed: index <= appliedIndex,
      words: new Map(this.#rounds.words(index)),
      index,
      adoptMax: ADOPT_MAX,
      patient: clock.nowMs() - this.#startedMs >= PATIENCE_MS,
    };
    return { lost, complete };
  }

  #mark(): void {
    if (this.#recovering) return;
    this.#options.markRecovering();
    this.#recovering = true;
  }

  #unmark(): void {
    this.#options.clearRecovering();
    this.#recovering = false;
  }

  #cut(index: number, next: () => void): void {
    this.#cutting = true;
    this.#cutFrom = Math.min(this.#cutFrom ?? index, index);
    const vote = this.#recovering ? 'without its vote until it has caught up' : 'with its vote';
    this.#options.report(`cutting the log at entry ${index}; this node goes on ${vote}`);
    this.#options.log.cutFrom(index, () => {
      this.#cutting = false;
      if (!this.#ended) next();
    });
  }

  // --- adoption ----------------------------------------------------------------------------------

  #beginAdoption(from: NodeId, first: number, lastIndex: number): void {
    const count = lastIndex - first + 1;
    const node = nodeNumber(from);
    this.#options.report(`taking over ${count} entries from ${first} on, from node ${node}`);
    const cancel = () => {};
    this.#adoption = { from, lastIndex, next: first, tries: 0, writing: false, cancel };
    this.#askNext(this.#adoption);
  }

  #askNext(adoption: Adoption): void {
    adoption.cancel();
    if (this.#ended) return;
    if (adoption.next > adoption.lastIndex) {
      this.#endAdoption(adoption, true);
      return;
    }
    if (++adoption.tries > ADOPT_TRIES_MAX) {
      this.#endAdoption(adoption, false);
      return;
    }
    const { log, send, round, clock } = this.#options;
    const index = adoption.next;
    const previousTerm = log.term(index - 1) ?? null;
    const slot = { kind: 'tail', index, previousTerm, term: null, bodyCrc: null } as const;
    send(adoption.from, { kind: 'repair-ask', round, slots: [slot] });
    adoption.cancel = clock.after(ADOPT_RETRY_MS, () => this.#askNext(adoption));
  }

  #adopt(adoption: Adoption, from: NodeId, answer: RepairAnswer): void {
    const { round, log } = this.#options;
    const expected = from === adoption.from && answer.index === adoption.next;
    if (answer.round !== round || !expected || adoption.writing) return;
    // Its end was replaced by a later leader, so it was not committed, and neither was ours.
    if (answer.verdict === 'never-had') {
      this.#endAdoption(adoption, true);
      return;
    }
    const { entry } = answer;
    if (entry === null || entry.term < (log.term(entry.index - 1) ?? 0)) return;
    adoption.writing = true;
    log.append([{ ...entry, data: new Uint8Array(entry.data) }], () => {
      adoption.writing = false;
      adoption.next++;
      adoption.tries = 0;
      this.#adopted++;
      this.#askNext(adoption);
    });
  }

  #endAdoption(adoption: Adoption, complete: boolean): void {
    adoption.cancel();
    this.#adoption = null;
    if (complete) this.#unmark();
    this.#decide();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { repaired } = this.#rounds;
    this.#rounds.stop();
    this.#onDone({
      recovering: this.#recovering,
      repaired,
      cutFrom: this.#cutFrom,
      adopted: this.#adopted,
    });
  }
}
