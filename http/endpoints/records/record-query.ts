/** Query parameters of the reads of messages, dead letters and traces: lenient (inspection 0.2). */
import { integer } from '@svc/schema';
import type { Query } from '../../exchange/query.js';
import {
  filterParameter,
  integerParameter,
  type Parameter,
} from '../../routing/query-parameter.js';

export interface Paging {
  readonly limit: number;
  readonly offset: number;
}

/** `standard`: rows of an answer when the call does not say. */
export function limitOf(standard: number): Parameter<number> {
  return integerParameter('limit', { standard, min: 1, max: 1000 }, integer);
}

const ANY = { standard: 0, min: 0, max: Number.MAX_SAFE_INTEGER };
export const OFFSET = integerParameter('offset', ANY, integer, 'Rows to pass over; ');

export function pagingOf(query: Query, limit: Parameter<number>): Paging {
  return { limit: limit.of(query), offset: OFFSET.of(query) };
}

/** null when it is absent or empty. */
export function filter(name: string): Parameter<string | null> {
  return filterParameter(name, 'Exact; any when absent or empty.');
}
