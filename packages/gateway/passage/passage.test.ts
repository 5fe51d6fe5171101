// Goal: a request is admitted with what it took, or refused with what the contract says, and what
// was taken comes back. Method: the whole way over the store in memory.
import { ROUTES, Router } from '@svc/http';
import { describe, expect, test } from 'vitest';
import type { Scope } from '../base/access.js';
import { SeededRandom } from '../base/random.fake.js';
import { REFUSALS } from '../base/refusal.js';
import { newApiKey } from '../credentials/api-key.js';
import { Credentials } from '../credentials/credentials.js';
import { Epochs } from '../credentials/epochs.js';
import type { MaybePromise } from '../credentials/known.js';
import { SessionTokens } from '../credentials/session-tokens.js';
import { FakeLimits } from '../limits/limits.fake.js';
import type { Sample } from '../metering/samples.js';
import { Targets } from '../pipeline/targets.js';
import { SYSTEM } from '../records/batch.js';
import { registerKey } from '../records/keys.js';
import { done, withCluster } from '../records/records.fake.js';
import { createUser } from '../records/users.js';
import {
  type Admission,
  type Admitted,
  Passage,
  type PassageConfig,
  type RefusedRequest,
} from './passage.js';

const CONFIG: PassageConfig = {
  sharedHosts: new Set(),
  defaultCluster: null,
  operatorEnabled: false,
  devInsecure: false,
  isEnforced: true,
  bodyBytesMax: 1_000,
  upstreamTimeoutMs: 35_000,
  longPollMarginMs: 10_000,
  longPollMaxMs: 90_000,
  cookieNames: ['svc_session'],
  controlPlaneToken: 'secret',
};

const targets = new Targets(ROUTES, new Router(ROUTES));

interface Sent {
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
  /** True once the client has gone. */
  readonly isGone?: () => boolean;
}

async function gateway(more: Partial<PassageConfig> = {}, planCode = 'pro') {
  const records = await withCluster('acme', planCode);
  const { clock, made, random } = records;
  const clusterId = made.cluster.id;
  const tokens = await SessionTokens.create({
    secret: 'x'.repeat(32),
    issuer: 'svc-proxy',
    clock,
    random: new SeededRandom(3),
  });
  const keyOf = async (...scopes: Scope[]) => {
    const { plaintext, hash } = newApiKey(random);
    done(await registerKey(records, SYSTEM, { clusterId, name: 'k', keyHash: hash, scopes }));
    return plaintext;
  };
  const roles = [{ clusterId, role: 'producer' as const }];
  const user = { tenantId: made.tenant.id, email: 'a@b', roles, action: 'user_created' as const };
  const token = await tokens.sign(done(await createUser(records, SYSTEM, user)).id, 600);
  const limits = new FakeLimits();
  const samples: Sample[] = [];
  const told: string[] = [];
  const epochs = new Epochs();
  const passage = new Passage({
    credentials: new Credentials({
      records,
      clock,
      tokens,
      epochs,
      graceMs: 600_000,
      isStrict: false,
    }),
    limits,
    meter: {
      add: (sample) => void samples.push(sample),
      whenWritten: (send) => {
        told.push(`written ${samples.length}`);
        send();
      },
    },
    clock,
    config: { ...CONFIG, ...more },
    learn: async (_cluster, destinations) => {
      told.push(`learn ${destinations.map(({ queue }) => queue).join()}`);
      limits.isKnown = true;
    },
    onShadow: (_cluster, { refusal }) => void told.push(`shadow ${refusal.error}`),
    onUnreadable: ({ target }) => void told.push(`unreadable ${target.at}`),
  });
  const call = (method: string, url: string, sent: Sent = {}) => {
    const { headers = {}, body = '', isGone = () => false } = sent;
    const [path = '', query = ''] = url.split('?');
    const target = targets.of(method, path);
    if (target.kind !== 'route') throw new Error('no route');
    const all: { readonly [name: string]: string } = { host: 'acme.example', ...headers };
    const header = (name: string) => all[name];
    const bytes = Buffer.from(body);
    const incoming = {
      path,
      query,
      header,
      get isOver() {
        return isGone();
      },
    };
    return withBody(passage.admit(incoming, target), bytes);
  };
  const key = await keyOf('produce', 'consume', 'read', 'admin');
  const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
  return { records, passage, limits, samples, told, call, key, keyOf, bearer, token };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
type Decided = Admitted | RefusedRequest;

/** As a listener does: the body is handed over when it is asked for, and refused if too long. */
function withBody(admission: MaybePromise<Admission>, body: Buffer): MaybePromise<Decided> {
  if (admission instanceof Promise) return admission.then((one) => withBody(one, body));
  if (admission.kind !== 'body') return admission;
  expect(admission.owner).toMatch(UUID);
  if (body.length <= admission.bytesMax) return withBody(admission.goOn(body), body);
  return { kind: 'refused', refusal: REFUSALS.bodyTooLarge };
}

function admitted(result: Decided): Admitted {
  if (result.kind === 'refused') throw new Error(`refused: ${result.refusal.error}`);
  return result;
}

const PUSH = JSON.stringify({
  items: [
    { queue: 'a', payload: 1 },
    { queue: 'b', payload: 2 },
  ],
});

test('a push passes its limits in their order, and is counted by its answer', async () => {
  const { call, key, bearer, limits, samples, told } = await gateway();
  const sent = { headers: bearer(key), body: PUSH };
  const push = admitted(await call('POST', '/api/v1/push', sent));
  expect(limits.asked).toEqual(['request', 'sizes 2', 'admit 2', 'messages 2']);
  expect(push.body?.toString()).toBe(PUSH);
  expect(push).toMatchObject({ countsAnswer: true, timeoutMs: 35_000 });
  const answer = Buffer.from('[{"status":"queued"},{"status":"duplicate"}]');
  const answered = { status: 201, bytesIn: PUSH.length, bytesOut: answer.length, body: answer };
  push.finish(answered);
  push.finish(answered);
  expect(samples).toMatchObject([{ op: 'push', reqs: 1, msgs: 1, bytesIn: PUSH.length }]);
  push.whenCounted(() => told.push('sent'));
  expect(told).toEqual(['written 1', 'sent']);
});

test('a large answer is counted in parts, and sent when it is counted', async () => {
  const { call, key, bearer, samples, told, records } = await gateway();
  const pop = admitted(await call('GET', '/api/v1/pop/queue/a', { headers: bearer(key) }));
  const message = JSON.stringify({ payload: 'x'.repeat(1_000) });
  const body = Buffer.from(`{"messages":[${Array(300).fill(message).join()}]}`);
  pop.finish({ status: 200, bytesIn: 0, bytesOut: body.length, body });
  pop.whenCounted(() => told.push('sent'));
  let turns = 0;
  for (; told.length === 0; turns++) {
    expect(samples).toEqual([]);
    records.clock.advance(0);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(turns).toBe(4);
  expect(samples).toMatchObject([{ op: 'delivery', msgs: 300 }]);
  expect(told).toEqual(['written 1', 'sent']);
});

test('a large body is let go of when its client goes', async () => {
  const { call, key, bearer, records, limits } = await gateway({ bodyBytesMax: 1_000_000 });
  const headers = bearer(key);
  const item = JSON.stringify({ queue: 'a', payload: 'x'.repeat(1_000) });
  const body = `{"items":[${Array(300).fill(item).join()}]}`;
  await call('POST', '/api/v1/ack', { headers });
  const limited = ['sizes 300', 'admit 1', 'messages 300'];
  for (const [goesAt, endsAt, kind, asked] of [
    [9, 4, 'admitted', limited],
    [1, 2, 'refused', []],
  ] as const) {
    limits.asked.length = 0;
    let [turns, isEnded] = [0, false];
    const decided = call('POST', '/api/v1/push', { headers, body, isGone: () => turns >= goesAt });
    void Promise.resolve(decided).then(() => {
      isEnded = true;
    });
    for (; !isEnded; turns++) {
      records.clock.advance(0);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect([turns, (await decided).kind]).toEqual([endsAt, kind]);
    expect(limits.asked.slice(1)).toEqual(asked);
  }
});

test('once all is known a request is decided in its turn', async () => {
  const { call, key, bearer } = await gateway();
  const headers = bearer(key);
  await call('POST', '/api/v1/ack', { headers });
  expect(call('POST', '/api/v1/ack', { headers })).toMatchObject({ kind: 'admitted', body: null });
  const sent = { headers, body: PUSH };
  expect(call('POST', '/api/v1/push', sent)).toMatchObject({ kind: 'admitted' });
});

test('a session acts with the role that it has', async () => {
  const { call, token } = await gateway();
  const headers = { cookie: `svc_session=${token}` };
  admitted(await call('POST', '/api/v1/push', { headers, body: PUSH }));
  expect(await call('POST', '/api/v1/ack', { headers })).toMatchObject({
    refusal: {
      status: 403,
      code: 'forbidden',
      error: 'operation not permitted for this credential',
    },
  });
  const page = { ...headers, 'sec-fetch-mode': 'navigate' };
  expect(await call('GET', '/api/v1/resources/queues', { headers: page })).toMatchObject({
    refusal: { status: 401, error: 'missing bearer credential' },
  });
});

describe('a pop that waits', () => {
  const POP = '/api/v1/pop/queue/a';

  test('takes a place and gives it back, once', async () => {
    const { call, key, bearer, limits } = await gateway();
    const pop = admitted(await call('GET', `${POP}?wait=true`, { headers: bearer(key) }));
    expect(limits.parked).toBe(1);
    const answer = Buffer.from('{"messages":[{},{},{}]}');
    pop.finish({ status: 200, bytesIn: 0, bytesOut: 1, body: answer });
    pop.finish(null);
    expect(limits.parked).toBe(0);
    expect(limits.asked.at(-1)).toBe('delivered 3');
    const gone = admitted(await call('GET', `${POP}?wait=true`, { headers: bearer(key) }));
    gone.finish(null);
    expect(limits.parked).toBe(0);
  });

  test.each<[string, number, number]>([
    ['', 0, 35_000],
    ['?wait=false', 0, 35_000],
    ['?wait=true', 1, 40_000],
    ['?w%61it=%74rue&timeout=5000', 1, 15_000],
    ['?wait=true&timeout=999999', 1, 100_000],
    ['?wait=true&timeout=18446744073709551615', 1, 100_000],
    ['?wait=false&wait=true', 1, 40_000],
    ['?wait=true&wait=false', 0, 35_000],
  ])('%s', async (query, parked, timeoutMs) => {
    const { call, key, bearer, limits } = await gateway();
    const pop = admitted(await call('GET', POP + query, { headers: bearer(key) }));
    expect([limits.parked, pop.timeoutMs]).toEqual([parked, timeoutMs]);
  });

  test('is refused where there is no place, and in shadow mode goes without one', async () => {
    const strict = await gateway();
    strict.limits.deny('park');
    const headers = strict.bearer(strict.key);
    expect(await strict.call('GET', `${POP}?wait=true`, { headers })).toMatchObject({
      refusal: { status: 429 },
    });
    const shadow = await gateway({ isEnforced: false });
    shadow.limits.deny('park');
    const sent = { headers: shadow.bearer(shadow.key) };
    admitted(await shadow.call('GET', `${POP}?wait=true`, sent)).finish(null);
    expect(shadow.told).toEqual(['shadow park']);
    expect(shadow.limits.parked).toBe(0);
  });
});

describe('shadow mode', () => {
  test.each(['request', 'admit', 'messages'])('tells of %s, and lets it pass', async (name) => {
    const { call, key, bearer, limits, told } = await gateway({ isEnforced: false });
    limits.deny(name);
    admitted(await call('POST', '/api/v1/push', { headers: bearer(key), body: PUSH }));
    expect(told).toEqual([`shadow ${name}`]);
  });

  test('holds sizes and blocks', async () => {
    const { call, key, bearer, limits } = await gateway({ isEnforced: false });
    const sent = { headers: bearer(key), body: PUSH };
    limits.deny('sizes', false);
    expect(await call('POST', '/api/v1/push', sent)).toMatchObject({ refusal: { error: 'sizes' } });
    limits.block = 'storage';
    expect(await call('POST', '/api/v1/push', sent)).toMatchObject({
      refusal: { code: 'storage_quota_exceeded' },
    });
  });
});

test('what is denied by a limit asks no later one', async () => {
  const { call, key, bearer, limits } = await gateway();
  limits.deny('admit');
  await call('POST', '/api/v1/push', { headers: bearer(key), body: PUSH });
  expect(limits.asked).toEqual(['request', 'sizes 2', 'admit 2']);
});

test('the broker is asked about unknown queues, but not for a body that is too large', async () => {
  const { call, key, bearer, limits, told } = await gateway();
  limits.isKnown = false;
  limits.deny('sizes', false);
  const sent = { headers: bearer(key), body: PUSH };
  expect(await call('POST', '/api/v1/push', sent)).toMatchObject({ refusal: { error: 'sizes' } });
  expect(told).toEqual([]);
  limits.denies.clear();
  admitted(await call('POST', '/api/v1/push', sent));
  admitted(await call('POST', '/api/v1/push', sent));
  expect(told).toEqual(['learn a,b']);
});

test('a configure is held to retention and admission', async () => {
  const { call, key, bearer, limits } = await gateway();
  const body = '{"queue":"a","options":{"retentionSeconds":5}}';
  admitted(await call('POST', '/api/v1/configure', { headers: bearer(key), body }));
  expect(limits.asked).toEqual(['request', 'retention 5', 'admit 1']);
});

test.each([
  '/api/v1/dlq/0193f2a0-7b1c-7000-8000-000000000001/replay',
  '/api/v1/messages/1/t/retry',
])('%s is held to admission where it names a queue', async (path) => {
  const { call, key, bearer, limits } = await gateway();
  const headers = bearer(key);
  admitted(await call('POST', path, { headers, body: '{"queue":"a"}' }));
  admitted(await call('POST', path, { headers, body: '' }));
  expect(limits.asked).toEqual(['request', 'admit 1', 'request']);
});

test('scheduled timers are held to what pushes are, cancelled ones are not', async () => {
  const { call, key, bearer, limits, told } = await gateway();
  const timer = { queue: 'a', timerKey: 'k' };
  const headers = bearer(key);
  const ask = (op: string, at = '/api/v1/timers', member = 'operations') =>
    call('POST', at, { headers, body: JSON.stringify({ [member]: [{ op, ...timer }] }) });
  limits.isKnown = false;
  admitted(await ask('schedule'));
  expect(told).toEqual(['learn a']);
  limits.isKnown = true;
  admitted(await ask('schedule', '/api/v1/transaction', 'timers'));
  const each = ['request', 'sizes 1', 'admit 1', 'messages 1'];
  expect(limits.asked).toEqual(['request', 'sizes 1', ...each.slice(1), ...each]);
  limits.asked.length = 0;
  limits.block = 'storage';
  admitted(await ask('cancel'));
  expect(limits.asked).toEqual(['request']);
});

test('a cycle is blocked for what it pushes alone', async () => {
  const { call, key, bearer, limits } = await gateway();
  limits.block = 'monthly';
  const headers = bearer(key);
  admitted(await call('POST', '/streams/v1/cycle', { headers, body: '{"push_items":[]}' }));
  const body = '{"push_items":[{"queue":"a"}]}';
  expect(await call('POST', '/streams/v1/cycle', { headers, body })).toMatchObject({
    refusal: { code: 'quota_exceeded' },
  });
});

test('a transaction uses what the plan has, in shadow mode too', async () => {
  const { call, key, bearer, records } = await gateway({ isEnforced: false });
  const id = (await records.store.get('px.plans.code', '#pro'))?.value;
  const plan = await records.store.get('px.plans', `#${id}`);
  const value = { ...(plan?.value as object), features: { timers: true } };
  await records.store.batch([{ op: 'put', namespace: 'px.plans', key: `#${id}`, value }]);
  const headers = bearer(key);
  const kv = '{"operations":[],"kv":[{"op":"get","ns":"a","key":"b"}]}';
  const timers = '{"timers":[{"op":"cancel","queue":"q","timerKey":"k"}],"kv":[]}';
  expect(await call('POST', '/api/v1/transaction', { headers, body: kv })).toMatchObject({
    refusal: { status: 403, code: 'feature_gated', error: 'not in your plan' },
  });
  admitted(await call('POST', '/api/v1/transaction', { headers, body: timers }));
});

describe('bodies', () => {
  test('that cannot be read go on, for the front refuses them', async () => {
    const { call, key, bearer, limits } = await gateway();
    admitted(await call('POST', '/api/v1/push', { headers: bearer(key), body: '{"items":' }));
    expect(limits.asked).toEqual(['request']);
  });

  test.each(['content-length', 'x'])('that are too large are refused (%s)', async (name) => {
    const { call, key, bearer } = await gateway();
    const body = ' '.repeat(1_001);
    const headers = { ...bearer(key), [name]: '1001' };
    expect(await call('POST', '/api/v1/push', { headers, body })).toMatchObject({
      refusal: { status: 413, error: 'request body exceeds cap' },
    });
  });

  test('of strangers are not read', async () => {
    const { call } = await gateway();
    const result = await call('POST', '/api/v1/push', { body: ' '.repeat(1_001) });
    expect(result).toMatchObject({ refusal: { status: 401 } });
  });

  test('of key/value are read where the plan has none, for the books of the facade', async () => {
    const { call, keyOf, bearer, records } = await gateway();
    const body = '[{"op":"put","ns":"svc-kafka","key":"qk:a","value":1,"forever":true}]';
    const headers = bearer(await keyOf('consume'));
    const slug = '#acme';
    const id = (await records.store.get('px.clusters.slug', slug))?.value;
    const row = await records.store.get('px.plans.code', '#pro');
    const plan = await records.store.get('px.plans', `#${row?.value}`);
    const value = { ...(plan?.value as object), features: {} };
    const key = `#${row?.value}`;
    await records.store.batch([{ op: 'put', namespace: 'px.plans', key, value }]);
    expect(id).toBeDefined();
    expect(admitted(await call('POST', '/api/v1/kv', { headers, body })).isFacade).toBe(true);
    const other = body.replace('svc-kafka', 'mine');
    expect(await call('POST', '/api/v1/kv', { headers, body: other })).toMatchObject({
      refusal: { code: 'feature_gated', error: 'not in your plan' },
    });
  });
});

describe('while the store does not answer', () => {
  test('known callers are served, unknown ones get 503 and never in', async () => {
    const { call, key, keyOf, bearer, records } = await gateway();
    const unseen = await keyOf('consume');
    await call('POST', '/api/v1/ack', { headers: bearer(key) });
    records.store.down = true;
    records.clock.advance(60_000);
    admitted(await call('POST', '/api/v1/ack', { headers: bearer(key) }));
    expect(await call('POST', '/api/v1/ack', { headers: bearer(unseen) })).toMatchObject({
      refusal: { status: 503, code: 'unavailable', retryAfterS: 1 },
    });
  });
});

test('metrics answer the token of the control plane alone', async () => {
  const { call, key, bearer } = await gateway();
  const closed = { refusal: { status: 404, code: 'route_blocked', error: 'not available' } };
  for (const headers of [{}, bearer(key), bearer('secre'), { 'x-svc-cp-token': 'secret ' }]) {
    expect(await call('GET', '/metrics', { headers })).toMatchObject(closed);
  }
  for (const headers of [bearer('secret'), { 'x-svc-cp-token': 'secret' }]) {
    expect(admitted(await call('GET', '/metrics/prometheus', { headers })).passed.cluster).toBe(
      null,
    );
  }
  const off = await gateway({ controlPlaneToken: null });
  expect(await off.call('GET', '/metrics', { headers: bearer('') })).toMatchObject(closed);
});

test('/health asks for nothing, and nothing is asked for it', async () => {
  const { call, limits, samples, records } = await gateway();
  records.store.down = true;
  admitted(await call('GET', '/health', { headers: { host: 'x' } })).finish(null);
  expect([limits.asked, samples]).toEqual([[], []]);
});
