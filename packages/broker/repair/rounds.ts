/**
 * Asks the other members for what this node's log cannot read, until it can. The same before
 * consensus starts (repair/phase.ts) and beside it (repair/running.ts).
 *
 * One round: the lowest damaged slots, in one question to every peer. A round follows the last one
 * after a pause, or at once when everything that was asked for is repaired. The log itself judges
 * what comes (`Log.repair`): an entry is written only if it is the one that stood there.
 *
 * Bounds: ASK_SLOTS_MAX slots are asked for at a time; an answer carries one entry, and a peer
 * answers one question with a bounded number of bytes (repair/answer.ts). Words are kept for the
 * slots of the current round alone.
 */
import type { NodeId } from '@svc/raft';
import type { DamagedSlot, LogEntry, RepairOutcome, RepairState } from '@svc/storage';
import { nodeNumber } from '../config/member-id.js';
import {
  ASK_SLOTS_MAX,
  type AskedSlot,
  type FrameContent,
  type RepairAnswer,
} from '../peers/frames.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { AnsweringLog } from './answer.js';
import type { PeerWord } from './decision.js';

/** Between two rounds, and between two questions for an entry that did not fit. */
const RETRY_MS = 500;
const DIFFERENT_RETRY_MS = 10_000;
/** A node that waits says so this often. */
const PROGRESS_MS = 5000;
const WORDS_SHOWN = 5;

/** What of `Log` a repair needs. */
export interface RepairingLog extends AnsweringLog {
  /** Nothing is damaged, nor being repaired. */
  readonly isWhole: boolean;
  repair(entry: LogEntry, done: (outcome: RepairOutcome) => void): RepairState;
}

export interface RepairRoundsOptions {
  readonly log: RepairingLog;
  /** Everyone who may hold entries, without this node. */
  readonly peers: () => readonly NodeId[];
  readonly send: (to: NodeId, content: FrameContent) => boolean;
  readonly clock: Clock;
  /** Drawn at random in each life: 0..2^32-1. */
  readonly round: number;
  readonly report: (text: string) => void;
  /** A first entry that a torn tail may hide; asked for when nothing else is damaged. */
  readonly tornTail?: number | null;
  /** A peer spoke or a slot was repaired. */
  readonly onProgress: () => void;
}

export class RepairRounds {
  readonly #options: RepairRoundsOptions;
  /** By slot, of the slots that the last round asked for. */
  #words = new Map<number, Map<NodeId, PeerWord>>();
  #asked = new Map<number, AskedSlot>();
  /** When a peer whose entry did not fit is asked again, by slot and peer. */
  readonly #differentUntilMs = new Map<string, number>();
  /** Slots whose entry was taken, and those of them that wait for the others of their run. */
  readonly #writing = new Set<number>();
  readonly #held = new Map<number, LogEntry>();
  #repaired = 0;
  #shownMs = Number.NEGATIVE_INFINITY;
  #cancel: Cancel | null = null;

  constructor(options: RepairRoundsOptions) {
    this.#options = options;
  }

  /** Slots repaired so far. */
  get repaired(): number {
    return this.#repaired;
  }

  get running(): boolean {
    return this.#cancel !== null;
  }

  /** Asks now and then again and again. */
  start(): void {
    this.#cancel?.();
    this.#cancel = this.#options.clock.every(RETRY_MS, () => this.#ask());
    this.#ask();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#asked.clear();
    this.#words.clear();
    this.#differentUntilMs.clear();
  }

  /** What peers last said of this slot. */
  words(index: number): ReadonlyMap<NodeId, PeerWord> {
    return this.#words.get(index) ?? new Map();
  }

  /** Entries that wait to be judged together with others, or for a lost tail to be settled. */
  get held(): readonly LogEntry[] {
    return [...this.#held.values()];
  }

  onAnswer(from: NodeId, answer: RepairAnswer): void {
    const { round, peers, log } = this.#options;
    const slot = this.#asked.get(answer.index);
    // A peer may have been asked by its number alone, and answers as whoever it is.
    const isPeer = peers().some((peer) => nodeNumber(peer) === nodeNumber(from));
    if (answer.round !== round || slot === undefined || !isPeer) return;
    const words = this.#words.get(answer.index) ?? new Map<NodeId, PeerWord>();
    this.#words.set(answer.index, words);
    if (slot.kind === 'record' && answer.entry !== null) {
      const damaged = log.damage().find(({ index }) => index === answer.index);
      if (damaged !== undefined) this.#offer(damaged, from, answer, words);
    } else {
      words.set(from, answer);
    }
    this.#options.onProgress();
  }

  #offer(
    slot: DamagedSlot,
    from: NodeId,
    answer: RepairAnswer,
    words: Map<NodeId, PeerWord>,
  ): void {
    if (this.#writing.has(slot.index) || answer.entry === null) return;
    // The frame's memory belongs to whoever received it.
    const entry: LogEntry = { ...answer.entry, data: new Uint8Array(answer.entry.data) };
    const isAlone = this.#isAlone(slot);
    const isDifferent = () => {
      const verdict = isAlone ? 'never-had' : 'parted';
      words.set(from, { ...answer, verdict });
      const untilMs = this.#options.clock.nowMs() + DIFFERENT_RETRY_MS;
      this.#differentUntilMs.set(`${slot.index} ${from}`, untilMs);
    };
    const verdict = this.#options.log.repair(entry, (outcome) => {
      this.#writing.delete(slot.index);
      this.#held.delete(slot.index);
      if (outcome === 'repaired') this.#repaired++;
      if (outcome === 'different') isDifferent();
      this.#options.onProgress();
      this.#askSoon();
    });
    switch (verdict) {
      case 'repairing':
      case 'kept':
        words.set(from, answer);
        this.#writing.add(slot.index);
        if (verdict === 'kept') this.#held.set(slot.index, entry);
        break;
      case 'different':
        isDifferent();
        break;
      case 'intact':
        break;
    }
  }

  /**
   * Whether it is this slot's entry that differs when the log says so: its own header is intact, or
   * its successor names it. In a run of damaged headers the entries are judged together, and it may
   * be another one of them.
   */
  #isAlone({ index, bodyCrc, headerCrc }: DamagedSlot): boolean {
    if (bodyCrc !== null) return true;
    return headerCrc !== null && !this.#asked.has(index - 1) && !this.#writing.has(index - 1);
  }

  /** Goes on at once when nothing of this round is left. */
  #askSoon(): void {
    if (this.#cancel === null) return;
    const left = this.#options.log.damage();
    if (left.length === 0 || left.some(({ index }) => this.#asked.has(index))) return;
    this.#ask();
  }

  #ask(): void {
    const { log, peers, send, round, clock } = this.#options;
    const slots = this.#slotsToAsk();
    this.#asked = new Map(slots.map((slot) => [slot.index, slot]));
    for (const index of this.#words.keys()) if (!this.#asked.has(index)) this.#words.delete(index);
    const nowMs = clock.nowMs();
    for (const [key, untilMs] of this.#differentUntilMs) {
      if (untilMs <= nowMs) this.#differentUntilMs.delete(key);
    }
    for (const peer of peers()) {
      const wanted = slots.filter(({ index }) => {
        return !this.#writing.has(index) && !this.#differentUntilMs.has(`${index} ${peer}`);
      });
      if (wanted.length > 0) send(peer, { kind: 'repair-ask', round, slots: wanted });
    }
    if (slots.length > 0) this.#show(log.damage());
    this.#options.onProgress();
  }

  #slotsToAsk(): AskedSlot[] {
    const { log, tornTail } = this.#options;
    const slots: AskedSlot[] = log
      .damage()
      .slice(0, ASK_SLOTS_MAX)
      .map(({ kind, index, term, bodyCrc }) => {
        const previousTerm = log.term(index - 1) ?? null;
        return { kind, index, previousTerm, term, bodyCrc };
      });
    if (slots.length === 0 && tornTail != null) {
      const previousTerm = log.term(tornTail - 1) ?? null;
      slots.push({ kind: 'tail', index: tornTail, previousTerm, term: null, bodyCrc: null });
    }
    return slots;
  }

  #show(damage: readonly DamagedSlot[]): void {
    const nowMs = this.#options.clock.nowMs();
    const first = damage[0];
    if (first === undefined || nowMs - this.#shownMs < PROGRESS_MS) return;
    this.#shownMs = nowMs;
    const { kind, index, file, offset } = first;
    const more = damage.length > 1 ? ` and ${damage.length - 1} more` : '';
    this.#options.report(
      `the log is damaged: ${kind} ${index} (${file} at byte ${offset})${more}; ` +
        `repaired so far: ${this.#repaired}; peers on ${index}: ${this.#spoken(index)}`,
    );
  }

  #spoken(index: number): string {
    const peers = this.#options.peers();
    const words = this.words(index);
    const shown = peers
      .slice(0, WORDS_SHOWN)
      .map((peer) => `node ${nodeNumber(peer)} ${words.get(peer)?.verdict ?? 'is silent'}`);
    return shown.length === 0 ? 'there are none' : shown.join(', ');
  }
}
