/** What is there for readers of older releases, and the link that there is not (inspection 7). */
import type { RefusedOutcome } from '@svc/engine';
import type { LinkAnswer, SharedStateAnswer, StatsRefreshAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import type { SharedStateView } from '../../ports/analytics-service.js';
import { PendingReply } from '../../routing/reply.js';
import { ROUTE_DEFAULTS, type Route } from '../../routing/route.js';

const ADMIN = { ...ROUTE_DEFAULTS, level: 'admin', scoped: false } as const;

/** Figures are counted for each answer, so there is nothing to refresh. */
export const statsRefreshRoute: Route = {
  ...ADMIN,
  method: 'POST',
  path: '/api/v1/stats/refresh',
  handle: (_, { exchange }) => {
    const answer: StatsRefreshAnswer = { success: true, refreshed: false, engine: 'raft' };
    exchange.json('200 OK', JSON.stringify(answer));
  },
};

export const sharedStateRoute: Route = {
  ...ADMIN,
  method: 'GET',
  path: '/api/v1/system/shared-state',
  handle: (front, { exchange }) => {
    const reply = new PendingReply(exchange, front.logger, null, renderSharedState);
    front.service.analytics.sharedState(reply);
  },
};

export const linkRoute: Route = {
  ...ADMIN,
  method: 'GET',
  path: '/api/v1/system/link',
  handle: (front, { exchange }) => {
    const answer: LinkAnswer = { role: 'primary', leader: front.service.analytics.leads() };
    exchange.json('200 OK', JSON.stringify(answer));
  },
};

export const linkPromoteRoute: Route = {
  ...ADMIN,
  method: 'POST',
  path: '/api/v1/system/link/promote',
  handle: (_, { exchange }) => {
    const error = 'this cluster is not a standby';
    exchange.json('409 Conflict', JSON.stringify({ code: 'not_standby', error }));
  },
};

function renderSharedState(
  exchange: Exchange,
  _: null,
  outcome: SharedStateView | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
  const { appliedIndex, durableIndex, queues } = outcome;
  const answer: SharedStateAnswer = {
    enabled: true,
    reason: 'raft_state_machine',
    appliedIndex,
    durableIndex,
    queues,
  };
  exchange.json('200 OK', JSON.stringify(answer));
}
