/**
 * The members of the cluster and how an operator changes them (cluster-and-config 5):
 *
 *     GET    /api/v1/system/raft/membership
 *     POST   /api/v1/system/raft/membership/learners      {"id","raft","http"}
 *     POST   /api/v1/system/raft/membership/promote       {"ids","force"} or {"id","force"}
 *     PUT    /api/v1/system/raft/membership/voters        {"voters","force"}
 *     DELETE /api/v1/system/raft/membership/members/{id}
 *     POST   /api/v1/system/raft/transfer                 {"to"}
 *
 * Their errors have a shape of their own: `{"ok":false,"code","error"}`.
 */
import {
  DEFAULT_TENANT,
  type LeadershipTransferAnswer,
  type MembershipAnswer,
  type MembershipChangedAnswer,
  type MembershipErrorAnswer,
  type MembershipErrorCode,
} from '@svc/wire';
import { STATUS_OF_MEMBERSHIP_ERROR } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { isFault } from '../../exchange/path.js';
import { JsonError } from '../../json/json-error.js';
import type { MembershipChange, MembershipRefused, MembershipView } from '../../ports/service.js';
import { PendingReply } from '../../routing/reply.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../../routing/route.js';
import { type MembershipBody, readMembershipBody, readMembershipQuery } from './membership-body.js';

/** What is wrong with a request, as text. */
interface Wrong {
  readonly wrong: string;
}

type Read = (body: MembershipBody, force: boolean, param: string) => MembershipChange | Wrong;

const PATH = '/api/v1/system/raft/membership';
const TRANSFER_PATH = '/api/v1/system/raft/transfer';
const CELL_WIDE = 'the raft membership is cell-wide: no tenant but the default one acts on it';
const NODE_ID = /^[+-]?\d{1,15}$/;

export const membershipRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: PATH,
  level: 'admin',
  handle: (front, request) => {
    if (refuseTenant(request)) return;
    front.service.membership(new PendingReply(request.exchange, front.logger, null, renderView));
  },
};

export const membershipLearnersRoute = changing('POST', '/learners', ({ id, raft, http }) => {
  if (id === null) return { wrong: 'id is required' };
  if (raft === null) return { wrong: 'raft is required' };
  if (http === null) return { wrong: 'http is required' };
  return { kind: 'add-learner', node: id, raftAddress: raft, httpAddress: http };
});

export const membershipPromoteRoute = changing('POST', '/promote', ({ id, ids }, force) => {
  const nodes = ids ?? (id === null ? null : [id]);
  return nodes === null ? { wrong: 'ids is required' } : { kind: 'promote', nodes, force };
});

export const membershipVotersRoute = changing('PUT', '/voters', ({ voters }, force) =>
  voters === null ? { wrong: 'voters is required' } : { kind: 'set-voters', nodes: voters, force },
);

export const membershipMemberRoute = changing('DELETE', '/members/{id}', (_body, _force, param) =>
  NODE_ID.test(param)
    ? { kind: 'remove', node: Number(param) }
    : { wrong: `\`${param}\` is not a node id` },
);

/** A transfer changes no member, but its call takes the same way. */
export const leadershipTransferRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'POST',
  path: TRANSFER_PATH,
  level: 'admin',
  body: 'drain',
  handle: (front, request) => handleChange(front, request, readTransfer, renderTransferred),
};

function readTransfer({ to }: MembershipBody): MembershipChange | Wrong {
  return to === null ? { wrong: 'to is required' } : { kind: 'transfer', node: to };
}

function changing(method: Route['method'], path: string, read: Read): Route {
  return {
    ...ROUTE_DEFAULTS,
    method,
    path: `${PATH}${path}`,
    level: 'admin',
    body: 'drain',
    handle: (front, request) => handleChange(front, request, read, renderChanged),
  };
}

function handleChange(
  front: Front,
  request: RouteRequest,
  read: Read,
  render: typeof renderChanged,
): void {
  const { exchange, params } = request;
  if (refuseTenant(request)) return;
  const query = readMembershipQuery(request.query);
  if (isFault(query)) {
    refuse(exchange, 'bad_request', query.fault);
    return;
  }
  const body = bodyOf(request);
  const change = 'wrong' in body ? body : read(body, body.force || query.force, params[0] ?? '');
  if ('wrong' in change) {
    refuse(exchange, 'bad_request', change.wrong);
    return;
  }
  const reply = new PendingReply(exchange, front.logger, null, render);
  front.service.changeMembership(change, query.timeoutMs, reply);
}

function bodyOf({ body }: RouteRequest): MembershipBody | Wrong {
  try {
    return readMembershipBody(body);
  } catch (error) {
    if (error instanceof JsonError) return { wrong: error.message };
    throw error;
  }
}

/** True when it was refused. */
function refuseTenant({ exchange, tenant }: RouteRequest): boolean {
  if (tenant === DEFAULT_TENANT) return false;
  refuse(exchange, 'forbidden', CELL_WIDE);
  return true;
}

function refuse(exchange: Exchange, code: MembershipErrorCode, error: string): void {
  const { status, retryAfter } = STATUS_OF_MEMBERSHIP_ERROR[code];
  const answer: MembershipErrorAnswer = { ok: false, code, error };
  exchange.json(status, JSON.stringify(answer), retryAfter);
}

type Shown = MembershipAnswer | MembershipChangedAnswer | LeadershipTransferAnswer;

const renderView = rendering(({ membership }) => ({ engine: 'raft', membership }));
const renderChanged = rendering(({ membership }) => ({ ok: true, membership }));
const renderTransferred = rendering(({ membership: { leader, term } }) =>
  leader === null ? null : { ok: true, leader, term },
);

/** `shownOf` returns null when leadership moved on meanwhile. */
function rendering(shownOf: (view: MembershipView) => Shown | null) {
  return (exchange: Exchange, _: null, outcome: MembershipView | MembershipRefused): void => {
    if (outcome.kind === 'membership-refused') {
      refuse(exchange, outcome.code, outcome.error);
      return;
    }
    const shown = shownOf(outcome);
    if (shown !== null) exchange.json('200 OK', JSON.stringify(shown));
    else refuse(exchange, 'leader_changed', 'leadership moved on meanwhile; ask who leads');
  };
}
