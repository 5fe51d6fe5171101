// Goal: no route lets in whom its level keeps out, nor anybody by a token that is not good. Method:
// every route that the front serves, asked over a socket by every role and with every kind of bad
// token; the list of routes and their levels are the front's own, so a new route is walked too.
import { Agent, request as httpRequest } from 'node:http';
import {
  createServer,
  type HttpServer,
  methodsOf,
  ROUTES,
  type Route,
  type Service,
} from '@svc/http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SystemClock } from '../system/clock.js';
import { createLogger } from '../system/logging.js';
import {
  type Claims,
  newSigningKey,
  pemOf,
  type SigningKey,
  tokenOf,
} from '../testing/token.fake.js';
import { TokenAuthenticator } from '../tokens/authenticator.js';

const key: SigningKey = newSigningKey();
const other: SigningKey = newSigningKey();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

let server: HttpServer;
let authenticator: TokenAuthenticator;
let port = 0;

beforeAll(async () => {
  const logger = createLogger({ level: 'off', json: false }, () => {});
  authenticator = new TokenAuthenticator({
    keys: { algorithm: 'EdDSA', secret: null, publicKey: pemOf(key.ed25519) },
    keySet: null,
    issuer: 'issuer',
    audience: 'audience',
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
    clock: new SystemClock(),
    logger,
  });
  server = createServer({ logger: { error: () => {} }, authenticator }, anyService());
  port = await server.listen('127.0.0.1', 0);
});

afterAll(async () => {
  agent.destroy();
  authenticator.close();
  await server.stop(0);
});

/**
 * It has been reached, whatever it is asked, and says so in place of an answer. A route that wants
 * more of it fails, and is answered 500, which nobody is answered who was kept out.
 */
function anyService(): Service {
  const reached = { kind: 'refused', refusal: { reason: 'internal', error: 'reached' } };
  const answer = (...given: unknown[]): unknown => {
    const reply = given.at(-1) as { send?: (outcome: unknown) => void } | undefined;
    reply?.send?.(reached);
    return {};
  };
  return new Proxy({}, { has: () => true, get: () => answer }) as Service;
}

const nowS = Math.floor(Date.now() / 1000);
const good = (claims: Claims): Claims => ({
  iss: 'issuer',
  aud: 'audience',
  exp: nowS + 3600,
  ...claims,
});
const admin = (claims: Claims): string =>
  `Bearer ${tokenOf(key, 'EdDSA', good({ role: 'admin', ...claims }))}`;

const BAD: readonly [string, string, string][] = [
  ['no token', '', 'Authentication required'],
  ['no JWT', 'Bearer token', 'Bad token header'],
  ['expired', admin({ exp: nowS - 3600 }), 'Token has expired'],
  ['wrong signature', `Bearer ${tokenOf(other, 'EdDSA', good({ role: 'admin' }))}`, 'signature'],
  ['another algorithm', tokenOf(key, 'HS256', good({ role: 'admin' })), 'Unsupported'],
  ['not yet valid', admin({ nbf: nowS + 3600 }), 'Token not yet valid'],
  ['issued in the future', admin({ iat: nowS + 3600 }), 'Token issued in the future'],
  ['wrong issuer', admin({ iss: 'another' }), 'Invalid token issuer'],
  ['wrong audience', admin({ aud: 'another' }), 'Invalid token audience'],
];

/** The specification's table, once more and by hand. */
const TAKEN: { readonly [role: string]: readonly Route['level'][] } = {
  nobody: ['public', 'known'],
  'read-only': ['public', 'known', 'read-only'],
  'write-only': ['public', 'known', 'write-only'],
  'read-write': ['public', 'known', 'read-only', 'write-only', 'read-write'],
  admin: ['public', 'known', 'read-only', 'write-only', 'read-write', 'admin'],
};

interface Answer {
  readonly status: number;
  readonly text: string;
}

function ask(route: Route, method: string, authorization: string): Promise<Answer> {
  const path = route.path.replaceAll(/\{[^}]+\}/g, '1');
  const body = route.body === null ? '' : '{}';
  const length = { 'content-length': body.length };
  const headers = authorization === '' ? length : { ...length, authorization };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ agent, port, method, path, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.on('error', reject).end(body);
  });
}

const METHODS = ROUTES.flatMap((route) => {
  const methods = methodsOf(route);
  return methods.map((method) => [method, route.path, route] as const);
});

describe.each(METHODS)('%s %s', (method, _path, route) => {
  const isPublic = route.level === 'public';

  test('roles', async () => {
    for (const [role, levels] of Object.entries(TAKEN)) {
      const answer = await ask(route, method, admin({ role }));
      if (levels.includes(route.level)) {
        expect([401, 403].includes(answer.status), role).toBe(false);
      } else {
        expect(answer.status, role).toBe(403);
        if (method !== 'HEAD') expect(answer.text).toBe('{"error":"Insufficient permissions"}');
      }
    }
  });

  test('bad tokens', async () => {
    for (const [name, authorization, error] of BAD) {
      const answer = await ask(route, method, authorization);
      if (isPublic) expect(answer.status, name).not.toBe(401);
      else {
        expect(answer.status, name).toBe(401);
        const told = route.level === 'known' ? 'auth_required' : error;
        if (method !== 'HEAD') expect(answer.text, name).toContain(told);
      }
    }
  });
});
