/**
 * GET /metrics/prometheus (inspection 9): what this node counts, as exposition text. Every family
 * describes the node that answers, and counts from its start; `http/metrics/` has the families.
 */

import { text } from '@svc/schema';
import { INTERNAL_REFUSAL } from '../../exchange/errors.js';
import { endpoint } from '../../routing/endpoint.js';

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const TOO_MANY = { reason: 'overloaded', error: 'too many scrapes at once; retry' } as const;

export const prometheusEndpoint = endpoint({
  at: 'GET /metrics/prometheus',
  level: 'public',
  tag: 'node',
  summary: 'What this node counts, as exposition text.',
  answers: {
    200: {
      description: 'Every family with its help and type.',
      schema: text,
      contentType: CONTENT_TYPE,
    },
  },
  largeAnswer: 'read',
  scoped: false,
  handle: ({ scraper, service, meters }, { exchange }) => {
    const isTaken = scraper.scrape(
      () => ({ meters, figures: service.figures() }),
      (text) => {
        if (text === null) exchange.refuse(INTERNAL_REFUSAL);
        else exchange.largeDocument(CONTENT_TYPE, text, 'no-cache');
      },
    );
    if (!isTaken) exchange.refuse(TOO_MANY);
  },
});
