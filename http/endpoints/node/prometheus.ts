/**
 * GET /metrics/prometheus (inspection 9): what this node counts, as exposition text. Every family
 * describes the node that answers, and counts from its start; `http/metrics/` has the families.
 */
import { INTERNAL_REFUSAL } from '../../exchange/errors.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../../routing/route.js';

export const prometheusRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/metrics/prometheus',
  level: 'public',
  largeAnswer: 'read',
  scoped: false,
  handle,
};

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const TOO_MANY = { reason: 'overloaded', error: 'too many scrapes at once; retry' } as const;

function handle({ scraper, service, meters }: Front, { exchange }: RouteRequest): void {
  const isTaken = scraper.scrape(
    () => ({ meters, figures: service.figures() }),
    (text) => {
      if (text === null) exchange.refuse(INTERNAL_REFUSAL);
      else exchange.largeDocument(CONTENT_TYPE, text, 'no-cache');
    },
  );
  if (!isTaken) exchange.refuse(TOO_MANY);
}
