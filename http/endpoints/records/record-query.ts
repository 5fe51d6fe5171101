/**
 * Query parameters of the reads of messages, dead letters and traces: lenient (inspection 0.2); and
 * what several of their answers show.
 */
import { count, describedAs, integer, object, oneOf, optional } from '@svc/schema';
import { DEAD_LETTER_REASONS, type DeadLetterReason } from '@svc/wire';
import { filterParameter, integerParameter } from '../../routing/query-parameter.js';

export interface Paging {
  readonly limit: number;
  readonly offset: number;
}

export const pageAnswer = object({ limit: count, offset: count });

const ANY = { standard: 0, min: 0, max: Number.MAX_SAFE_INTEGER };

/** `standard`: rows of an answer when the call does not say. */
export function limitOf(standard: number) {
  return integerParameter({ standard, min: 1, max: 1000 }, integer);
}

/** `limit` and `offset`. */
export function pagingOf(standard: number) {
  const offset = integerParameter(ANY, integer, 'Rows to pass over; ');
  return { limit: limitOf(standard), offset };
}

/** null when it is absent or empty. */
export const FILTER = filterParameter('Exact; any when absent or empty.');

export const deadLetterReason = optional(
  describedAs(
    'Why it was filed; absent when an older build has filed it.',
    oneOf(...DEAD_LETTER_REASONS),
  ),
);

/** The member, with the comma before it. */
export function reasonText(reason: DeadLetterReason | null): string {
  return reason === null ? '' : `,"deadLetterReason":"${reason}"`;
}
