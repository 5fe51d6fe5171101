// Goal: which token is let in as whom, and with which words the others are refused; that no token,
// however made, costs more than a bounded amount. Method: tables of tokens that the platform's own
// cryptography signs, under a clock that the test moves.
import { generateKeyPairSync } from 'node:crypto';
import { type CheckedCaller, ROLE_BITS } from '@svc/http';
import { beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../system/logging.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { seededRandom } from '../testing/recovery.fake.js';
import type { SigningKey } from '../testing/token.fake.js';
import {
  base64url,
  type Claims,
  newSigningKey,
  pemOf,
  privatePemOf,
  tokenOf,
} from '../testing/token.fake.js';
import { TOKEN_ALGORITHMS, type TokenAlgorithm } from './algorithms.js';
import {
  TOKEN_BYTES_MAX,
  TokenAuthenticator,
  type TokenAuthenticatorOptions,
} from './authenticator.js';
import type { KeyMaterial } from './keys.js';

let key: SigningKey;
let other: SigningKey;

beforeAll(() => {
  key = newSigningKey();
  other = { ...newSigningKey(), secret: 'another secret of thirty-two bytes' };
});

interface Bench {
  readonly authenticator: TokenAuthenticator;
  readonly clock: MovedClock;
  readonly logged: string[];
  readonly nowS: number;
}

function bench(
  keys: Partial<KeyMaterial> = {},
  options: Partial<TokenAuthenticatorOptions> = {},
): Bench {
  const clock = new MovedClock();
  const logged: string[] = [];
  const logger = createLogger({ level: 'info', json: false }, (line) => logged.push(line));
  const authenticator = new TokenAuthenticator({
    keys: { algorithm: 'auto', secret: null, publicKey: null, ...keys },
    keySet: null,
    issuer: null,
    audience: null,
    clockSkewSeconds: 30,
    roles: {
      claim: 'role',
      arrayClaim: 'roles',
      names: {
        admin: 'admin',
        'read-write': 'read-write',
        'read-only': 'read-only',
        'write-only': 'write-only',
      },
    },
    clock,
    logger,
    ...options,
  });
  return { authenticator, clock, logged, nowS: Math.floor(clock.wallUs() / 1e6) };
}

const caller = (subject: string | null, roles: number) => ({ kind: 'caller', subject, roles });
const refused = (error: string, status = '401 Unauthorized') => ({
  kind: 'unauthenticated',
  status,
  error,
});

function secretBench(options: Partial<TokenAuthenticatorOptions> = {}): Bench {
  return bench({ algorithm: 'HS256', secret: key.secret }, options);
}

describe('algorithms', () => {
  test.each(TOKEN_ALGORITHMS)(
    '%s is checked with its own key, under its name and auto',
    async (algorithm) => {
      const family = algorithm === 'EdDSA' ? 'ed25519' : 'rsa';
      const material = { secret: key.secret, publicKey: pemOf(key[family]) };
      for (const setting of [algorithm, 'auto'] as const) {
        const { authenticator } = bench({ algorithm: setting, ...material });
        const good = tokenOf(key, algorithm, { sub: 's', role: 'admin' });
        expect(await authenticator.check(`Bearer ${good}`)).toEqual(caller('s', ROLE_BITS.admin));
        const bad = tokenOf(other, algorithm, { sub: 's', role: 'admin' });
        expect(await authenticator.check(bad)).toEqual(refused('Invalid token signature'));
      }
    },
  );

  const ACCEPTED: readonly [TokenAlgorithm, readonly TokenAlgorithm[]][] = [
    ['HS256', ['HS256']],
    ['HS384', ['HS384']],
    ['HS512', ['HS512']],
    ['RS256', ['RS256', 'RS384', 'RS512']],
    ['RS384', ['RS384']],
    ['RS512', ['RS512']],
  ];

  test.each(ACCEPTED)('%s takes %j and no other', async (setting, taken) => {
    const publicKey = pemOf(key.rsa);
    const { authenticator } = bench({ algorithm: setting, secret: key.secret, publicKey });
    for (const algorithm of TOKEN_ALGORITHMS) {
      const verdict = await authenticator.check(tokenOf(key, algorithm, {}));
      const expected = taken.includes(algorithm)
        ? caller(null, 0)
        : refused('Unsupported token algorithm');
      expect(verdict, algorithm).toEqual(expected);
    }
  });

  test('under auto only what there is a key for', async () => {
    const { authenticator } = bench({ publicKey: pemOf(key.ed25519) });
    for (const algorithm of ['HS256', 'RS256'] as const) {
      expect(await authenticator.check(tokenOf(key, algorithm, {}))).toEqual(
        refused('Unsupported token algorithm'),
      );
    }
    expect(await authenticator.check(tokenOf(key, 'EdDSA', {}))).toEqual(caller(null, 0));
  });

  test.each(['none', 'None', 'NONE', 'hs256', 'ES256', 'PS256', 'Ed25519', '', 'HS256 '])(
    'alg %j is refused, signed or not',
    async (alg) => {
      const { authenticator } = bench({ secret: key.secret, publicKey: pemOf(key.rsa) });
      const signed = tokenOf(key, 'HS256', { role: 'admin' }, { alg });
      const unsigned = `${signed.split('.').slice(0, 2).join('.')}.`;
      for (const token of [signed, unsigned]) {
        const verdict = await authenticator.check(token);
        expect(verdict).toEqual(
          refused(alg === '' ? 'Bad token header' : 'Unsupported token algorithm'),
        );
      }
    },
  );

  test('a public key is no secret, in whatever spelling', async () => {
    const pem = pemOf(key.rsa);
    for (const algorithm of ['auto', 'RS256'] as const) {
      const { authenticator } = bench({ algorithm, publicKey: pem });
      for (const secret of [pem, pem.trim(), pem.replaceAll('\n', ''), '']) {
        const forged = tokenOf({ ...key, secret }, 'HS256', { role: 'admin' });
        expect(await authenticator.check(forged)).toEqual(refused('Unsupported token algorithm'));
      }
    }
  });

  test('a key that comes with the token is not looked at', async () => {
    const { authenticator } = bench({ algorithm: 'RS256', publicKey: pemOf(key.rsa) });
    const jwk = other.rsa.export({ format: 'jwk' });
    const forged = tokenOf(other, 'RS256', { role: 'admin' }, { jwk, jku: 'http://x/', kid: 'k' });
    expect(await authenticator.check(forged)).toEqual(refused('Invalid token signature'));
  });
});

describe('keys that cannot be used', () => {
  const fault = (error: string) => refused(error, '500 Internal Server Error');

  test('the contract names them, the log warns, and nobody is let in', async () => {
    const pem = pemOf(key.rsa);
    const cut = `${pem.slice(0, 80)}${pem.slice(90)}`;
    const cases: [Partial<KeyMaterial>, TokenAlgorithm, string][] = [
      [{ algorithm: 'HS256', publicKey: pem }, 'HS256', 'HS secret not configured'],
      [{ algorithm: 'RS256', publicKey: 'no PEM' }, 'RS256', 'invalid RSA public key PEM'],
      [{ algorithm: 'RS256', publicKey: cut }, 'RS512', 'invalid RSA public key PEM'],
      [
        { algorithm: 'RS256', publicKey: pemOf(key.ed25519) },
        'RS256',
        'invalid RSA public key PEM',
      ],
      [
        { algorithm: 'RS256', publicKey: privatePemOf(key.rsa) },
        'RS256',
        'invalid RSA public key PEM',
      ],
      [{ algorithm: 'EdDSA', publicKey: pem }, 'EdDSA', 'invalid Ed public key PEM'],
      [{ algorithm: 'auto', publicKey: 'no PEM' }, 'EdDSA', 'invalid Ed public key PEM'],
      [{ algorithm: 'auto', publicKey: 'no PEM' }, 'RS256', 'invalid RSA public key PEM'],
    ];
    for (const [keys, algorithm, error] of cases) {
      const { authenticator, logged } = bench(keys);
      expect(logged.join('\n')).toContain(error);
      expect(await authenticator.check(tokenOf(key, algorithm, {}))).toEqual(fault(error));
      expect(await authenticator.check('')).toEqual(refused('Authentication required'));
    }
  });

  test('RSA below 2048 bits is none, a certificate is one', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const short = bench({ algorithm: 'RS256', publicKey: pemOf(privateKey) });
    expect(short.logged.join()).toContain('invalid RSA public key PEM');
    expect(bench({ algorithm: 'RS256', publicKey: CERTIFICATE }).logged).toEqual([]);
  });

  test('a short secret is warned about and used', async () => {
    const secret = 'short';
    const { authenticator, logged } = bench({ algorithm: 'HS256', secret });
    expect(logged.join()).toContain('JWT_SECRET has 5 bytes');
    const token = tokenOf({ ...key, secret }, 'HS256', {});
    expect(await authenticator.check(token)).toEqual(caller(null, 0));
  });
});

describe('what stands in the header', () => {
  test('with Bearer in any case, or without it', async () => {
    const { authenticator } = secretBench();
    const token = tokenOf(key, 'HS256', { sub: 's' });
    for (const text of [token, `Bearer ${token}`, `bearer ${token}`, `BEARER   ${token} `]) {
      expect(await authenticator.check(text), text).toEqual(caller('s', 0));
    }
  });

  const NO_TOKENS: readonly [string, string][] = [
    ['', 'Authentication required'],
    ['Bearer', 'Authentication required'],
    ['Bearer ', 'Authentication required'],
    ['x', 'Bad token header'],
    ['Basic dTpw', 'Bad token header'],
    ['Bearer a.b', 'Bad token header'],
    ['Bearer a.b.c.d', 'Bad token header'],
    ['Bearer ..', 'Bad token header'],
    ['Bearer a.b.c', 'Bad token header'],
    ['Bearer é.b.c', 'Bad token header'],
    ['Bearer a b.c.d', 'Bad token header'],
    [`Bearer ${base64url('{"alg":')}.e30.c2ln`, 'Bad token header'],
    [`Bearer ${base64url('[]')}.e30.c2ln`, 'Bad token header'],
    [`Bearer ${base64url('null')}.e30.c2ln`, 'Bad token header'],
    [`Bearer ${base64url('{}')}.e30.c2ln`, 'Bad token header'],
    [`Bearer ${base64url('{"alg":7}')}.e30.c2ln`, 'Bad token header'],
    [`Bearer ${base64url('{"alg":"HS256","crit":["x"],"x":1}')}.e30.c2ln`, 'Bad token header'],
    [`Bearer ${base64url('{"alg":"HS256"}')}.e30.`, 'Invalid token signature'],
    [`Bearer ${base64url('{"alg":"HS256"}')}.e30.a`, 'Invalid token signature'],
  ];

  test.each(NO_TOKENS)('%j is refused: %s', async (text, error) => {
    const { authenticator, logged } = secretBench();
    expect(await authenticator.check(text)).toEqual(refused(error));
    expect(logged).toEqual([]);
  });

  test('what cannot be a token is refused without a promise, however long it is', () => {
    const { authenticator } = secretBench();
    const long = tokenOf(key, 'HS256', { pad: 'x'.repeat(TOKEN_BYTES_MAX) });
    const texts = ['', 'x', long, 'a'.repeat(1e6), '.'.repeat(1e6), `a.b.${'c'.repeat(1e6)}`];
    for (const text of texts) {
      // Other work of the machine may come between, but hardly each time.
      const tookMs = Array.from({ length: 5 }, () => {
        const startMs = performance.now();
        expect(authenticator.check(text)).not.toBeInstanceOf(Promise);
        return performance.now() - startMs;
      });
      expect(Math.min(...tookMs)).toBeLessThan(100);
    }
  });

  test('an unencoded payload is not taken', async () => {
    const { authenticator } = secretBench();
    const token = tokenOf(key, 'HS256', { role: 'admin' }, { b64: false, crit: ['b64'] });
    expect((await authenticator.check(token)).kind).toBe('unauthenticated');
  });
});

describe('claims', () => {
  const TIMES: readonly [string, (nowS: number) => Claims, string | null][] = [
    ['no exp', () => ({}), null],
    ['exp to come', (nowS) => ({ exp: nowS + 1 }), null],
    ['exp within the skew', (nowS) => ({ exp: nowS - 29 }), null],
    ['exp at the skew', (nowS) => ({ exp: nowS - 30 }), 'Token has expired'],
    ['exp long ago', () => ({ exp: 0 }), 'Token has expired'],
    ['exp of a fraction', (nowS) => ({ exp: nowS + 0.5 }), null],
    ['nbf within the skew', (nowS) => ({ nbf: nowS + 30 }), null],
    ['nbf beyond it', (nowS) => ({ nbf: nowS + 31 }), 'Token not yet valid'],
    ['iat within the skew', (nowS) => ({ iat: nowS + 30 }), null],
    ['iat beyond it', (nowS) => ({ iat: nowS + 31 }), 'Token issued in the future'],
  ];

  test.each(TIMES)('%s', async (_name, claims, error) => {
    const { authenticator, nowS } = secretBench();
    const verdict = await authenticator.check(tokenOf(key, 'HS256', { sub: 's', ...claims(nowS) }));
    expect(verdict).toEqual(error === null ? caller('s', 0) : refused(error));
  });

  test('without a skew the second counts', async () => {
    const { authenticator, nowS } = secretBench({ clockSkewSeconds: 0 });
    const check = (claims: Claims) => authenticator.check(tokenOf(key, 'HS256', claims));
    expect(await check({ exp: nowS + 1 })).toEqual(caller(null, 0));
    expect(await check({ exp: nowS })).toEqual(refused('Token has expired'));
    expect(await check({ nbf: nowS + 1 })).toEqual(refused('Token not yet valid'));
  });

  const BAD_TYPES: readonly (Claims | string)[] = [
    { exp: '1e9' },
    { exp: null },
    { exp: [1] },
    { nbf: 'soon' },
    { nbf: {} },
    { iat: 'now' },
    { iat: false },
    { sub: 7 },
    { sub: ['s'] },
    { sub: {} },
    { sub: 'x'.repeat(1025) },
    { sub: 'ü'.repeat(513) },
    '[]',
    'null',
    '"text"',
    '7',
    '{',
    '',
  ];

  test.each(BAD_TYPES)('%j spoils a token', async (claims) => {
    const { authenticator, logged } = secretBench();
    const token = tokenOf(key, 'HS256', claims);
    expect(await authenticator.check(token)).toEqual(
      // Nothing is no part of a token.
      refused(claims === '' ? 'Bad token header' : 'Invalid token claims'),
    );
    expect(logged).toEqual([]);
  });

  test('a subject may be null, absent, empty, or as long as it is stored', async () => {
    const { authenticator } = secretBench();
    const check = (claims: Claims) => authenticator.check(tokenOf(key, 'HS256', claims));
    expect(await check({ sub: null })).toEqual(caller(null, 0));
    expect(await check({ sub: '' })).toEqual(caller('', 0));
    expect(await check({ sub: 'ü'.repeat(512) })).toEqual(caller('ü'.repeat(512), 0));
  });

  const ISSUERS: readonly [Claims, boolean][] = [
    [{ iss: 'me' }, true],
    [{ iss: 'ME' }, false],
    [{ iss: 'me ' }, false],
    [{ iss: ['me'] }, false],
    [{ iss: null }, false],
    [{}, false],
  ];

  test.each(ISSUERS)('issuer %j: %s', async (claims, taken) => {
    const token = tokenOf(key, 'HS256', claims);
    const { authenticator } = secretBench({ issuer: 'me' });
    expect(await authenticator.check(token)).toEqual(
      taken ? caller(null, 0) : refused('Invalid token issuer'),
    );
    expect(await secretBench().authenticator.check(token)).toEqual(caller(null, 0));
  });

  const AUDIENCES: readonly [Claims, boolean][] = [
    [{ aud: 'us' }, true],
    [{ aud: ['them', 'us'] }, true],
    [{ aud: 'them' }, false],
    [{ aud: [] }, false],
    [{ aud: 7 }, false],
    [{ aud: { us: 1 } }, false],
    [{}, false],
  ];

  test.each(AUDIENCES)('audience %j: %s', async (claims, taken) => {
    const token = tokenOf(key, 'HS256', claims);
    const { authenticator } = secretBench({ audience: 'us' });
    expect(await authenticator.check(token)).toEqual(
      taken ? caller(null, 0) : refused('Invalid token audience'),
    );
    expect(await secretBench().authenticator.check(token)).toEqual(caller(null, 0));
  });
});

describe('roles', () => {
  const bits = ROLE_BITS;
  const ROLES: readonly [Claims, number][] = [
    [{}, 0],
    [{ role: 'admin' }, bits.admin],
    [{ role: 'read-only' }, bits['read-only']],
    [{ role: 'write-only' }, bits['write-only']],
    [{ role: 'read-write' }, bits['read-write']],
    [{ role: 'Admin' }, 0],
    [{ role: 'root' }, 0],
    [{ roles: ['admin'] }, bits.admin],
    [{ role: 'read-only', roles: ['write-only', 'x'] }, bits['read-only'] | bits['write-only']],
    [{ role: ['admin'] }, 0],
    [{ role: 8 }, 0],
    [{ roles: 'admin' }, 0],
    [{ roles: { 0: 'admin', length: 1 } }, 0],
    [{ roles: [8, null, ['admin'], { admin: true }] }, 0],
    [{ constructor: 'admin', __proto__: null }, 0],
  ];

  test.each(ROLES)('%j', async (claims, roles) => {
    const { authenticator } = secretBench();
    expect(await authenticator.check(tokenOf(key, 'HS256', claims))).toEqual(caller(null, roles));
  });

  test("claims and names are the operator's", async () => {
    const { authenticator } = secretBench({
      roles: {
        claim: 'https://example.org/role',
        arrayClaim: 'groups',
        names: { admin: 'ops', 'read-write': 'ops', 'read-only': '', 'write-only': 'feeders' },
      },
    });
    const check = (claims: Claims) => authenticator.check(tokenOf(key, 'HS256', claims));
    const both = bits.admin | bits['read-write'];
    expect(await check({ 'https://example.org/role': 'ops' })).toEqual(caller(null, both));
    expect(await check({ groups: ['feeders'] })).toEqual(caller(null, bits['write-only']));
    expect(await check({ role: 'admin', roles: ['admin'] })).toEqual(caller(null, 0));
    expect(await check({ groups: [''], 'https://example.org/role': '' })).toEqual(caller(null, 0));
  });
});

describe('what is remembered', () => {
  test('a second request with a good token is answered in its turn', async () => {
    const { authenticator } = secretBench();
    const token = `Bearer ${tokenOf(key, 'HS256', { sub: 's' })}`;
    expect(authenticator.check(token)).toBeInstanceOf(Promise);
    expect(await authenticator.check(token)).toEqual(caller('s', 0));
    expect(authenticator.check(token)).toEqual(caller('s', 0));
  });

  test('a bad token is checked again each time', async () => {
    const { authenticator } = secretBench();
    const token = tokenOf(other, 'HS256', {});
    for (let i = 0; i < 3; i++) {
      const verdict = authenticator.check(token);
      expect(verdict).toBeInstanceOf(Promise);
      expect(await verdict).toEqual(refused('Invalid token signature'));
    }
  });

  test('a remembered token ends in the second in which a fresh check would end it', async () => {
    const { authenticator, clock, nowS } = secretBench();
    const token = tokenOf(key, 'HS256', { exp: nowS + 10 });
    expect(await authenticator.check(token)).toEqual(caller(null, 0));
    clock.move(39_999);
    expect(authenticator.check(token)).toEqual(caller(null, 0));
    expect(await secretBenchAt(clock).authenticator.check(token)).toEqual(caller(null, 0));
    clock.move(1);
    expect(authenticator.check(token)).toEqual(refused('Token has expired'));
    expect(await secretBenchAt(clock).authenticator.check(token)).toEqual(
      refused('Token has expired'),
    );
  });

  test('requests with one new token share one check', async () => {
    const { authenticator } = secretBench();
    const token = tokenOf(key, 'HS256', {});
    const first = authenticator.check(token);
    for (let i = 0; i < 100; i++) expect(authenticator.check(token)).toBe(first);
    await first;
  });

  test('a token that was not valid yet is let in when it is', async () => {
    const { authenticator, clock, nowS } = secretBench();
    const token = tokenOf(key, 'HS256', { nbf: nowS + 100 });
    expect(await authenticator.check(token)).toEqual(refused('Token not yet valid'));
    clock.move(100_000);
    expect(await authenticator.check(token)).toEqual(caller(null, 0));
  });
});

test('a flood of tokens is refused above its bound, and all is well after it', async () => {
  const { authenticator } = secretBench();
  const verdicts: (CheckedCaller | Promise<CheckedCaller>)[] = [];
  for (let i = 0; i < 1500; i++) verdicts.push(authenticator.check(tokenOf(other, 'HS256', { i })));
  const settled = await Promise.all(verdicts);
  const overloaded = settled.filter(
    ({ kind, ...rest }) => 'status' in rest && rest.status === '503 Service Unavailable',
  );
  expect(overloaded.length).toBe(1500 - 1024);
  const good = await authenticator.check(tokenOf(key, 'HS256', { sub: 's' }));
  expect(good).toEqual(caller('s', 0));
});

// A changed token is refused in the words of the contract, and never as a fault of the node; or it
// is the same token in another spelling: with a space before it, or with other bits to spare in
// the last letter of its signature.
test('no damage to a token lets anybody in', async () => {
  const seed = Number(process.env.SVC_SEED ?? Date.now() % 1_000_000);
  console.log(`SVC_SEED=${seed}`);
  const random = seededRandom(seed);
  const pem = pemOf(key.ed25519);
  const { authenticator, logged, nowS } = bench({ secret: key.secret, publicKey: pem });
  const claims = { sub: 's', role: 'admin', exp: nowS + 60, iat: nowS, nbf: nowS, aud: ['a'] };
  for (let round = 0; round < 3000; round++) {
    const algorithm = random.below(2) === 0 ? 'HS256' : 'EdDSA';
    const token = tokenOf(key, algorithm, { ...claims, round });
    const damaged = damage(random, token);
    const verdict = await authenticator.check(damaged);
    const told = `${damaged} of ${token}`;
    if (verdict.kind === 'caller') {
      expect(sameSignature(damaged.trim(), token), told).toBe(true);
      expect(verdict, told).toEqual(caller('s', ROLE_BITS.admin));
    } else expect(verdict.status, told).toBe('401 Unauthorized');
  }
  expect(logged).toEqual([]);
});

const LETTERS = 'ABCDEFabcdef0189-_.=+/ "{}\0';

function damage(random: ReturnType<typeof seededRandom>, token: string): string {
  const at = random.below(token.length);
  const letter = LETTERS[random.below(LETTERS.length)] ?? '';
  switch (random.below(5)) {
    case 0:
      return token.slice(0, at) + letter + token.slice(at + 1);
    case 1:
      return token.slice(0, at) + letter + token.slice(at);
    case 2:
      return token.slice(0, at) + token.slice(at + 1);
    case 3:
      return token.slice(0, at);
    default: {
      const parts = token.split('.');
      const [one, other] = [random.below(3), random.below(3)];
      [parts[one], parts[other]] = [parts[other] ?? '', parts[one] ?? ''];
      return parts.join('.');
    }
  }
}

function sameSignature(one: string, other: string): boolean {
  const [head, body, signature = ''] = one.split('.');
  const [otherHead, otherBody, otherSignature = ''] = other.split('.');
  const bytes = (text: string) => Buffer.from(text, 'base64url').toString('hex');
  return head === otherHead && body === otherBody && bytes(signature) === bytes(otherSignature);
}

function secretBenchAt(clock: MovedClock): Bench {
  return secretBench({ clock });
}

/** A certificate of an RSA key, signed by itself, for a hundred years. */
const CERTIFICATE = `
-----BEGIN CERTIFICATE-----
MIIDDzCCAfegAwIBAgIUE2vVYIeRRju0BaU+nUSdoTneC0swDQYJKoZIhvcNAQEL
BQAwFjEUMBIGA1UEAwwLdG9rZW5zLnRlc3QwIBcNMjYxMTIyMDE0MTE0WhgPMjEy
NjEwMjkwMTQxMTRaMBYxFDASBgNVBAMMC3Rva2Vucy50ZXN0MIIBIjANBgkqhkiG
9w0BAQEFAAOCAQ8AMIIBCgKCAQEA35zi/yAIkOd4zNIaJT0CUCYgPWg5doE9KHAe
zqVbZWhB/r2yQt5HqPwfsta9EqqYOHM5eoPN5mSpe0n7YnB5TIfbdVMR7FQwFHXw
pTiFGRajq2GaTOKwq5jxj4Eb8ALzv4zrySGqCRVH9q7aQgJdIhaJzZeMjhX3hHiR
B4SlWrGMvoHAPQT2ZV/ygPDpdL4/kcAujKxvLARkAwckewwI2taBgff5IVwSDS5t
3eZYVZkyOAfauWY0pyVlFSsgkuBOdYSrQ+0mVXO9EOq/VpzyULyzsC++A6R5KGte
JUFG29hzjDholNwySmBlsBe3fiRW9ebc0jH4lzP54uYCupheOQIDAQABo1MwUTAd
BgNVHQ4EFgQUMGUdoh8/rNDXvYhHZzehC+1vMeMwHwYDVR0jBBgwFoAUMGUdoh8/
rNDXvYhHZzehC+1vMeMwDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0BAQsFAAOC
AQEApIAGUB2ko9lclvdr61KrOFERtW+HqHJCn99IjDNDWILjMEz3Ri+pJTxwis6A
7+rfrEXldbUwK873chfpCiJJ+iANG6/KFVqNw2nuG0URJlJ3/SKDDe4rRcgBQaih
iRO0m+Wd7nHJOyr/+MhNc0n2U7ADa77Ue9YGHenirvKm6sdlBOf8Wpo/NTYVaVWG
PNgBl+cTaJNLORrvJpUr6k1ST7osIb3Rq3qzXI/Wij0zp193Euww3ZXTUW+5bsoI
IVPPrgViEIn4pNt5uVUuca1cAoeOauHsJQRwIksoag2lFxCbQshvORdkfukD32hS
YQSdopK0DgoB//JBhL/Shbihqw==
-----END CERTIFICATE-----`.trim();
