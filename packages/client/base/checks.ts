/**
 * What users give, checked before anything is sent. Misuse is a `TypeError` that says what is wrong
 * and what to write instead.
 */
import { shown } from './errors.js';

/** `write` completes "write ...". */
export function misuse(what: string, value: unknown, write: string): TypeError {
  return new TypeError(`${what} is ${shown(value)}: write ${write}`);
}

/** A name that goes into a body or a path. */
export function nameOf(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw misuse(what, value, 'a text that is not empty');
}

export function whole(value: number, what: string, min = 1, max?: number): number {
  if (Number.isSafeInteger(value) && value >= min && value <= (max ?? value)) return value;
  throw misuse(what, value, `a whole number from ${min}${max === undefined ? '' : ` to ${max}`}`);
}

export function flag(value: boolean, what: string): boolean {
  if (typeof value === 'boolean') return value;
  throw misuse(what, value, 'true or false');
}

/** A controller is passed in place of its signal now and then. */
export function signalOf(value: AbortSignal | undefined): AbortSignal | undefined {
  if (value === undefined || typeof value?.throwIfAborted === 'function') return value;
  throw misuse('signal', value, 'the signal of an AbortController: { signal: controller.signal }');
}

/** Since the epoch. */
export function instantMs(instant: Date | string | number, what: string): number {
  const ms = instant instanceof Date ? instant.getTime() : new Date(instant).getTime();
  if (!Number.isNaN(ms)) return ms;
  throw misuse(what, instant, 'a Date, a text like "2027-01-31T08:00:00Z", or milliseconds');
}

export function oneOf<Word>(value: Word, what: string, words: readonly Word[]): Word {
  if (words.includes(value)) return value;
  throw misuse(what, value, `one of ${words.map(shown).join(', ')}`);
}

/**
 * Refuses a member of `options` that is not among the words of `known`: a misspelt one would do
 * nothing.
 */
export function refuseUnknown(options: unknown, known: string, what: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const text = `${what} got ${shown(options)} where its options belong`;
    throw new TypeError(`${text}: write an object`);
  }
  const names = known.split(' ');
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const near = nearest(unknown, names);
  const meant = near === undefined ? '' : `write ${near}; `;
  const text = `${what} has no option ${unknown}: ${meant}its options are ${names.join(', ')}`;
  throw new TypeError(text);
}

/** Less likeness than this is chance. */
const LIKENESS_MIN = 0.4;

/**
 * The name that shares most pairs of letters with the given one, those at the beginning counted
 * twice, for names begin with what they are about; undefined: none is like it.
 */
function nearest(name: string, known: readonly string[]): string | undefined {
  const given = pairsOf(name);
  const likeness = (other: string): number => {
    const pairs = pairsOf(other);
    const shared = pairs.filter((pair) => given.includes(pair)).length;
    const different = pairs.findIndex((pair, i) => pair !== given[i]);
    const first = different === -1 ? pairs.length : different;
    return (2 * shared + first) / (given.length + pairs.length);
  };
  const best = known.reduce((a, b) => (likeness(b) > likeness(a) ? b : a), '');
  return likeness(best) < LIKENESS_MIN ? undefined : best;
}

function pairsOf(name: string): string[] {
  const text = ` ${name.toLowerCase()}`;
  return Array.from({ length: text.length - 1 }, (_, i) => text.slice(i, i + 2));
}
