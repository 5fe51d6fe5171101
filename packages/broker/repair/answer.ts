/**
 * Answers what other nodes ask about damaged slots of their logs. A node answers whatever state it
 * is in, also while it asks itself: two nodes with damage in different slots repair each other.
 *
 * `never-had` is a statement that others drop entries for, so it is made only by a log that is
 * whole around the slot, of a node that has not lost entries (repair/decision.ts).
 */
import type { DamagedSlot, EntryAnswer, EntryQuestion, LogEntry } from '@svc/storage';
import type { AskedSlot, RepairAnswer, RepairAsk, SlotResult } from '../peers/frames.js';

/** Entry data of one answer; at least one entry. The rest is asked for again. */
const ANSWER_BYTES_MAX = 4 << 20;

/** What of `Log` an answer needs. */
export interface AnsweringLog {
  readonly firstIndex: number;
  readonly lastIndex: number;
  readonly durableIndex: number;
  term(index: number): number | undefined;
  damage(): readonly DamagedSlot[];
  answerFor(question: EntryQuestion): EntryAnswer;
}

export interface AnsweringNode {
  /** Durable. */
  readonly term: number;
  /** It lost entries and does not know which. */
  readonly recovering: boolean;
  /** It leads or knows who does. */
  readonly led: boolean;
}

export function answersTo(ask: RepairAsk, log: AnsweringLog, node: AnsweringNode): RepairAnswer[] {
  const answers: RepairAnswer[] = [];
  const lastIndex = Math.min(log.lastIndex, log.durableIndex);
  const place = { term: node.term, lastIndex, lastTerm: log.term(lastIndex) ?? 0, led: node.led };
  let bytes = 0;
  for (const slot of ask.slots) {
    const { verdict, entry } = answerTo(slot, log, node.recovering);
    bytes += entry?.data.length ?? 0;
    if (bytes > ANSWER_BYTES_MAX && answers.length > 0) break;
    const { index } = slot;
    answers.push({ kind: 'repair-answer', round: ask.round, index, verdict, ...place, entry });
  }
  return answers;
}

interface Answer {
  readonly verdict: SlotResult;
  readonly entry: LogEntry | null;
}

const NEVER_HAD: Answer = { verdict: 'never-had', entry: null };
const DAMAGED: Answer = { verdict: 'damaged', entry: null };
const PURGED: Answer = { verdict: 'purged', entry: null };
const RECOVERING: Answer = { verdict: 'recovering', entry: null };

function answerTo(slot: AskedSlot, log: AnsweringLog, recovering: boolean): Answer {
  const { index, term, bodyCrc } = slot;
  if (index < log.firstIndex) return PURGED;
  // The answer to a tail speaks of everything this log holds from there on.
  if (slot.kind === 'tail') {
    if (recovering) return RECOVERING;
    if (!endIsKnown(log)) return DAMAGED;
  }
  // A write under way may still fail; the asker comes again.
  if (index > log.durableIndex && index <= log.lastIndex) return DAMAGED;
  const neverHad = recovering ? RECOVERING : NEVER_HAD;
  const previousTerm = log.term(index - 1);
  // Logs that hold one entry alike are alike before it too.
  const parted =
    previousTerm !== undefined && slot.previousTerm !== null && previousTerm !== slot.previousTerm;
  if (parted) return neverHad;
  const answer = log.answerFor({ index, term, bodyCrc });
  switch (answer.kind) {
    case 'have':
      // Without the entry before it, nobody can tell that it follows the asker's log.
      if (slot.kind === 'tail' && previousTerm === undefined) return DAMAGED;
      return { verdict: 'have', entry: answer.entry };
    case 'never-had':
      return neverHad;
    case 'cannot-tell':
      return DAMAGED;
  }
}

function endIsKnown(log: AnsweringLog): boolean {
  if (log.durableIndex > 0 && log.term(log.durableIndex) === undefined) return false;
  return log.damage().every(({ kind }) => kind !== 'tail');
}
