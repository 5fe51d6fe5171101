/**
 * What a node says of itself, without a word to the others: whether it is ready, its process, its
 * counters, and who the caller is.
 */

import { text } from '@svc/schema';
import {
  DEFAULT_TENANT,
  type HealthAnswer,
  healthAnswer,
  type IdentityAnswer,
  identityAnswer,
  metricsAnswer,
  processStatusAnswer,
  VERSION,
} from '@svc/wire';
import { widestRole } from '../../exchange/access-level.js';
import { AUTH_REQUIRED_TEXT, INTERNAL_REFUSAL } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { residentBytes } from '../../metrics/machine-figures.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { sendAnswer } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';

export const healthEndpoint = endpoint({
  at: 'GET /health',
  level: 'public',
  tag: 'node',
  summary: 'Whether this node is ready to serve.',
  answers: {
    200: answer('It is.', healthAnswer),
    503: answer('It is not, or not yet.', healthAnswer),
  },
  scoped: false,
  handle: (front, { exchange }) => answerHealth(exchange, front.service.health()),
});

export function answerHealth(exchange: Exchange, health: HealthAnswer): void {
  const status = health.status === 'healthy' ? '200 OK' : '503 Service Unavailable';
  sendAnswer(exchange, status, healthAnswer, health);
}

export const processStatusEndpoint = endpoint({
  at: 'GET /status',
  level: 'read-only',
  tag: 'node',
  id: 'getProcessStatus',
  summary: 'The process that answers.',
  answers: {
    200: answer(
      'The process, and the parts of it that other protocols speak to.',
      processStatusAnswer,
    ),
  },
  scoped: false,
  handle: ({ service, serverId }, { exchange }) => {
    const { status, raft } = service.health();
    const { nodeId, hostname } = service.raftStatus();
    sendAnswer(exchange, '200 OK', processStatusAnswer, {
      engine: 'raft',
      version: VERSION,
      serverId,
      nodeId,
      hostname,
      pid: process.pid,
      uptimeSeconds: Math.floor(process.uptime()),
      status,
      role: raft.role,
      memory: { rss: residentBytes() },
      raft: service.raftFigures(),
      kafka: { mode: 'off', phase: 'stopped' },
      s3: { mode: 'off', phase: 'stopped', threads: 0, controlPlane: false, sinks: [] },
    });
  },
});

export const metricsEndpoint = endpoint({
  at: 'GET /metrics',
  level: 'public',
  tag: 'node',
  summary: 'A few figures of this node, as JSON.',
  answers: {
    200: answer('Counted since its start.', metricsAnswer),
  },
  scoped: false,
  handle: (front, { exchange }) => {
    const { meters, service } = front;
    const { calls } = meters;
    const requests = calls.pushRequests + calls.popRequests + calls.ackRequests;
    const messages = calls.pushMessages + calls.popMessages + calls.ackMessages;
    sendAnswer(exchange, '200 OK', metricsAnswer, {
      uptime: Math.floor(process.uptime()),
      requests: { total: requests, rate: 0 },
      messages: { total: messages, rate: 0 },
      memory: {
        rss: residentBytes(),
        heapTotal: 0,
        heapUsed: 0,
        external: 0,
        arrayBuffers: 0,
      },
      cpu: { user: 0, system: 0 },
      engine: 'raft',
      raft: service.raftFigures(),
    });
  },
});

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

export const identityEndpoint = endpoint({
  at: 'GET /auth/me',
  level: 'known',
  tag: 'node',
  summary: 'Who the caller is.',
  answers: {
    200: answer(
      'Whom the token names, with its widest role; without tokens everybody is one operator.',
      identityAnswer,
    ),
    401: refusal('`auth_required`: tokens are checked, and none that is valid came.'),
  },
  scoped: false,
  handle: (front, { exchange, subject, roles }) => {
    if (!front.checksTokens) {
      sendAnswer(exchange, '200 OK', identityAnswer, identity(front, 'standalone', 'admin'));
      return;
    }
    // `JWT_SKIP_PATHS` can let a request through without a token.
    if (roles === null) exchange.json('401 Unauthorized', AUTH_REQUIRED_TEXT);
    else {
      const answer = identity(front, subject ?? '', widestRole(roles) ?? 'none');
      sendAnswer(exchange, '200 OK', identityAnswer, answer);
    }
  },
});

const LOCAL = 'local';

function identity(front: Front, user: string, role: string): IdentityAnswer {
  const isOperator = role === 'admin';
  return {
    user_id: user,
    email: null,
    tenant_slug: LOCAL,
    is_operator: isOperator,
    operator_enabled: isOperator,
    operator_live: isOperator,
    acting_cluster: { id: LOCAL, slug: LOCAL },
    act_cluster_header: 'x-svc-act-cluster',
    role,
    cluster: null,
    clusters: [
      {
        id: LOCAL,
        slug: LOCAL,
        role,
        tenant_slug: LOCAL,
        tenant_id: DEFAULT_TENANT,
        status: 'active',
        cell_slug: LOCAL,
      },
    ],
    standalone: true,
    server_id: front.serverId,
  };
}
