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

import { integerBetween, type Json, text } from '@svc/schema';
import {
  DEFAULT_TENANT,
  leadershipTransferAnswer,
  type MembershipErrorCode,
  membershipAnswer,
  membershipChangedAnswer,
  membershipErrorAnswer,
} from '@svc/wire';
import { STATUS_OF_MEMBERSHIP_ERROR } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { isFault } from '../../exchange/query.js';
import { jsonOf } from '../../json/answer-writer.js';
import { JsonError } from '../../json/json-error.js';
import type { MembershipChange, MembershipRefused, MembershipView } from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { parameter } from '../../routing/query-parameter.js';
import { replyBy, sendAnswer } from '../../routing/reply.js';
import type { AnyCall, Call, Front } from '../../routing/route.js';
import {
  type MembershipBody,
  membershipForm,
  readMembershipQuery,
  TIMEOUT_MS_MAX,
} from './membership-body.js';

/** A request that is wrong, and why. */
interface Wrong {
  readonly wrong: string;
}

type Read = (body: MembershipBody, force: boolean) => MembershipChange | Wrong;

const CELL_WIDE = 'the raft membership is cell-wide: no tenant but the default one acts on it';
const NODE_ID = /^[+-]?\d{1,15}$/;

const MEMBERSHIP_ERRORS = {
  400: answer('The request is malformed.', membershipErrorAnswer),
  403: answer('No tenant but the default one acts on the members.', membershipErrorAnswer),
  409: answer('The change cannot be made; `code` says why.', membershipErrorAnswer),
  503: answer('Nothing was changed; the same request may succeed soon.', membershipErrorAnswer),
  504: answer('Not in time; the change may still complete.', membershipErrorAnswer),
};

/** Why the query and the body are read by hand. */
const BEFORE = 'Another tenant is refused before anything that it sent is looked at.';

function change(example: Json) {
  return {
    tag: 'membership',
    exactQuery: {
      reader: BEFORE,
      parameters: {
        timeoutMs: parameter('How long to wait.', integerBetween(1, TIMEOUT_MS_MAX)),
        force: parameter('`true`, `1` or `yes`.', text),
      },
    },
    request: {
      share: 'drain',
      reader: BEFORE,
      schema: membershipForm.schema,
      optional: true,
      example,
    },
    answers: {
      ...MEMBERSHIP_ERRORS,
      200: answer('The membership after it.', membershipChangedAnswer),
    },
  } as const;
}

export const membershipEndpoint = endpoint({
  at: 'GET /api/v1/system/raft/membership',
  level: 'admin',
  gateway: 'blocked',
  tag: 'membership',
  summary: 'The members as the leader sees them.',
  answers: {
    ...MEMBERSHIP_ERRORS,
    200: answer('The membership.', membershipAnswer),
  },
  handle: (front, request) => {
    if (refuseTenant(request)) return;
    front.service.membership(replyBy(request.exchange, null, renderView));
  },
});

export const membershipLearnersEndpoint = endpoint({
  at: 'POST /api/v1/system/raft/membership/learners',
  level: 'admin',
  gateway: 'blocked',
  ...change({ id: 4, raft: 'node-4:7000', http: 'node-4:6632' }),
  summary: 'Add a node that does not vote: `id`, `raft`, `http`.',
  handle: changing(({ id, raft, http }) => {
    if (id === null) return { wrong: 'id is required' };
    if (raft === null) return { wrong: 'raft is required' };
    if (http === null) return { wrong: 'http is required' };
    return { kind: 'add-learner', node: id, raftAddress: raft, httpAddress: http };
  }),
});

export const membershipPromoteEndpoint = endpoint({
  at: 'POST /api/v1/system/raft/membership/promote',
  level: 'admin',
  gateway: 'blocked',
  ...change({ ids: [4] }),
  summary: 'Let learners vote: `ids`, or one `id`.',
  handle: changing(({ id, ids }, force) => {
    const nodes = ids ?? (id === null ? null : [id]);
    return nodes === null ? { wrong: 'ids is required' } : { kind: 'promote', nodes, force };
  }),
});

export const membershipVotersEndpoint = endpoint({
  at: 'PUT /api/v1/system/raft/membership/voters',
  level: 'admin',
  gateway: 'blocked',
  ...change({ voters: [1, 2, 3] }),
  summary: 'Replace the set of voters: `voters`.',
  handle: changing(({ voters }, force) =>
    voters === null
      ? { wrong: 'voters is required' }
      : { kind: 'set-voters', nodes: voters, force },
  ),
});

export const membershipMemberEndpoint = endpoint({
  at: 'DELETE /api/v1/system/raft/membership/members/{id}',
  level: 'admin',
  gateway: 'blocked',
  ...change({}),
  summary: 'Remove a node.',
  handle: (front, request) => {
    const { id } = request.params;
    const change: MembershipChange | Wrong = NODE_ID.test(id)
      ? { kind: 'remove', node: Number(id) }
      : { wrong: `\`${id}\` is not a node id` };
    handleChange(front, request, () => change, renderChanged);
  },
});

/** A transfer changes no member, but its call takes the same way. */
export const leadershipTransferEndpoint = endpoint({
  at: 'POST /api/v1/system/raft/transfer',
  level: 'admin',
  gateway: 'blocked',
  ...change({ to: 2 }),
  summary: 'Hand leadership to the voter `to`.',
  answers: {
    ...MEMBERSHIP_ERRORS,
    200: answer('It leads, from this term on or already.', leadershipTransferAnswer),
  },
  handle: (front, request) => handleChange(front, request, readTransfer, renderTransferred),
});

type ChangeCall = Call<unknown>;

function readTransfer({ to }: MembershipBody): MembershipChange | Wrong {
  return to === null ? { wrong: 'to is required' } : { kind: 'transfer', node: to };
}

function changing(read: Read) {
  return (front: Front, request: ChangeCall) => handleChange(front, request, read, renderChanged);
}

function handleChange(
  front: Front,
  request: ChangeCall,
  read: Read,
  render: typeof renderChanged,
): void {
  const { exchange } = request;
  if (refuseTenant(request)) return;
  const query = readMembershipQuery(request.query);
  if (isFault(query)) {
    refuse(exchange, 'bad_request', query.fault);
    return;
  }
  const body = bodyOf(request);
  const change = 'wrong' in body ? body : read(body, body.force || query.force);
  if ('wrong' in change) {
    refuse(exchange, 'bad_request', change.wrong);
    return;
  }
  const reply = replyBy(exchange, null, render);
  front.service.changeMembership(change, query.timeoutMs, reply);
}

function bodyOf({ body }: ChangeCall): MembershipBody | Wrong {
  try {
    return membershipForm.readOrEmpty(body);
  } catch (error) {
    if (error instanceof JsonError) return { wrong: error.message };
    throw error;
  }
}

/** True when it was refused. */
function refuseTenant({ exchange, tenant }: AnyCall): boolean {
  if (tenant === DEFAULT_TENANT) return false;
  refuse(exchange, 'forbidden', CELL_WIDE);
  return true;
}

function refuse(exchange: Exchange, code: MembershipErrorCode, error: string): void {
  const { status, retryAfter } = STATUS_OF_MEMBERSHIP_ERROR[code];
  sendAnswer(exchange, status, membershipErrorAnswer, { ok: false, code, error }, retryAfter);
}

const renderView = rendering(({ membership }) =>
  jsonOf(membershipAnswer, { engine: 'raft', membership }),
);
const renderChanged = rendering(({ membership }) =>
  jsonOf(membershipChangedAnswer, { ok: true, membership }),
);
const renderTransferred = rendering(({ membership: { leader, term } }) =>
  leader === null ? null : jsonOf(leadershipTransferAnswer, { ok: true, leader, term }),
);

/** `textOf` returns null when leadership moved on meanwhile. */
function rendering(textOf: (view: MembershipView) => string | null) {
  return (exchange: Exchange, _: null, outcome: MembershipView | MembershipRefused): void => {
    if (outcome.kind === 'membership-refused') {
      refuse(exchange, outcome.code, outcome.error);
      return;
    }
    const text = textOf(outcome);
    if (text !== null) exchange.json('200 OK', text);
    else refuse(exchange, 'leader_changed', 'leadership moved on meanwhile; ask who leads');
  };
}
