// Goal: what an operator sends becomes exactly one change, every error has its status, code and
// shape, and no body or query, however broken, does worse than 400. Method: real sockets, a fake
// service; random bodies from a printed seed.
import { DEFAULT_TENANT, type MembershipErrorCode } from '@svc/wire';
import { afterEach, describe, expect, test } from 'vitest';
import type { MembershipChange } from '../../ports/service.js';
import { TestFront } from '../../testing/front.fake.js';

const PATH = '/api/v1/system/raft/membership';
let front: TestFront;

async function start(tenancyHeader = false): Promise<TestFront> {
  front = await TestFront.start({ tenancyHeader });
  return front;
}

afterEach(() => front.stop());

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

async function send({ method, path, body }: Sent, headers = {}) {
  const request = body === undefined ? { method, headers } : { method, headers, body };
  const answer = await front.client().request(`${PATH}${path}`, request);
  return { status: answer.status, headers: answer.headers, json: JSON.parse(answer.body) };
}

const LEARNER = '{"id":4,"raft":"svc-4:7400","http":"svc-4:6632"}';
const learner: MembershipChange = {
  kind: 'add-learner',
  node: 4,
  raftAddress: 'svc-4:7400',
  httpAddress: 'svc-4:6632',
};

describe('changes', () => {
  test.each<[string, string, string | undefined, MembershipChange, number]>([
    ['POST', '/learners', LEARNER, learner, 30_000],
    ['POST', '/learners', LEARNER.replace('id', 'nodeId'), learner, 30_000],
    ['POST', '/learners?timeoutMs=1', LEARNER, learner, 1],
    ['POST', '/learners?timeoutMs=120000', LEARNER, learner, 120_000],
    ['POST', '/promote', '{"ids":[4,5]}', { kind: 'promote', nodes: [4, 5], force: false }, 30_000],
    ['POST', '/promote', '{"id":4}', { kind: 'promote', nodes: [4], force: false }, 30_000],
    [
      'POST',
      '/promote',
      ' {"ids":[4],"force":true,"x":{}} ',
      { kind: 'promote', nodes: [4], force: true },
      30_000,
    ],
    [
      'POST',
      '/promote?force=1',
      '{"ids":[4]}',
      { kind: 'promote', nodes: [4], force: true },
      30_000,
    ],
    [
      'PUT',
      '/voters?force=true&timeoutMs=5',
      '{"voters":[1,2,4]}',
      { kind: 'set-voters', nodes: [1, 2, 4], force: true },
      5,
    ],
    ['PUT', '/voters', '{"voters":[]}', { kind: 'set-voters', nodes: [], force: false }, 30_000],
    ['DELETE', '/members/4', undefined, { kind: 'remove', node: 4 }, 30_000],
    ['DELETE', '/members/4', '{}', { kind: 'remove', node: 4 }, 30_000],
    ['DELETE', '/members/0', undefined, { kind: 'remove', node: 0 }, 30_000],
  ])('%s %s %s', async (method, path, body, change, timeoutMs) => {
    await start();
    const answer = await send(body === undefined ? { method, path } : { method, path, body });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ ok: true, membership: { voters: [1, 2, 3] } });
    expect(front.service.changes).toEqual([{ change, timeoutMs }]);
  });

  test.each<[string, string, string, string]>([
    ['POST', '/learners', '', 'id is required'],
    ['POST', '/learners', '{}', 'id is required'],
    ['POST', '/learners', '{"id":null}', 'id is required'],
    ['POST', '/learners', '{"id":4}', 'raft is required'],
    ['POST', '/learners', '{"id":4,"raft":"a:1"}', 'http is required'],
    ['POST', '/learners', '{"id":"4"}', 'id must be an integer at byte 6'],
    ['POST', '/learners', '{"id":4.5}', 'id must be an integer at byte 6'],
    ['POST', '/learners', '[]', 'the body must be an object at byte 0'],
    ['POST', '/promote', '', 'ids is required'],
    ['POST', '/promote', '{"ids":4}', 'ids must be an array at byte 7'],
    ['POST', '/promote', '{"ids":[4],"force":"yes"}', 'force must be a boolean at byte 19'],
    ['PUT', '/voters', '{}', 'voters is required'],
    [
      'PUT',
      '/voters',
      `{"voters":[${'1,'.repeat(64)}1]}`,
      'voters names more than 64 nodes at byte 10',
    ],
    ['PUT', '/voters?timeoutMs=0', '{}', 'timeoutMs must be an integer from 1 to 120000'],
    ['PUT', '/voters?timeoutMs=120001', '{}', 'timeoutMs must be an integer from 1 to 120000'],
    ['PUT', '/voters?timeoutMs=1e3', '{}', 'timeoutMs must be an integer from 1 to 120000'],
    ['DELETE', '/members/x', '', '`x` is not a node id'],
    ['DELETE', '/members/1.5', '', '`1.5` is not a node id'],
  ])('%s %s %s is refused', async (method, path, body, error) => {
    await start();
    const answer = await send({ method, path, body });
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({ ok: false, code: 'bad_request', error });
    expect(front.service.changes).toEqual([]);
  });

  test.each<[MembershipErrorCode, number, boolean]>([
    ['bad_request', 400, false],
    ['forbidden', 403, false],
    ['in_flight', 409, false],
    ['no_quorum', 409, false],
    ['last_voter', 409, false],
    ['learner_behind', 409, false],
    ['already_voter', 409, false],
    ['address_mismatch', 409, false],
    ['membership_changed', 409, false],
    ['leader_changed', 409, false],
    ['not_a_learner', 409, false],
    ['not_a_member', 409, false],
    ['not_a_voter', 409, false],
    ['leader_unreachable', 503, true],
    ['retry', 503, true],
    ['timeout', 504, false],
  ])('%s is %i', async (code, status, retryAfter) => {
    await start();
    front.service.changed = { kind: 'membership-refused', code, error: 'why "not"' };
    const answer = await send({ method: 'DELETE', path: '/members/4' });
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({ ok: false, code, error: 'why "not"' });
    expect(answer.headers.get('retry-after')).toBe(retryAfter ? '1' : undefined);
    front.service.membershipView = front.service.changed;
    expect((await send({ method: 'GET', path: '' })).status).toBe(status);
  });
});

test('the members, with every field', async () => {
  await start();
  const answer = await send({ method: 'GET', path: '' });
  expect(answer.status).toBe(200);
  const { membership } = front.service.membershipView as { readonly membership: object };
  expect(answer.json).toEqual({ engine: 'raft', membership });
  expect(Object.keys(answer.json.membership)).toEqual([
    'nodeId',
    'source',
    'viewAgeMs',
    'leader',
    'term',
    'voters',
    'learners',
    'joint',
    'membershipIndex',
    'membershipCommitted',
    'changeInFlight',
    'lastLogIndex',
    'committedIndex',
    'liveWithinMs',
    'promoteMaxLag',
    'members',
  ]);
});

describe('a transfer of leadership', () => {
  const ask = async (body: string, query = '', headers = {}) => {
    const path = `/api/v1/system/raft/transfer${query}`;
    const answer = await front.client().request(path, { method: 'POST', body, headers });
    return { status: answer.status, json: JSON.parse(answer.body) };
  };

  test('names the voter, and is answered with leader and term', async () => {
    await start();
    expect(await ask('{"to":2}', '?timeoutMs=500')).toEqual({
      status: 200,
      json: { ok: true, leader: 1, term: 7 },
    });
    expect(front.service.changes).toEqual([
      { change: { kind: 'transfer', node: 2 }, timeoutMs: 500 },
    ]);
  });

  test.each([
    ['', 'to is required'],
    ['{}', 'to is required'],
    ['{"to":null}', 'to is required'],
    ['{"id":2}', 'to is required'],
    ['{"to":"2"}', 'to must be an integer at byte 6'],
    ['{"to":1.5}', 'to must be an integer at byte 6'],
  ])('%s is refused', async (body, error) => {
    await start();
    expect(await ask(body)).toEqual({
      status: 400,
      json: { ok: false, code: 'bad_request', error },
    });
    expect(front.service.changes).toEqual([]);
  });

  test('is refused as a change is, and to every tenant but the default one', async () => {
    await start(true);
    const tenant = '0198aaaa-0000-7000-8000-000000000001';
    expect((await ask('{"to":2}', '', { 'x-svc-tenant': tenant })).status).toBe(403);
    front.service.changed = { kind: 'membership-refused', code: 'not_a_voter', error: 'why' };
    expect(await ask('{"to":4}')).toEqual({
      status: 409,
      json: { ok: false, code: 'not_a_voter', error: 'why' },
    });
  });
});

test('no tenant but the default one has a say', async () => {
  await start(true);
  const routes: Sent[] = [
    { method: 'GET', path: '' },
    { method: 'POST', path: '/learners', body: LEARNER },
    { method: 'POST', path: '/promote', body: '{"id":4}' },
    { method: 'PUT', path: '/voters', body: '{"voters":[1]}' },
    { method: 'DELETE', path: '/members/4' },
  ];
  for (const route of routes) {
    const tenant = '0198aaaa-0000-7000-8000-000000000001';
    const answer = await send(route, { 'x-svc-tenant': tenant });
    expect(answer.status).toBe(403);
    expect(answer.json).toEqual({
      ok: false,
      code: 'forbidden',
      error: 'the raft membership is cell-wide: no tenant but the default one acts on it',
    });
    expect((await send(route, { 'x-svc-tenant': DEFAULT_TENANT })).status).toBe(200);
  }
});

test('random bodies are changes or 400, never anything else', async () => {
  const seed = Number(process.env.SVC_SEED ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed}`);
  let state = seed >>> 0;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)] as Value;
  const words = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"id"',
    '"ids"',
    '"voters"',
    '"raft"',
    '"http"',
    '"force"',
    '"nodeId"',
    'true',
    'false',
    'null',
    '1',
    '-1',
    '0',
    '1e400',
    '99999999999999999999',
    '4',
    '"a:1"',
    '"\\u0000"',
    '"\\ud800"',
    '"é"',
    ' ',
    '\u0000',
    '"',
  ];
  const routes: readonly [string, string][] = [
    ['POST', '/learners'],
    ['POST', '/promote'],
    ['PUT', '/voters'],
    ['DELETE', '/members/4'],
  ];
  await start();
  const client = front.client();
  for (let i = 0; i < 400; i++) {
    const [method, path] = pick(routes);
    const whole = pick([LEARNER, '{"ids":[4,5],"force":true}', '{"voters":[1,2,3]}']);
    const cut = random(whole.length);
    const noise = Array.from({ length: 1 + random(6) }, () => pick(words)).join('');
    const body = pick([whole.slice(0, cut), whole.slice(0, cut) + noise + whole.slice(cut), noise]);
    const force = pick(['', '?force=', '?force=%31', '?timeoutMs=', '?timeoutMs=%', '?x=%00']);
    const answer = await client.request(`${PATH}${path}${force}`, { method, body });
    expect([200, 400], `${method} ${path}${force} ${body}`).toContain(answer.status);
    const json = JSON.parse(answer.body) as { readonly ok: boolean; readonly code?: string };
    expect([json.ok, json.code]).toEqual(
      answer.status === 200 ? [true, undefined] : [false, 'bad_request'],
    );
  }
  expect(front.logged).toEqual([]);
});
