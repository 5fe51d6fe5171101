// Goal: what a browser sends for a page of another origin is refused, whatever it asks for; what
// programs, the page of the node itself and allowed origins send is let in; probes are not asked.
// Method: heads as browsers make them, on real sockets, against routes that would change something.
import { afterEach, describe, expect, test } from 'vitest';
import type { HttpServerOptions } from '../server/server.js';
import { TestFront, TRANSPORTS } from '../testing/front.fake.js';
import type { RawAnswer, RawRequest } from '../testing/raw-client.fake.js';

const DASHBOARD = new URL('../../dashboard/dist/site', import.meta.url).pathname;

const PUSH = '/api/v1/push';
const POP = '/api/v1/pop/queue/q?autoAck=true';
const BODY = '{"items":[{"queue":"q","payload":1}]}';
const NO_DOOR = { allowedOrigins: [], allowedHosts: [], machineName: null };

let front: TestFront;

async function start(options: Partial<HttpServerOptions> = {}): Promise<void> {
  front = await TestFront.startPushed(options);
}

afterEach(() => front.stop());

function codeOf({ status, body }: RawAnswer): string {
  return `${status} ${body === '' ? '' : (JSON.parse(body).code ?? '')}`.trim();
}

describe.each(TRANSPORTS)('over %s', (over) => {
  async function ask(path: string, request: RawRequest): Promise<RawAnswer> {
    return await front.client(over).request(path, request);
  }

  const CSRF = '403 csrf_rejected';

  describe('pages of other origins', () => {
    const FOREIGN: readonly [string, string, RawRequest][] = [
      [
        'a form or fetch that pushes, to a trustworthy address',
        PUSH,
        {
          body: BODY,
          headers: { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' },
        },
      ],
      [
        'the same to a plain address, where the browser does not say the site',
        PUSH,
        { body: BODY, headers: { Origin: 'http://evil.example', 'Content-Type': 'text/plain' } },
      ],
      ['an <img> that pops', POP, { headers: { 'Sec-Fetch-Site': 'cross-site' } }],
      [
        'a page of another port of this machine',
        PUSH,
        { body: BODY, headers: { Origin: 'http://localhost:3000', 'Sec-Fetch-Site': 'same-site' } },
      ],
      ['a sandboxed frame or a file', PUSH, { body: BODY, headers: { Origin: 'null' } }],
      [
        'a link to the API',
        '/api/v1/resources/queues',
        { headers: { 'Sec-Fetch-Site': 'cross-site' } },
      ],
      [
        'a preflight',
        PUSH,
        {
          method: 'OPTIONS',
          headers: { Origin: 'http://evil.example', 'Access-Control-Request-Method': 'POST' },
        },
      ],
      ['its own name as a prefix', PUSH, { body: BODY, headers: { Origin: 'http://test.evil' } }],
      ['an origin without a host', PUSH, { body: BODY, headers: { Origin: 'http://' } }],
      [
        'a path that no route takes',
        '/api/v1/none',
        { headers: { Origin: 'http://evil.example' } },
      ],
    ];

    test.each(FOREIGN)('%s', async (_name, path, request) => {
      await start();
      const answer = await ask(path, request);
      expect(codeOf(answer)).toBe(CSRF);
      expect(answer.headers.get('access-control-allow-origin')).toBe(undefined);
      expect([...front.service.submitted, ...front.service.pops]).toEqual([]);
    });

    test('tokens make no difference: the browser is refused before its token is read', async () => {
      await start({
        authenticator: {
          check: () => ({ kind: 'unauthenticated', status: '401 Unauthorized', error: 'x' }),
        },
      });
      const headers = { Origin: 'http://evil.example', Authorization: 'Bearer x' };
      expect(codeOf(await ask(PUSH, { body: BODY, headers }))).toBe(CSRF);
    });
  });

  describe('let in', () => {
    const OWN: readonly [string, Readonly<Record<string, string>>][] = [
      ['a program', {}],
      [
        'the page, at a trustworthy address',
        { Origin: 'http://test', 'Sec-Fetch-Site': 'same-origin' },
      ],
      ['the page, at a plain address', { Origin: 'http://test' }],
      ['the page behind a proxy that ends TLS', { Origin: 'https://TEST' }],
      ['the address bar', { 'Sec-Fetch-Site': 'none' }],
    ];

    test.each(OWN)('%s', async (_name, headers) => {
      await start();
      expect((await ask(PUSH, { body: BODY, headers })).status).toBe(201);
    });

    test.each(['/health', '/metrics', '/metrics/prometheus'])('%s is not asked', async (path) => {
      await start({ door: { ...NO_DOOR, machineName: 'here' } });
      const headers = { Origin: 'http://evil.example', 'Sec-Fetch-Site': 'cross-site' };
      expect((await ask(path, { headers })).status).toBe(200);
    });

    test('a link from another page to the dashboard', async () => {
      await start({ dashboardDirectory: DASHBOARD });
      const headers = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
      expect((await ask('/', { headers })).status).toBe(200);
      expect(codeOf(await ask('/', { method: 'POST', headers }))).toBe(CSRF);
    });
  });

  describe('allowed origins', () => {
    const ORIGIN = 'https://tools.example';

    test('may call and read', async () => {
      await start({ door: { ...NO_DOOR, allowedOrigins: ['HTTPS://tools.example'] } });
      const headers = { Origin: ORIGIN, 'Sec-Fetch-Site': 'cross-site' };
      const answer = await ask(PUSH, { body: BODY, headers });
      expect(answer.status).toBe(201);
      expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(answer.headers.get('vary')).toBe('Origin');
      expect(answer.headers.get('access-control-expose-headers')).toContain('Retry-After');
      expect(answer.headers.get('access-control-allow-credentials')).toBe(undefined);
      const refused = await ask('/api/v1/none', { headers });
      expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([
        404,
        ORIGIN,
      ]);
      const other = { ...headers, Origin: 'https://tools.example.evil' };
      expect(codeOf(await ask(PUSH, { body: BODY, headers: other }))).toBe(CSRF);
      // A cache must not give a page the answer of a program, which names no origin.
      expect((await ask(PUSH, { body: BODY })).headers.get('vary')).toBe('Origin');
    });

    test('get the preflight, without a token', async () => {
      await start({
        door: { ...NO_DOOR, allowedOrigins: [ORIGIN] },
        authenticator: {
          check: () => ({ kind: 'unauthenticated', status: '401 Unauthorized', error: 'x' }),
        },
      });
      const answer = await ask(PUSH, {
        method: 'OPTIONS',
        headers: {
          Origin: ORIGIN,
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'authorization, content-type',
        },
      });
      expect(answer.status).toBe(204);
      expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(answer.headers.get('access-control-allow-methods')).toContain('DELETE');
      expect(answer.headers.get('access-control-allow-headers')).toBe(
        'authorization, content-type',
      );
      expect(answer.headers.get('access-control-max-age')).toBe('600');
    });

    test('`*` is all of them, but nothing that names no origin', async () => {
      await start({ door: { ...NO_DOOR, allowedOrigins: ['*'] } });
      const headers = { Origin: 'http://a.example' };
      expect((await ask(PUSH, { body: BODY, headers })).status).toBe(201);
      expect(codeOf(await ask(POP, { headers: { 'Sec-Fetch-Site': 'cross-site' } }))).toBe(CSRF);
    });

    test('an empty answer names the origin too', async () => {
      await start({ door: { ...NO_DOOR, allowedOrigins: [ORIGIN] } });
      const answer = await ask(POP, { headers: { Origin: ORIGIN } });
      expect(answer.status).toBe(204);
      expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    });
  });

  describe('names', () => {
    async function asks(host: string): Promise<string> {
      const client = front.client();
      client.send(`GET /api/v1/none HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      return codeOf(await client.answer());
    }

    const LOOPBACK: readonly [string, boolean][] = [
      ['127.0.0.1:6632', true],
      ['10.1.2.3', true],
      ['[::1]:6632', true],
      ['localhost', true],
      ['LOCALHOST:6632', true],
      ['localhost.:6632', true],
      ['here.example:1', true],
      ['evil.example', false],
      ['evil.example:6632', false],
      ['localhost.evil.example', false],
      ['127.0.0.1.evil.example', false],
      ['[::1].evil', false],
    ];

    test.each(LOOPBACK)('on loopback: %s', async (host, served) => {
      await start({ door: { ...NO_DOOR, machineName: 'Here.example' } });
      for (let i = 0; i < 2; i++) {
        expect(await asks(host)).toBe(served ? '404 no_such_route' : '403 host_not_allowed');
      }
    });

    test('that are listed are the only ones', async () => {
      await start({ door: { ...NO_DOOR, allowedHosts: ['svc.Example'], machineName: 'here' } });
      expect(await asks('SVC.example:80')).toBe('404 no_such_route');
      expect(await asks('localhost')).toBe('403 host_not_allowed');
      expect(await asks('127.0.0.1')).toBe('403 host_not_allowed');
    });

    test('of the page are asked too', async () => {
      await start({
        door: { ...NO_DOOR, machineName: 'here' },
        dashboardDirectory: DASHBOARD,
      });
      expect((await ask('/', {})).status).toBe(403);
    });

    test('many names do not fill the memory', async () => {
      await start({ door: { ...NO_DOOR, machineName: 'here' } });
      const client = front.client();
      for (let i = 0; i < 3000; i++) {
        client.send(`GET /api/v1/none HTTP/1.1\r\nHost: a${i}.example\r\n\r\n`);
        expect((await client.answer()).status).toBe(403);
      }
    });
  });

  describe('headers of answers', () => {
    test('no answer is sniffed', async () => {
      await start({ dashboardDirectory: DASHBOARD });
      for (const path of ['/health', '/', '/api/v1/none', '/assets/none.css', POP]) {
        const { headers } = await ask(path, {});
        expect(headers.get('x-content-type-options'), path).toBe('nosniff');
      }
    });

    test('the page may do little, and is in no frame', async () => {
      await start({ dashboardDirectory: DASHBOARD });
      for (const path of ['/', '/queues/a']) {
        const { headers } = await ask(path, {});
        const policy = headers.get('content-security-policy') ?? '';
        expect(policy).toContain("default-src 'none'");
        expect(policy).toContain("frame-ancestors 'none'");
        expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
        expect(policy).not.toContain('unsafe');
        expect(headers.get('x-frame-options')).toBe('DENY');
        expect(headers.get('referrer-policy')).toBe('no-referrer');
      }
    });
  });
});
