/** Endpoints kept for clients of older releases, and the link to another cluster. */
import type { PromoteCommand, Refusal } from '@svc/engine';
import { constant, count } from '@svc/schema';
import { linkAnswer } from '@svc/wire';
import { shown } from '../../json/shown.js';
import type { SharedStateView } from '../../ports/analytics-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { sendAnswer, sendShown, shownReply } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';
import { outcomeRender, submit } from '../../routing/submit.js';

const statsRefreshAnswer = shown<null>()({
  success: constant(true),
  refreshed: constant(false),
  engine: constant('raft'),
});

const sharedStateAnswer = shown<SharedStateView>()({
  enabled: constant(true),
  reason: constant('raft_state_machine'),
  appliedIndex: count,
  durableIndex: count,
  queues: count,
});

/** Figures are counted for each answer, so there is nothing to refresh. */
export const statsRefreshEndpoint = endpoint({
  at: 'POST /api/v1/stats/refresh',
  level: 'admin',
  gateway: 'blocked',
  tag: 'node',
  summary: 'Without effect: figures are counted for each answer.',
  answers: {
    200: answer('Nothing was done.', statsRefreshAnswer),
  },
  scoped: false,
  handle: (_, { exchange }) => sendShown(exchange, '200 OK', statsRefreshAnswer, null),
});

export const sharedStateEndpoint = endpoint({
  at: 'GET /api/v1/system/shared-state',
  level: 'admin',
  gateway: 'blocked',
  tag: 'node',
  summary: 'How far the node that is asked has applied the log, and how many queues there are.',
  answers: {
    200: answer('The indexes.', sharedStateAnswer),
  },
  scoped: false,
  handle: (front, { exchange }) => {
    const reply = shownReply(exchange, sharedStateAnswer);
    front.service.analytics.sharedState(reply);
  },
});

export const linkEndpoint = endpoint({
  at: 'GET /api/v1/system/link',
  level: 'admin',
  gateway: 'blocked',
  tag: 'node',
  summary: 'What this cluster is to another one.',
  answers: {
    200: answer('As the node that is asked sees it.', linkAnswer),
  },
  scoped: false,
  handle: ({ service }, { exchange }) => sendAnswer(exchange, '200 OK', linkAnswer, service.link()),
});

export const linkPromoteEndpoint = endpoint({
  at: 'POST /api/v1/system/link/promote',
  level: 'admin',
  gateway: 'blocked',
  tag: 'node',
  summary: 'Make a standby an ordinary cluster. Asked again, it changes nothing.',
  answers: {
    200: answer('It is promoted, and this node takes writes.', linkAnswer),
    409: refusal('`not_standby`: this cluster never followed another one.'),
  },
  scoped: false,
  handle: (front, { exchange }) => submit(front, exchange, { kind: 'promote' }, promotion(front)),
});

const IN_FLIGHT: Refusal = { reason: 'retry', error: "this standby's promotion is in flight" };

function promotion({ service }: Front) {
  return outcomeRender<PromoteCommand, 'promoted'>('promoted', (exchange, _, { wasStandby }) => {
    const link = service.link();
    if (!wasStandby) {
      const error = 'this cluster is not a standby';
      exchange.json('409 Conflict', JSON.stringify({ code: 'not_standby', error }));
    } else if (link.role === 'promoted') sendAnswer(exchange, '200 OK', linkAnswer, link);
    // It was promoted before, and this node has not applied that yet.
    else exchange.refuse(IN_FLIGHT);
  });
}
