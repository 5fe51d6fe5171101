/** The query of a request, for routes that refuse nothing of it but a bad escape. */
import { badRequest } from '../exchange/errors.js';
import { isFault } from '../exchange/path.js';
import { parseQuery, type Query } from '../exchange/query.js';
import type { RouteRequest } from './route.js';

/** null: the query does not decode, and the request has been refused. */
export function queryOf({ exchange, query: text }: RouteRequest): Query | null {
  const query = parseQuery(text);
  if (!isFault(query)) return query;
  exchange.refuse(badRequest(query.fault));
  return null;
}
