/** What the errors of a queue's newest dead letters have in common (inspection 5.9). */

import type { Tenant } from '../base/commands/commands.js';
import type { State } from '../base/state.js';
import { findQueue } from '../state/catalog.js';
import { deadLetterBody } from '../state/dead-letters/dead-letters.js';
import { countDeadLetters, newestDeadLetters } from './dead-letter-list.js';

export interface DeadLetterSignatures {
  /** All that there are. */
  readonly rows: number;
  /** Those looked at, and what follows is of them. */
  readonly sample: number;
  /** Distinct, ascending. */
  readonly retryCounts: readonly number[];
  readonly groups: readonly string[];
  /** null: there is none. */
  readonly oldestUs: number | null;
  readonly newestUs: number | null;
  /** Average bytes of a payload. */
  readonly payloadBytes: number;
  /** The most frequent, at most SIGNATURES_MAX. */
  readonly signatures: readonly { readonly text: string; readonly count: number }[];
  /** Ascending by day, which is microseconds since the epoch at its midnight. */
  readonly days: readonly { readonly startUs: number; readonly count: number }[];
}

const SIGNATURES_MAX = 8;
const SIGNATURE_CHARS_MAX = 120;
/** Longer texts are cut before they are looked at: what is shown comes from their beginning. */
const ERROR_CHARS_MAX = 8192;
const DAY_US = 86_400_000_000;

const UUID = /[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}/g;
const LONG_HEX = /\b[0-9a-fA-F]{20,}\b/g;
const DATE = /\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?)?/g;
const DIGITS = /\b\d+\b/g;

export function signatureOf(error: string): string {
  const trimmed = error.slice(0, ERROR_CHARS_MAX).trim();
  if (trimmed === '') return '(no message)';
  return trimmed
    .replace(UUID, '<id>')
    .replace(LONG_HEX, '<id>')
    .replace(DATE, '<date>')
    .replace(DIGITS, '<n>')
    .replace(/\s+/g, ' ')
    .slice(0, SIGNATURE_CHARS_MAX);
}

export function* deadLetterSignatures(
  state: State,
  tenant: Tenant,
  name: string,
  limit: number,
): Generator<void, DeadLetterSignatures> {
  const queue = findQueue(state, tenant, name);
  const rows = queue === undefined ? 0 : yield* countDeadLetters(state, queue.number, null);
  const texts = new Map<string, number>();
  const days = new Map<number, number>();
  const retries = new Set<number>();
  const groups = new Set<string>();
  let sample = 0;
  let bytes = 0;
  let oldestUs: number | null = null;
  let newestUs: number | null = null;
  const found = queue === undefined ? [] : yield* newestDeadLetters(state, queue, limit);
  for (const { queue: home, id, head } of found) {
    const body = deadLetterBody(state, home.number, id);
    if (body === null) continue;
    sample++;
    bytes += head.payloadBytes;
    groups.add(head.group);
    retries.add(body.retries);
    newestUs ??= body.failedAtUs;
    oldestUs = body.failedAtUs;
    count(texts, signatureOf(body.error));
    count(days, Math.floor(body.failedAtUs / DAY_US) * DAY_US);
    yield;
  }
  return {
    rows,
    sample,
    retryCounts: [...retries].sort((a, b) => a - b),
    groups: [...groups].sort(),
    oldestUs,
    newestUs,
    payloadBytes: sample === 0 ? 0 : Math.round(bytes / sample),
    signatures: mostFrequent(texts),
    days: [...days].sort(([a], [b]) => a - b).map(([startUs, n]) => ({ startUs, count: n })),
  };
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function mostFrequent(texts: ReadonlyMap<string, number>): { text: string; count: number }[] {
  return [...texts]
    .map(([text, n]) => ({ text, count: n }))
    .sort((a, b) => b.count - a.count || (a.text < b.text ? -1 : 1))
    .slice(0, SIGNATURES_MAX);
}
