// Goal: a caller is known by key or session, for as long as that is so and no longer, on every
// node. Method: two nodes on one store in memory, with clocks that the test moves.
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import type { FakeClock } from '../base/clock.fake.js';
import { SeededRandom } from '../base/random.fake.js';
import { SYSTEM } from '../records/batch.js';
import { setClusterStatus } from '../records/clusters.js';
import { registerKey, revokeKey } from '../records/keys.js';
import { done, withCluster } from '../records/records.fake.js';
import { CONSOLE_ROLES, grantRole, revokeRole } from '../records/roles.js';
import { revokeSession } from '../records/sessions.js';
import { removeTenant, setTenantStatus } from '../records/tenants.js';
import { createUser, setOperators } from '../records/users.js';
import { StoreUnavailableError } from '../store/kv.js';
import { hashOfKey, isSameSecret, newApiKey } from './api-key.js';
import { Credentials } from './credentials.js';
import { Epochs } from './epochs.js';
import { Invalidation } from './invalidation.js';
import { type SessionTokenOptions, SessionTokens, SigningMaterialError } from './session-tokens.js';

const SECRET = 'a secret of thirty-two letters...';

async function tokensOf(clock: FakeClock, more: Partial<SessionTokenOptions> = {}) {
  const random = new SeededRandom(5);
  return SessionTokens.create({ secret: SECRET, issuer: 'svc-proxy', clock, random, ...more });
}

type World = Awaited<ReturnType<typeof withCluster>>;

async function nodeOf(records: World, isStrict = false) {
  const { clock, store } = records;
  const epochs = new Epochs();
  const tokens = await tokensOf(clock);
  const options = { records, clock, tokens, epochs, graceMs: 600_000, isStrict };
  const credentials = new Credentials(options);
  const onError = (error: unknown) => {
    throw error;
  };
  const invalidation = new Invalidation({ store, clock, epochs, pollMs: 1_000, onError });
  await invalidation.look();
  return { credentials, invalidation, tokens };
}

async function withKey() {
  const records = await withCluster();
  const { plaintext, hash } = newApiKey(records.random);
  const clusterId = records.made.cluster.id;
  const wanted = { clusterId, name: 'ci', keyHash: hash, scopes: ['produce'] as const };
  const { key } = done(await registerKey(records, SYSTEM, wanted));
  return { records, key, presented: { kind: 'key', text: plaintext } as const, clusterId };
}

async function withUser() {
  const records = await withCluster();
  const clusterId = records.made.cluster.id;
  const wanted = {
    tenantId: records.made.tenant.id,
    email: 'a@b',
    roles: [{ clusterId, role: 'viewer' as const }],
    action: 'user_created' as const,
  };
  return { records, clusterId, user: done(await createUser(records, SYSTEM, wanted)) };
}

const session = (token: string) => ({ kind: 'session', token, isCookie: true }) as const;

describe('keys', () => {
  test('have the form of the contract and are known by their hash', async () => {
    const { records, key, presented, clusterId } = await withKey();
    expect(presented.text).toMatch(/^qk_live_[A-Za-z0-9_-]{43}$/);
    expect(key.key_hash).toMatch(/^[0-9a-f]{64}$/);
    const { credentials } = await nodeOf(records);
    const caller = { kind: 'key', keyId: key.id, clusterId, scopes: ['produce'] };
    expect(await credentials.caller(presented)).toEqual(caller);
    expect(credentials.caller(presented), 'in the same turn').toEqual(caller);
    for (const text of [
      `${presented.text}x`,
      presented.text.slice(0, -1),
      'qk_',
      'x'.repeat(999),
    ]) {
      expect(await credentials.caller({ kind: 'key', text })).toBe(null);
    }
  });

  test('that are revoked are refused by another node as soon as it has looked', async () => {
    const { records, key, presented } = await withKey();
    const { credentials, invalidation } = await nodeOf(records);
    await credentials.caller(presented);
    done(await revokeKey(records, SYSTEM, key.id));
    expect(credentials.caller(presented), 'not looked yet').not.toBe(null);
    await invalidation.look();
    expect(await credentials.caller(presented)).toBe(null);
    records.store.down = true;
    await expect(credentials.caller(presented)).rejects.toThrow(StoreUnavailableError);
  });

  test('that are known serve while the store is down, unknown ones never', async () => {
    const { records, presented } = await withKey();
    const { credentials } = await nodeOf(records);
    await credentials.caller(presented);
    records.store.down = true;
    records.clock.advance(300_000);
    expect(await credentials.caller(presented)).not.toBe(null);
    const { plaintext } = newApiKey(records.random);
    const unknown = credentials.caller({ kind: 'key', text: plaintext });
    await expect(unknown).rejects.toThrow(StoreUnavailableError);
    records.clock.advance(400_000);
    await expect(credentials.caller(presented)).rejects.toThrow(StoreUnavailableError);
  });

  test('are noted as used, in one batch', async () => {
    const { records, key } = await withKey();
    const { credentials } = await nodeOf(records);
    credentials.noteUse(key.id);
    records.clock.advance(1_000);
    credentials.noteUse(key.id);
    await credentials.flushUses();
    const row = await records.store.get('px.keys', `#${key.id}`);
    expect(row?.value).toMatchObject({ last_used_at_us: records.clock.wallUs() });
  });
});

describe('clusters', () => {
  test('are found by slug, and a change is seen once a node has looked', async () => {
    const { records, clusterId } = await withKey();
    const { credentials, invalidation } = await nodeOf(records);
    expect(await credentials.clusterBySlug('acme')).toMatchObject({ status: 'active' });
    expect(credentials.clusterBySlug('acme')).toMatchObject({ status: 'active' });
    expect(await credentials.clusterBySlug('none')).toBe(null);
    for (const none of ['', '-', 'ACME', 'a.b', 'ü', 'x'.repeat(64), '../acme']) {
      expect(credentials.clusterBySlug(none), 'in the same turn').toBe(null);
    }
    done(await setClusterStatus(records, SYSTEM, clusterId, 'suspended'));
    await invalidation.look();
    expect(await credentials.clusterBySlug('acme')).toMatchObject({ status: 'suspended' });
    expect(await credentials.clusterById(clusterId)).toMatchObject({ status: 'suspended' });
  });
});

describe('the watch on marks', () => {
  test('looks every second and reads the marks when the counter moved', async () => {
    const { records, clusterId } = await withKey();
    const { invalidation } = await nodeOf(records);
    const { calls } = records.store;
    const before = { ...calls };
    invalidation.start();
    for (let second = 0; second < 3; second++) {
      records.clock.advance(second === 0 ? 0 : 1_000);
      await settle();
    }
    expect(calls.get - before.get).toBe(3);
    expect(calls.getPrefix - before.getPrefix).toBe(0);
    done(await setClusterStatus(records, SYSTEM, clusterId, 'suspended'));
    records.clock.advance(1_000);
    await settle();
    expect(calls.getPrefix - before.getPrefix).toBe(1);
    records.store.down = true;
    records.clock.advance(1_000);
    await settle();
    records.store.down = false;
    const after = calls.get;
    records.clock.advance(1_000);
    await settle();
    expect(calls.get, 'it goes on after a failure').toBe(after + 1);
    invalidation.stop();
    expect(records.clock.waiting).toBe(0);
  });

  test('takes everything for old when it could not look for longer than marks live', async () => {
    const { records, key, presented } = await withKey();
    const { credentials, invalidation } = await nodeOf(records);
    await credentials.caller(presented);
    done(await revokeKey(records, SYSTEM, key.id));
    records.clock.advance(3_700_000);
    await invalidation.look();
    expect(records.store.keys('px.meta').filter((one) => one.startsWith('#inval/'))).toEqual([]);
    expect(await credentials.caller(presented)).toBe(null);
  });
});

describe('sessions', () => {
  test('are a user with a live role and operator flag', async () => {
    const { records, user, clusterId } = await withUser();
    const { credentials, invalidation, tokens } = await nodeOf(records);
    const presented = session(await tokens.sign(user.id, 60));
    expect(await credentials.caller(presented)).toMatchObject({
      kind: 'session',
      userId: user.id,
      clusterId: null,
      isOperator: false,
    });
    expect(credentials.caller(presented), 'in the same turn').toMatchObject({ userId: user.id });
    expect(await credentials.role(user.id, clusterId)).toBe('viewer');
    const raised = { userId: user.id, clusterId, role: 'admin' as const };
    done(await grantRole(records, SYSTEM, raised, CONSOLE_ROLES));
    await setOperators(records, ['a@b']);
    await invalidation.look();
    expect(await credentials.role(user.id, clusterId)).toBe('admin');
    expect(await credentials.caller(presented)).toMatchObject({ isOperator: true });
    const other = { userId: user.id, clusterId, role: 'viewer' as const };
    expect(await grantRole(records, SYSTEM, other, CONSOLE_ROLES)).toHaveProperty('refused');
    expect(await revokeRole(records, SYSTEM, user.id, clusterId, CONSOLE_ROLES)).toHaveProperty(
      'refused',
    );
  });

  test('end by themselves and by a logout', async () => {
    const { records, user } = await withUser();
    const { credentials, invalidation, tokens } = await nodeOf(records);
    const one = session(await tokens.sign(user.id, 60));
    const short = session(await tokens.sign(user.id, 900));
    const caller = await credentials.caller(one);
    await credentials.caller(short);
    const jti = caller?.kind === 'session' ? caller.jti : '';
    const expiresAtUs = records.clock.wallUs() + 60_000_000;
    await revokeSession(records, SYSTEM, { jti, expiresAtUs, tenantId: user.tenant_id });
    await invalidation.look();
    expect(await credentials.caller(one)).toBe(null);
    expect(await credentials.caller(short), 'a bearer lives out its time').not.toBe(null);
    records.clock.advance(900_000);
    expect(await credentials.caller(short)).toBe(null);
  });

  test('of a tenant that was removed ends as soon as a node has looked', async () => {
    const { records, user } = await withUser();
    const { credentials, invalidation, tokens } = await nodeOf(records);
    const presented = session(await tokens.sign(user.id, 600));
    expect(await credentials.caller(presented)).not.toBe(null);
    done(await setTenantStatus(records, SYSTEM, 'acme', 'deleting'));
    await invalidation.look();
    expect(credentials.caller(presented), 'it is there, and who it is').not.toBe(null);
    await removeTenant(records, SYSTEM, 'acme');
    await invalidation.look();
    expect(await credentials.caller(presented)).toBe(null);
  });

  test('a store that is silent is waited for once, not for each row', async () => {
    const { records, user } = await withUser();
    const { credentials, tokens } = await nodeOf(records);
    const presented = session(await tokens.sign(user.id, 600));
    await tokens.verify(presented.token);
    records.store.get = () => new Promise(() => {});
    const asked = credentials.caller(presented);
    records.clock.advance(1_500);
    await expect(asked).rejects.toThrow(StoreUnavailableError);
  });

  test.each([
    ['goes on', false],
    ['is refused in strict mode', true],
  ])('one of which nobody can say whether it was revoked %s', async (_name, isStrict) => {
    const { records, user } = await withUser();
    const { credentials, tokens } = await nodeOf(records, isStrict);
    await credentials.caller(session(await tokens.sign(user.id, 600)));
    const presented = session(await tokens.sign(user.id, 60));
    records.store.down = true;
    const asked = credentials.caller(presented);
    if (isStrict) await expect(asked).rejects.toThrow(StoreUnavailableError);
    else expect(await asked).toMatchObject({ userId: user.id });
  });
});

describe('tokens', () => {
  const pair = () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const privatePem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    return { privatePem, publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
  };

  test('of HMAC and Ed25519 carry the claims of the contract', async () => {
    const { clock } = await withCluster();
    for (const material of [{ secret: SECRET }, pair()]) {
      const tokens = await tokensOf(clock, { audience: 'app.example', ...material });
      const token = await tokens.sign('u', 60, 'c');
      expect(await tokens.verify(token)).toMatchObject({ userId: 'u', clusterId: 'c' });
      const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
      expect(Object.keys(payload).sort()).toEqual(
        ['aud', 'cluster', 'exp', 'iat', 'iss', 'jti', 'role', 'sub'].sort(),
      );
      expect(payload).toMatchObject({ role: 'viewer', iss: 'svc-proxy', aud: 'app.example' });
    }
  });

  test('a public key verifies and does not sign; its set names it by its digest', async () => {
    const { clock } = await withCluster();
    const keys = pair();
    const signing = await tokensOf(clock, keys);
    const verifying = await tokensOf(clock, { secret: '', publicPem: keys.publicPem });
    expect([signing.canSign, verifying.canSign]).toEqual([true, false]);
    expect(await verifying.verify(await signing.sign('u', 60))).toMatchObject({ userId: 'u' });
    expect(verifying.jwks).toEqual(signing.jwks);
    expect(signing.jwks.keys).toMatchObject([{ kty: 'OKP', crv: 'Ed25519' }]);
    expect(signing.jwks.keys[0]?.kid).toMatch(/^[0-9a-f]{32}$/);
    expect(signing.jwks.keys[0]).not.toHaveProperty('d');
    expect((await tokensOf(clock)).jwks).toEqual({ keys: [] });
  });

  test('of another key, algorithm, issuer or audience are none of ours', async () => {
    const { clock } = await withCluster();
    const audience = 'app.example';
    const ours = await tokensOf(clock, { audience });
    const strangers = [
      await tokensOf(clock, { audience, secret: 'another secret of many letters..' }),
      await tokensOf(clock, { audience, ...pair() }),
      await tokensOf(clock, { audience, issuer: 'somebody' }),
      await tokensOf(clock, { audience: 'other.example' }),
      await tokensOf(clock),
    ];
    for (const stranger of strangers) {
      expect(await ours.verify(await stranger.sign('u', 60))).toBe(null);
    }
    const good = await ours.sign('u', 60);
    const [head, payload] = good.split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    for (const bad of [`${none}.${payload}.`, `${head}.${payload}.`, 'a.b.c', 'x', '', '..']) {
      expect(await ours.verify(bad)).toBe(null);
    }
    const nameless = await new SignJWT({})
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer('svc-proxy')
      .setAudience(audience)
      .setSubject('u')
      .setExpirationTime(clock.wallUs() / 1_000_000 + 60)
      .sign(Buffer.from(SECRET));
    expect(await ours.verify(nameless), 'without jti and iat').toBe(null);
    expect(await ours.verify(good)).not.toBe(null);
  });

  test('material that cannot be used says so; none is no logins', async () => {
    const { clock } = await withCluster();
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;
    const privatePem = rsa.export({ type: 'pkcs8', format: 'pem' }).toString();
    for (const material of [
      { privatePem: 'x' },
      { privatePem },
      { ...pair(), ...{ publicPem: pair().publicPem } },
    ]) {
      await expect(tokensOf(clock, material)).rejects.toThrow(SigningMaterialError);
    }
    const none = await tokensOf(clock, { secret: '' });
    expect(none.canSign).toBe(false);
    expect(none.verify('a.b.c')).toBe(null);
  });
});

test('secrets are compared whole, whatever their length', () => {
  expect(isSameSecret('abc', 'abc')).toBe(true);
  expect(isSameSecret('abc', 'abd')).toBe(false);
  expect(isSameSecret('abc', 'abcd')).toBe(false);
  expect(isSameSecret('', 'a')).toBe(false);
  expect(hashOfKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

/** Lets promises go on that nothing but their turn keeps. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}
