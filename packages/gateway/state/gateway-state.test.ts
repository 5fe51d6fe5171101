// Goal: a gateway boots once however many nodes do it and however long the store is away, and
// closes without leaving anything. Method: nodes on one store in memory, with a clock.
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../base/clock.fake.js';
import { SeededRandom } from '../base/random.fake.js';
import { Passwords } from '../credentials/passwords.js';
import { SessionTokens } from '../credentials/session-tokens.js';
import { SYSTEM } from '../records/batch.js';
import { revokeKey } from '../records/keys.js';
import { LayoutError } from '../records/seed.js';
import { findUserByEmail } from '../records/users.js';
import { MemoryStore } from '../store/memory-kv.fake.js';
import { type BootSettings, GatewayState } from './gateway-state.js';

const BOOTSTRAP = {
  tenant: 'acme',
  email: 'admin@localhost',
  password: null,
  plan: 'dev',
  apiKey: 'qk_given',
};
const SETTINGS: BootSettings = { operators: ['ADMIN@localhost'], bootstrap: BOOTSTRAP };

async function node(clock: FakeClock, store: MemoryStore, seed = 1) {
  const random = new SeededRandom(seed);
  const logged: string[] = [];
  const log = (_target: string, text: string, fields = {}) => {
    logged.push(`${text} ${JSON.stringify(fields)}`);
  };
  const tokens = await SessionTokens.create({ secret: 'x', issuer: 'i', clock, random });
  const state = new GatewayState({
    store,
    clock,
    random,
    logger: { error: log, warn: log, info: log },
    tokens,
    passwords: new Passwords(),
    graceMs: 600_000,
    isStrict: false,
    sweepMs: 60_000,
    pollMs: 1_000,
  });
  return { state, logged };
}

/** Lets everything go on that waits for nothing but its turn. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('booting', () => {
  test('three nodes at once make one tenant, and one of them says its key', async () => {
    const clock = new FakeClock();
    const store = new MemoryStore(clock);
    const nodes = await Promise.all([1, 2, 3].map((seed) => node(clock, store, seed * 50)));
    const settings = { ...SETTINGS, bootstrap: { ...BOOTSTRAP, apiKey: null } };
    await Promise.all(nodes.map(({ state }) => state.boot(settings)));
    const said = nodes.flatMap(({ logged }) => logged).filter((line) => line.includes('apiKey'));
    expect(said).toHaveLength(1);
    const key = /qk_live_[\w-]{43}/.exec(said[0] ?? '')?.[0] ?? '';
    for (const { state } of nodes) {
      expect(await state.credentials.caller({ kind: 'key', text: key })).toMatchObject({
        scopes: ['produce', 'consume', 'admin', 'read'],
      });
    }
    const [first] = nodes;
    const before = store.keys('px.ops').length;
    await first?.state.boot(settings);
    expect(store.keys('px.ops'), 'a second boot changes nothing').toHaveLength(before);
    const admin = await findUserByEmail(first?.state.records ?? fail(), 'admin@localhost');
    expect(admin?.value.is_operator).toBe(true);
  });

  test('a key that is given works, and no key is logged', async () => {
    const clock = new FakeClock();
    const { state, logged } = await node(clock, new MemoryStore(clock));
    await state.boot(SETTINGS);
    expect(await state.credentials.caller({ kind: 'key', text: 'qk_given' })).not.toBe(null);
    expect(logged).toEqual(['the bootstrap tenant was made {"tenant":"acme"}']);
  });

  test('waits for a store that does not answer, longer each time', async () => {
    const clock = new FakeClock();
    const store = new MemoryStore(clock);
    const { state, logged } = await node(clock, store);
    store.down = true;
    const booted = state.boot({ operators: null, bootstrap: null });
    for (const delayMs of [200, 400, 800, 1_600, 3_200, 5_000, 5_000]) {
      await settle();
      expect(logged.at(-1)).toContain(`{"retryMs":${delayMs}}`);
      clock.advance(delayMs);
    }
    store.down = false;
    await settle();
    clock.advance(5_000);
    await booted;
    expect(store.keys('px.plans.code')).toHaveLength(4);
  });

  test('ends when the gateway closes', async () => {
    const clock = new FakeClock();
    const store = new MemoryStore(clock);
    const { state } = await node(clock, store);
    store.down = true;
    const booted = state.boot(SETTINGS);
    await settle();
    await state.close();
    await booted;
    expect(clock.waiting).toBe(0);
  });

  test('a later layout ends it', async () => {
    const clock = new FakeClock();
    const store = new MemoryStore(clock);
    const value = { version: 9, imported_rows: 0 };
    await store.batch([{ op: 'put', namespace: 'px.meta', key: '#schema', value }]);
    const { state } = await node(clock, store);
    await expect(state.boot(SETTINGS)).rejects.toThrow(LayoutError);
  });

  test('three nodes at once with settings of their own leave what each of them names', async () => {
    const clock = new FakeClock();
    const store = new MemoryStore(clock);
    const nodes = await Promise.all([1, 2, 3].map((seed) => node(clock, store, seed * 50)));
    await Promise.all(
      nodes.map(({ state }, i) => {
        const bootstrap = { ...BOOTSTRAP, email: `admin${i}@x`, plan: i === 0 ? 'pro' : 'dev' };
        return state.boot({ operators: null, bootstrap: { ...bootstrap, apiKey: `qk_${i}` } });
      }),
    );
    const [tenants, clusters] = [store.keys('px.tenants'), store.keys('px.clusters')];
    expect([tenants.length, clusters.length]).toEqual([1, 1]);
    for (const [i, { state, logged }] of nodes.entries()) {
      const isTold = logged.some((line) => line.includes('the cluster has another plan'));
      const user = await findUserByEmail(state.records, `admin${i}@x`);
      const key = await state.credentials.caller({ kind: 'key', text: `qk_${i}` });
      expect([user === null, key === null], `node ${i}: all or nothing`).toEqual([isTold, isTold]);
    }
  });

  test('another password than the one that is there is told, and none is changed', async () => {
    const clock = new FakeClock();
    const { state, logged } = await node(clock, new MemoryStore(clock));
    const boot = (password: string) =>
      state.boot({ operators: null, bootstrap: { ...BOOTSTRAP, password } });
    const hash = async () =>
      (await findUserByEmail(state.records, BOOTSTRAP.email))?.value.password_hash;
    await boot('the first password');
    const first = await hash();
    await boot('the first password');
    expect(logged).toHaveLength(1);
    await boot('the second password');
    expect(logged.slice(1).join()).toContain('the administrator has another password');
    expect([typeof first, await hash()]).toEqual(['string', first]);
  });

  test('a plan that is not there is told, and the gateway serves', async () => {
    const clock = new FakeClock();
    const { state, logged } = await node(clock, new MemoryStore(clock));
    await state.boot({ operators: null, bootstrap: { ...BOOTSTRAP, plan: 'gold' } });
    expect(logged.at(-1)).toContain('unknown plan gold');
  });
});

test('a key that one node revokes is refused by another within a second', async () => {
  const clock = new FakeClock();
  const store = new MemoryStore(clock);
  const [one, two] = [await node(clock, store, 1), await node(clock, store, 9)];
  await one.state.boot(SETTINGS);
  for (const { state } of [one, two]) state.start();
  clock.advance(0);
  await settle();
  const given = { kind: 'key', text: 'qk_given' } as const;
  const caller = await two.state.credentials.caller(given);
  const keyId = caller?.kind === 'key' ? caller.keyId : '';
  two.state.credentials.noteUse(keyId);
  await one.state.credentials.caller(given);
  await revokeKey(one.state.records, SYSTEM, keyId);
  expect(await one.state.credentials.caller(given), 'where it was revoked, at once').toBe(null);
  clock.advance(1_000);
  await settle();
  expect(await two.state.credentials.caller(given)).toBe(null);
  clock.advance(299_000);
  await settle();
  const row = await store.get('px.keys', `#${keyId}`);
  expect(row?.value, 'its use was written').toHaveProperty('last_used_at_us');
  await Promise.all([one.state.close(), two.state.close()]);
  expect(clock.waiting).toBe(0);
});

test('what ended on the deny-list is swept, and nothing else', async () => {
  const clock = new FakeClock();
  const store = new MemoryStore(clock);
  const { state } = await node(clock, store);
  const namespace = 'px.revoked';
  const nowUs = clock.wallUs();
  const put = (jti: string, inS: number) => ({
    op: 'put' as const,
    namespace,
    key: `#${jti}`,
    value: { jti, expires_at_us: nowUs + inS * 1_000_000 },
  });
  await store.batch([put('ended', 30), put('lasts', 90)]);
  state.start();
  for (const left of [1, 0]) {
    clock.advance(60_000);
    await settle();
    expect(store.keys(namespace)).toHaveLength(left);
  }
  await state.close();
  expect(clock.waiting).toBe(0);
});

function fail(): never {
  throw new Error('there is no node');
}
