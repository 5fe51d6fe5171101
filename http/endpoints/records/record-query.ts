/** Query parameters of the reads of messages, dead letters and traces: lenient (inspection 0.2). */

import { integer, text } from '@svc/schema';
import { lenientInteger, type Query } from '../../exchange/query.js';
import { parameter } from '../../routing/endpoint.js';

export interface Paging {
  readonly limit: number;
  readonly offset: number;
}

const LIMIT_MAX = 1000;

/** Numbers that do not parse are not there; those out of range are brought into it. */
export function pagingOf(query: Query, limitDefault: number): Paging {
  const limit = lenientInteger(query, 'limit') ?? limitDefault;
  const offset = lenientInteger(query, 'offset') ?? 0;
  return {
    limit: Math.min(Math.max(limit, 1), LIMIT_MAX),
    offset: Math.min(Math.max(offset, 0), Number.MAX_SAFE_INTEGER),
  };
}

/** A filter; null when the parameter is absent or empty. */
export function filterOf(query: Query, name: string): string | null {
  const text = query.get(name) ?? '';
  return text === '' ? null : text;
}

export const limit = (standard: number) =>
  parameter('limit', `${standard} when absent or no integer; brought into 1 to 1000.`, integer);

export const offset = parameter(
  'offset',
  'Rows to pass over; 0 when absent or no integer.',
  integer,
);

export const filter = (name: string) => parameter(name, 'Exact; any when absent or empty.', text);
