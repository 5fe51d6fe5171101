// Goal: keys come from the provider when they are needed and no more often than that; a provider
// that is away, slow or wrong costs nobody who has a known key. Method: a provider that the test
// plays, under a moved clock; the real fetch against a real server for what it must refuse.
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../system/logging.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import {
  type Claims,
  jwkOf,
  newSigningKey,
  pemOf,
  type SigningKey,
  tokenOf,
} from '../testing/token.fake.js';
import type { TokenAlgorithm } from './algorithms.js';
import { TokenAuthenticator } from './authenticator.js';
import { fetchText } from './key-fetch.js';
import { FETCH_PAUSE_MS, readKeySet } from './key-set.js';

let first: SigningKey;
let second: SigningKey;

beforeAll(() => {
  first = newSigningKey();
  second = newSigningKey();
});

/** Answers when it is told to. */
class Provider {
  readonly clock = new MovedClock();
  readonly logged: string[] = [];
  readonly authenticator: TokenAuthenticator;
  fetches = 0;
  /** null: it is held until `release`. */
  answer: string | Error | null;
  readonly #held: (() => void)[] = [];

  constructor(answer: string | Error | null, publicKey: string | null = null) {
    this.answer = answer;
    this.authenticator = new TokenAuthenticator({
      keys: { algorithm: 'auto', secret: first.secret, publicKey },
      keySet: {
        url: 'http://provider/keys',
        timeoutMs: 5000,
        refreshMs: 3_600_000,
        fetchText: () => this.#fetch(),
      },
      issuer: null,
      audience: null,
      clockSkewSeconds: 30,
      roles: {
        claim: 'role',
        arrayClaim: 'roles',
        names: { admin: 'a', 'read-write': 'b', 'read-only': 'c', 'write-only': 'd' },
      },
      clock: this.clock,
      logger: createLogger({ level: 'info', json: false }, (line) => this.logged.push(line)),
    });
  }

  async #fetch(): Promise<string> {
    this.fetches++;
    while (this.answer === null) {
      await new Promise<void>((resolve) => this.#held.push(resolve));
    }
    if (this.answer instanceof Error) throw this.answer;
    return this.answer;
  }

  release(answer: string | Error): void {
    this.answer = answer;
    for (const resolve of this.#held.splice(0)) resolve();
  }

  /** "in", or the refusal. */
  async outcome(token: string): Promise<string> {
    const verdict = await this.authenticator.check(token);
    return verdict.kind === 'caller' ? 'in' : `${verdict.status.slice(0, 3)} ${verdict.error}`;
  }
}

function setOf(...keys: readonly object[]): string {
  return JSON.stringify({ keys });
}

function signed(key: SigningKey, algorithm: TokenAlgorithm, kid?: string, claims: Claims = {}) {
  return tokenOf(key, algorithm, claims, kid === undefined ? {} : { kid });
}

const AWAY = '503 the keys of JWT_JWKS_URL could not be fetched yet; retry';
const UNKNOWN = '401 Unknown key ID';
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

describe('which key', () => {
  test('by its id, for RSA and Ed25519; secrets are not in it', async () => {
    const provider = new Provider(
      setOf(jwkOf(first.rsa, 'r1'), jwkOf(first.ed25519, 'e1'), jwkOf(second.rsa, 'r2')),
    );
    expect(await provider.outcome(signed(first, 'RS256', 'r1'))).toBe('in');
    expect(await provider.outcome(signed(first, 'RS512', 'r1'))).toBe('in');
    expect(await provider.outcome(signed(second, 'RS256', 'r2'))).toBe('in');
    expect(await provider.outcome(signed(first, 'EdDSA', 'e1'))).toBe('in');
    expect(await provider.outcome(signed(first, 'HS256', 'r1'))).toBe('in');
    expect(await provider.outcome(signed(first, 'RS256', 'r2'))).toBe(
      '401 Invalid token signature',
    );
    expect(await provider.outcome(signed(first, 'RS256', 'e1'))).toBe(UNKNOWN);
    expect(provider.fetches).toBe(1);
  });

  test('a token without an id is good for the only key of its kind', async () => {
    const provider = new Provider(setOf(jwkOf(first.rsa, 'r1'), jwkOf(first.ed25519, 'e1')));
    expect(await provider.outcome(signed(first, 'RS256'))).toBe('in');
    const two = new Provider(setOf(jwkOf(first.rsa, 'r1'), jwkOf(second.rsa, 'r2')));
    expect(await two.outcome(signed(first, 'RS256'))).toBe(UNKNOWN);
  });

  test('what is of no use is left out and counted', async () => {
    const rsa = jwkOf(first.rsa, 'r1');
    const text = setOf(
      rsa,
      { kty: 'oct', kid: 'o', k: 'c2VjcmV0' },
      { kty: 'EC', kid: 'c', crv: 'P-256', x: 'AA', y: 'AA' },
      { ...first.rsa.export({ format: 'jwk' }), kid: 'private' },
      { kty: 'RSA', kid: 'broken', n: 7, e: 'AQAB' },
      { kty: 'RSA', kid: 'empty' },
      { kty: 'OKP', crv: 'X25519', kid: 'x', x: rsa.n },
      jwkOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey, 'short'),
      { ...jwkOf(first.rsa, 'for secrets'), use: 'enc' },
      { ...jwkOf(first.rsa, 'for nothing'), key_ops: ['encrypt'] },
      [],
      null as unknown as object,
    );
    const { keys, left } = readKeySet(text);
    expect(keys.map(({ kid }) => kid)).toEqual(['r1']);
    expect(left).toBe(11);
    const provider = new Provider(text);
    const forged = tokenOf({ ...first, secret: 'secret' }, 'HS256', {}, { kid: 'o' });
    expect(await provider.outcome(forged)).toBe('401 Invalid token signature');
    expect(await provider.outcome(signed(first, 'RS256', 'private'))).toBe(UNKNOWN);
  });

  test.each(['', '[]', '{}', '{"keys":{}}', 'null', '<html>', setOf(...Array(257).fill({}))])(
    'no key set: %.20s',
    (text) => expect(() => readKeySet(text)).toThrow(),
  );

  test('what stands beside a key does not spoil it', async () => {
    const beside = { key_ops: ['verify', 'wrapKey', 7], ext: 'x', x5c: 7, kid: 'r1', alg: 'RS256' };
    const nameless = { ...jwkOf(first.ed25519, ''), kid: 7, alg: null };
    const provider = new Provider(setOf({ ...jwkOf(first.rsa, 'r1'), ...beside }, nameless));
    expect(await provider.outcome(signed(first, 'RS256', 'r1'))).toBe('in');
    expect(await provider.outcome(signed(first, 'RS512', 'r1'))).toBe(UNKNOWN);
    expect(await provider.outcome(signed(first, 'EdDSA'))).toBe('in');
    expect(await provider.outcome(signed(first, 'EdDSA', '7'))).toBe(UNKNOWN);
    expect(provider.logged.join('')).not.toContain('ERROR');
  });

  test('a PEM wins: the set is not even fetched', async () => {
    const provider = new Provider(setOf(jwkOf(second.rsa, 'r2')), pemOf(first.rsa));
    expect(await provider.outcome(signed(first, 'RS256', 'r2'))).toBe('in');
    expect(provider.fetches).toBe(0);
  });
});

describe('when it is fetched', () => {
  test('for an unknown id, once in five seconds over all requests', async () => {
    const provider = new Provider(setOf(jwkOf(first.rsa, 'r1')));
    expect(await provider.outcome(signed(first, 'RS256', 'r1'))).toBe('in');
    provider.answer = setOf(jwkOf(first.rsa, 'r1'), jwkOf(second.rsa, 'r2'));
    expect(await provider.outcome(signed(second, 'RS256', 'r2'))).toBe(UNKNOWN);
    expect(provider.fetches).toBe(1);
    provider.clock.move(FETCH_PAUSE_MS);
    const outcomes = await Promise.all(
      [1, 2, 3].map((n) => provider.outcome(signed(second, 'RS256', 'r2', { n }))),
    );
    expect(outcomes).toEqual(['in', 'in', 'in']);
    expect(provider.fetches).toBe(2);
    for (let n = 0; n < 50; n++) {
      expect(await provider.outcome(signed(second, 'RS256', `no ${n}`))).toBe(UNKNOWN);
    }
    expect(provider.fetches).toBe(2);
  });

  test('again after the interval; who signed with a key that is gone is refused', async () => {
    const provider = new Provider(setOf(jwkOf(first.rsa, 'r1')));
    const token = signed(first, 'RS256', 'r1');
    expect(await provider.outcome(token)).toBe('in');
    provider.answer = setOf(jwkOf(second.rsa, 'r2'));
    provider.clock.move(3_599_999);
    await settled();
    expect(await provider.outcome(token)).toBe('in');
    provider.clock.move(1);
    await settled();
    expect(provider.fetches).toBe(2);
    expect(await provider.outcome(token)).toBe(UNKNOWN);
    expect(await provider.outcome(signed(second, 'RS256', 'r2'))).toBe('in');
  });

  test('a check that began with the old keys is not remembered under the new', async () => {
    const provider = new Provider(setOf(jwkOf(first.rsa, 'r1')));
    await settled();
    provider.answer = setOf(jwkOf(second.rsa, 'r2'));
    const token = signed(first, 'RS256', 'r1');
    const began = provider.outcome(token);
    provider.clock.move(3_600_000);
    await began;
    await settled();
    expect(await provider.outcome(token)).toBe(UNKNOWN);
  });

  test('requests wait for the first fetch', async () => {
    const provider = new Provider(null);
    const outcome = provider.outcome(signed(first, 'RS256', 'r1'));
    expect(await provider.outcome(signed(first, 'HS256'))).toBe('in');
    provider.release(setOf(jwkOf(first.rsa, 'r1')));
    expect(await outcome).toBe('in');
  });

  test('no more of them than a bound', async () => {
    const provider = new Provider(null);
    const outcomes = Array.from({ length: 300 }, (_, n) =>
      provider.outcome(signed(first, 'EdDSA', 'e1', { n })),
    );
    await settled();
    provider.release(setOf(jwkOf(first.ed25519, 'e1')));
    const counted = new Map<string, number>();
    for (const outcome of await Promise.all(outcomes)) {
      counted.set(outcome, (counted.get(outcome) ?? 0) + 1);
    }
    const busy = '503 too many requests wait for the keys of JWT_JWKS_URL; retry';
    expect([counted.get('in'), counted.get(busy)]).toEqual([256, 44]);
  });
});

describe('a provider that fails', () => {
  test('at the start: others are let in; it is tried every five seconds, told once', async () => {
    const provider = new Provider(new Error('connection refused'));
    await settled();
    expect(await provider.outcome(signed(first, 'RS256', 'r1'))).toBe(AWAY);
    expect(await provider.outcome(signed(first, 'HS256'))).toBe('in');
    for (let i = 0; i < 3; i++) {
      provider.clock.move(FETCH_PAUSE_MS);
      await settled();
    }
    expect(provider.fetches).toBe(4);
    expect(provider.logged.filter((line) => line.includes('connection refused')).length).toBe(1);
    provider.answer = setOf(jwkOf(first.rsa, 'r1'));
    provider.clock.move(FETCH_PAUSE_MS);
    await settled();
    expect(await provider.outcome(signed(first, 'RS256', 'r1'))).toBe('in');
  });

  test('later: the keys that are known stay in use', async () => {
    const provider = new Provider(setOf(jwkOf(first.rsa, 'r1')));
    await settled();
    provider.answer = new Error('gone');
    provider.clock.move(3_600_000);
    await settled();
    expect(provider.logged.join('')).toContain('(gone): the keys that were fetched before stay');
    for (let n = 0; n < 3; n++) {
      expect(await provider.outcome(signed(first, 'RS256', 'r1', { n }))).toBe('in');
      provider.clock.move(FETCH_PAUSE_MS);
    }
    expect(await provider.outcome(signed(second, 'RS256', 'r2'))).toBe(UNKNOWN);
  });

  test('later: it is tried every minute until it answers, and then as before', async () => {
    const provider = new Provider(setOf(jwkOf(first.rsa, 'r1')));
    await settled();
    provider.answer = new Error('gone');
    provider.clock.move(3_600_000);
    await settled();
    for (let tries = 3; tries < 6; tries++) {
      provider.clock.move(60_000);
      await settled();
      expect(provider.fetches).toBe(tries);
    }
    provider.answer = setOf(jwkOf(first.rsa, 'r1'));
    provider.clock.move(60_000);
    await settled();
    expect(provider.logged.join('')).toContain('fetched again, as before');
    provider.clock.move(3_599_999);
    expect(provider.fetches).toBe(6);
    provider.clock.move(1);
    expect(provider.fetches).toBe(7);
  });

  test('nothing is fetched after the end', async () => {
    const provider = new Provider(setOf(jwkOf(first.rsa, 'r1')));
    await settled();
    provider.authenticator.close();
    provider.clock.move(10_000_000);
    expect(provider.fetches).toBe(1);
    expect(provider.clock.pending).toBe(0);
  });
});

describe('the real fetch', () => {
  let server: Server;
  let url = '';

  beforeEach(async () => {
    server = createServer((request, response) => {
      if (request.url === '/redirect') response.writeHead(302, { location: '/keys' }).end();
      else if (request.url === '/missing') response.writeHead(404).end('not here');
      else if (request.url === '/huge')
        for (let i = 0; i < 50; i++) response.write('x'.repeat(1e5));
      else if (request.url === '/drip') response.write('{');
      else if (request.url === '/keys') response.end('{"keys":[]}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  test('takes a whole answer', async () => {
    expect(await fetchText(`${url}/keys`, 5000)).toBe('{"keys":[]}');
  });

  test.each(['/redirect', '/missing', '/huge'])('refuses %s', async (path) => {
    await expect(fetchText(`${url}${path}`, 5000)).rejects.toThrow();
  });

  test('gives up in time, whatever the garbage collector takes meanwhile', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    let ended = 0;
    // Once an answer has begun, nothing but the limit holds a request whose sender falls silent.
    for (let i = 0; i < 6; i++) fetchText(`${url}/drip`, 500).catch(() => ended++);
    for (let round = 0; round < 100 && ended < 6; round++) {
      collectGarbage();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(ended).toBe(6);
  });

  test.each(['/silent', '/drip'])('gives %s up in time', async (path) => {
    await expect(fetchText(`${url}${path}`, 50)).rejects.toThrow();
  });
});
