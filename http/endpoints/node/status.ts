/**
 * What a node says of itself, without a word to the others: whether it is ready, its process, its
 * counters, and who the caller is.
 */
import {
  constant,
  count,
  describedAs,
  emptyList,
  integer,
  nullable,
  object,
  text,
  truth,
} from '@svc/schema';
import {
  DEFAULT_TENANT,
  type HealthAnswer,
  healthAnswer,
  healthStatus,
  nodeRole,
  type RaftFigures,
  type RaftStatusAnswer,
  raftFigures,
  VERSION,
} from '@svc/wire';
import { widestRole } from '../../exchange/access-level.js';
import { AUTH_REQUIRED_TEXT, INTERNAL_REFUSAL } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { rowsOf, shown } from '../../json/shown.js';
import { residentBytes } from '../../metrics/machine-figures.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { sendAnswer, sendShown } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';

export const healthEndpoint = endpoint({
  at: 'GET /health',
  level: 'public',
  gateway: 'public',
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

const resident = shown<unknown>()({ rss: [count, residentBytes] });

interface Process {
  readonly serverId: string;
  readonly health: HealthAnswer;
  readonly own: RaftStatusAnswer;
  readonly raft: RaftFigures;
}

/** inspection 8.3: the process, and the parts of it that other protocols speak to. */
const processStatusAnswer = shown<Process>()({
  engine: constant('raft'),
  version: [text, () => VERSION],
  serverId: text,
  nodeId: [integer, ({ own }) => own.nodeId],
  hostname: [nullable(text), ({ own }) => own.hostname],
  pid: [integer, () => process.pid],
  uptimeSeconds: [count, uptimeSeconds],
  status: [healthStatus, ({ health }) => health.status],
  role: [nodeRole, ({ health }) => health.raft.role],
  memory: resident,
  raft: raftFigures,
  kafka: describedAs(
    'This build does not include it.',
    shown<unknown>()({ mode: constant('off'), phase: constant('stopped') }),
  ),
  s3: describedAs(
    'This build does not include it.',
    shown<unknown>()({
      mode: constant('off'),
      phase: constant('stopped'),
      threads: constant(0),
      controlPlane: constant(false),
      sinks: emptyList,
    }),
  ),
});

function uptimeSeconds(): number {
  return Math.floor(process.uptime());
}

export const processStatusEndpoint = endpoint({
  at: 'GET /status',
  level: 'read-only',
  gateway: 'blocked',
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
  handle: ({ service, serverId }, { exchange }) =>
    sendShown(exchange, '200 OK', processStatusAnswer, {
      serverId,
      health: service.health(),
      own: service.raftStatus(),
      raft: service.raftFigures(),
    }),
});

const requests = shown<Front>()({
  total: [
    count,
    ({ meters: { calls } }) => calls.pushRequests + calls.popRequests + calls.ackRequests,
  ],
  rate: constant(0),
});

const messages = shown<Front>()({
  total: [
    count,
    ({ meters: { calls } }) => calls.pushMessages + calls.popMessages + calls.ackMessages,
  ],
  rate: constant(0),
});

/** inspection 8.2. */
const metricsAnswer = shown<Front>()({
  uptime: [count, uptimeSeconds],
  requests,
  messages,
  memory: shown<unknown>()({
    rss: [count, residentBytes],
    heapTotal: constant(0),
    heapUsed: constant(0),
    external: constant(0),
    arrayBuffers: constant(0),
  }),
  cpu: shown<unknown>()({ user: constant(0), system: constant(0) }),
  engine: constant('raft'),
  raft: [raftFigures, ({ service }) => service.raftFigures()],
});

export const metricsEndpoint = endpoint({
  at: 'GET /metrics',
  level: 'public',
  gateway: 'metrics',
  tag: 'node',
  summary: 'A few figures of this node, as JSON.',
  answers: {
    200: answer('Counted since its start.', metricsAnswer),
  },
  scoped: false,
  handle: (front, { exchange }) => sendShown(exchange, '200 OK', metricsAnswer, front),
});

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const TOO_MANY = { reason: 'overloaded', error: 'too many scrapes at once; retry' } as const;

export const prometheusEndpoint = endpoint({
  at: 'GET /metrics/prometheus',
  level: 'public',
  gateway: 'metrics',
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
        else exchange.bytes('200 OK', CONTENT_TYPE, text, 'no-cache');
      },
    );
    if (!isTaken) exchange.refuse(TOO_MANY);
  },
});

const LOCAL = 'local';

interface Caller {
  readonly user: string;
  readonly role: string;
}

function isOperator({ role }: Caller): boolean {
  return role === 'admin';
}

const cluster = shown<Caller>()({
  id: [text, () => LOCAL],
  slug: [text, () => LOCAL],
  role: text,
  tenant_slug: [text, () => LOCAL],
  tenant_id: [text, () => DEFAULT_TENANT],
  status: [text, () => 'active'],
  cell_slug: [text, () => LOCAL],
});

/** The identity of the caller, as the dashboard asks for it (gateway 7). */
const identityAnswer = shown<Caller, Front>()({
  user_id: [
    describedAs(
      '`standalone` while tokens are not checked; otherwise `sub` of the token, "" without one.',
      text,
    ),
    ({ user }) => user,
  ],
  email: [nullable(text), () => null],
  tenant_slug: [text, () => LOCAL],
  is_operator: [truth, isOperator],
  operator_enabled: [truth, isOperator],
  operator_live: [truth, isOperator],
  acting_cluster: [nullable(object({ id: text, slug: text })), () => ({ id: LOCAL, slug: LOCAL })],
  act_cluster_header: [
    describedAs('The name of the header that chooses the cluster.', text),
    () => 'x-svc-act-cluster',
  ],
  role: describedAs(
    'The widest role of the token: `admin`, `read-write`, `read-only`, `write-only` or `none`.',
    text,
  ),
  cluster: [nullable(text), () => null],
  clusters: rowsOf(cluster, (caller) => [caller]),
  standalone: describedAs('There is no gateway, so there are no sessions.', constant(true)),
  server_id: [
    describedAs('The name of the node that answers.', text),
    (_, front) => front.serverId,
  ],
});

export const identityEndpoint = endpoint({
  at: 'GET /auth/me',
  level: 'known',
  gateway: 'blocked',
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
      const caller = { user: 'standalone', role: 'admin' };
      sendShown(exchange, '200 OK', identityAnswer, caller, front);
      return;
    }
    // `JWT_SKIP_PATHS` can let a request through without a token.
    if (roles === null) exchange.json('401 Unauthorized', AUTH_REQUIRED_TEXT);
    else {
      const caller = { user: subject ?? '', role: widestRole(roles) ?? 'none' };
      sendShown(exchange, '200 OK', identityAnswer, caller, front);
    }
  },
});
