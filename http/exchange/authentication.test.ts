// Goal: with tokens checked, nobody gets further than their level, nothing of a request is lost
// while its caller is found out, and nobody unknown holds memory. Method: real sockets, a fake
// service, and an authenticator that answers at once or when the test says.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PushCommand } from '@svc/engine';
import { afterEach, describe, expect, test } from 'vitest';
import type { HttpServerOptions } from '../server/server.js';
import { TestFront, TRANSPORTS, until } from '../testing/front.fake.js';
import type { Authenticator, CheckedCaller, Unauthenticated } from './access-level.js';
import { ROLE_BITS, type Role } from './access-level.js';
import { countedBytes } from './body-budget.js';

const NOBODY: Unauthenticated = {
  kind: 'unauthenticated',
  status: '401 Unauthorized',
  error: 'Authentication required',
};

/** `<role> <subject>` is let in at once; `later ...` waits for `decide`. */
class FakeAuthenticator implements Authenticator {
  readonly asked: string[] = [];
  readonly #waiting: (() => void)[] = [];

  check(authorization: string): CheckedCaller | Promise<CheckedCaller> {
    this.asked.push(authorization);
    if (!authorization.startsWith('later ')) return verdictOf(authorization);
    return new Promise((resolve) => {
      this.#waiting.push(() => resolve(verdictOf(authorization.slice(6))));
    });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  decide(): void {
    for (const decide of this.#waiting.splice(0)) decide();
  }
}

function verdictOf(text: string): CheckedCaller {
  const [role = '', subject = null] = text.split(' ');
  if (role === 'broken') {
    return { ...NOBODY, status: '500 Internal Server Error', error: 'HS secret not configured' };
  }
  if (role === 'busy') return { ...NOBODY, status: '503 Service Unavailable', error: 'busy' };
  if (!(role in ROLE_BITS)) return NOBODY;
  return { kind: 'caller', subject, roles: ROLE_BITS[role as Role] };
}

let front: TestFront;
let authenticator: FakeAuthenticator;

async function start(options: Partial<HttpServerOptions> = {}): Promise<void> {
  authenticator = new FakeAuthenticator();
  front = await TestFront.start({ authenticator, ...options });
  front.service.onSubmit = (command, reply) => {
    if (command.kind !== 'push') return;
    const count = command.itemGroup.length;
    reply.send({
      kind: 'pushed',
      status: new Uint8Array(count),
      messageIds: Array<string>(count).fill('00000000-0000-7000-8000-000000000000'),
    });
  };
}

afterEach(() => front.stop());

const PUSH = { method: 'POST', body: '{"items":[{"queue":"q","payload":1}]}' } as const;

function as(authorization: string): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { Authorization: authorization } };
}

function pushes(): PushCommand[] {
  return front.service.submitted as PushCommand[];
}

function bodyOf(bytes: number): string {
  return `{"items":[{"queue":"q","payload":"${'x'.repeat(bytes)}"}]}`;
}

describe.each(TRANSPORTS)('over %s', (over) => {
  describe('what is answered', () => {
    test('a key that cannot be used: 500; keys that are not there yet: 503', async () => {
      await start();
      const client = front.client(over);
      const broken = await client.request('/api/v1/push', { ...PUSH, ...as('broken') });
      expect([broken.status, broken.body]).toEqual([500, '{"error":"HS secret not configured"}']);
      const busy = await client.request('/api/v1/push', { ...PUSH, ...as('busy') });
      expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '1']);
    });

    test('who is let in is named to the route', async () => {
      await start();
      const client = front.client(over);
      for (const authorization of ['write-only me', 'later admin you', 'read-write']) {
        const answer = client.request('/api/v1/push', { ...PUSH, ...as(authorization) });
        if (authorization.startsWith('later')) {
          await until(() => authenticator.waiting === 1);
          authenticator.decide();
        }
        expect((await answer).status).toBe(201);
      }
      expect(pushes().map(({ producerSub }) => producerSub)).toEqual(['me', 'you', null]);
    });
  });

  describe('paths that no route takes', () => {
    test.each([
      ['GET', '/api/v1/unknown', 404],
      ['POST', '/api/v1/unknown', 404],
      ['GET', '/api/v1/push', 404],
      ['DELETE', '/streams/x', 404],
      ['GET', '/internal/queues', 404],
      ['POST', '/anything', 404],
      ['GET', '/api/v1/pop/queue/%zz', 400],
    ])('%s %s needs a token that reads and writes', async (method, path, status) => {
      await start();
      const client = front.client(over);
      const statusFor = async (authorization: string) =>
        (await client.request(path, { method, ...as(authorization) })).status;
      expect(await statusFor('')).toBe(401);
      expect(await statusFor('read-only')).toBe(403);
      expect(await statusFor('write-only')).toBe(403);
      expect(await statusFor('read-write')).toBe(status);
      expect(await statusFor('admin')).toBe(status);
    });

    test.each([
      ['POST', '/health', 404],
      ['DELETE', '/', 404],
      ['GET', '/assets/none.js', 404],
      ['POST', '/auth/login', 404],
    ])("%s %s is nobody's secret", async (method, path, status) => {
      await start();
      expect((await front.client(over).request(path, { method })).status).toBe(status);
      expect(authenticator.asked).toEqual([]);
    });
  });

  describe('the dashboard', () => {
    let directory = '';

    afterEach(() => rmSync(directory, { recursive: true }));

    test('its files are public, and its page under every path that no route takes', async () => {
      directory = mkdtempSync(join(tmpdir(), 'dashboard-'));
      mkdirSync(join(directory, 'assets'));
      writeFileSync(join(directory, 'index.html'), '<html>');
      writeFileSync(join(directory, 'app.js'), 'app');
      writeFileSync(join(directory, 'assets', 'a.css'), 'css');
      await start({ dashboardDirectory: directory });
      const client = front.client(over);
      for (const path of ['/', '/app.js', '/assets/a.css', '/favicon.svg']) {
        expect((await client.request(path)).status, path).toBe(200);
      }
      expect((await client.request('/', { method: 'HEAD' })).status).toBe(200);
      for (const path of ['/queues', '/queues/a%20b', '/auth/keys']) {
        const page = await client.request(path);
        expect([page.status, page.body], path).toEqual([200, '<html>']);
      }
      expect((await client.request('/queues', { method: 'POST' })).status).toBe(401);
      expect((await client.request('/api/v1/queues')).status).toBe(401);
      expect((await client.request('/assets/none.js')).status).toBe(404);
    });

    test('who it is for', async () => {
      directory = mkdtempSync(join(tmpdir(), 'dashboard-'));
      await start();
      const refused = await front.client(over).request('/auth/me');
      expect(refused.status).toBe(401);
      expect(refused.body).toBe('{"error":"auth_required","code":"auth_required"}');
      const shown = async (token: string) => {
        const { status, body } = await front.client(over).request('/auth/me', as(token));
        const { user_id, role, is_operator } = JSON.parse(body);
        return [status, user_id, role, is_operator];
      };
      expect(await shown('admin me')).toEqual([200, 'me', 'admin', true]);
      expect(await shown('read-only you')).toEqual([200, 'you', 'read-only', false]);
      await front.stop();
      await start({ authenticator: null, serverId: 'node-7' });
      const me = await front.client(over).request('/auth/me');
      expect(me.status).toBe(200);
      expect(JSON.parse(me.body)).toEqual({
        user_id: 'standalone',
        email: null,
        tenant_slug: 'local',
        is_operator: true,
        operator_enabled: true,
        operator_live: true,
        acting_cluster: { id: 'local', slug: 'local' },
        act_cluster_header: 'x-svc-act-cluster',
        role: 'admin',
        cluster: null,
        clusters: [
          {
            id: 'local',
            slug: 'local',
            role: 'admin',
            tenant_slug: 'local',
            tenant_id: '00000000-0000-0000-0000-000000000001',
            status: 'active',
            cell_slug: 'local',
          },
        ],
        standalone: true,
        server_id: 'node-7',
      });
    });
  });

  describe('while the caller is found out', () => {
    test.each([1, 1000, 600_000, 8_000_000])('a body of %d bytes is whole', async (bytes) => {
      await start();
      const body = bodyOf(bytes);
      const client = front.client(over);
      const answer = client.request('/api/v1/push', {
        method: 'POST',
        body,
        ...as('later admin s'),
      });
      await until(() => authenticator.waiting === 1);
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(front.service.submitted).toEqual([]);
      authenticator.decide();
      expect((await answer).status).toBe(201);
      expect(Buffer.from(pushes()[0]?.body ?? []).toString()).toBe(body);
      expect((await client.request('/health')).status).toBe(200);
    });

    test.each([1, 1000, 8_000_000])(
      'who is refused with a body of %d bytes keeps the connection',
      async (bytes) => {
        await start();
        const client = front.client(over);
        for (const [authorization, status] of [
          ['later x', 401],
          ['later read-only', 403],
        ] as const) {
          const body = bodyOf(bytes);
          const request = { method: 'POST', body, ...as(authorization) };
          const answer = client.request('/api/v1/push', request);
          await until(() => authenticator.waiting === 1);
          authenticator.decide();
          expect((await answer).status).toBe(status);
        }
        expect((await client.request('/health')).status).toBe(200);
        expect(front.service.submitted).toEqual([]);
      },
    );

    test('a body that is too long is refused after it, and the connection stays', async () => {
      await start({ bodyBytesMax: 1000 });
      const client = front.client(over);
      const request = { method: 'POST', body: bodyOf(100_000), ...as('later admin') };
      const answer = client.request('/api/v1/push', request);
      await until(() => authenticator.waiting === 1);
      authenticator.decide();
      expect((await answer).status).toBe(413);
      expect((await client.request('/health')).status).toBe(200);
    });

    test('query, tenant and HEAD are what they were', async () => {
      await start({ tenancyHeader: true });
      const tenant = '3d1c0000-0000-4000-8000-000000000000';
      const later = async (path: string, headers: Record<string, string>, method = 'GET') => {
        const client = front.client(over);
        const authorization = { Authorization: 'later admin' };
        const answer = client.request(path, { method, headers: { ...headers, ...authorization } });
        await until(() => authenticator.waiting === 1);
        authenticator.decide();
        return await answer;
      };
      expect((await later('/api/v1/pop/queue/q?batch=7', { 'x-svc-tenant': tenant })).status).toBe(
        204,
      );
      expect(front.service.pops[0]).toMatchObject({ tenant, batch: 7 });
      expect((await later('/api/v1/pop/queue/q', { 'x-svc-tenant': 'x' })).status).toBe(400);
      expect((await later('/api/v1/unknown', {}, 'HEAD')).status).toBe(404);
    });

    test('no more is read of a body than came with the head', async () => {
      await start();
      const client = front.client(over);
      const body = bodyOf(32_000_000);
      const answer = client.request('/api/v1/push', { method: 'POST', body, ...as('later admin') });
      await until(() => authenticator.waiting === 1);
      await new Promise((resolve) => setTimeout(resolve, 200));
      // The bytes that left the client fill the buffers of two sockets.
      expect(client.unsent).toBeGreaterThan(16_000_000);
      authenticator.decide();
      expect((await answer).status).toBe(201);
    });

    test('a client that goes leaves nothing behind', async () => {
      await start();
      const client = front.client(over);
      client.begin('/api/v1/push', { method: 'POST', body: bodyOf(100_000), ...as('later admin') });
      await until(() => authenticator.waiting === 1);
      client.destroy();
      await until(() => front.server.inFlight() === 0);
      authenticator.decide();
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(front.service.submitted).toEqual([]);
      expect(front.logged).toEqual([]);
    });

    test('for one who has gone nothing is asked', async () => {
      await start();
      const client = front.client(over);
      client.begin('/api/v1/pop/queue/q', as('later admin'));
      await until(() => authenticator.waiting === 1);
      client.destroy();
      await until(() => front.server.inFlight() === 0);
      authenticator.decide();
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(front.service.pops).toEqual([]);
    });

    test('a body counts once, held or handed over', async () => {
      await start();
      const { budget } = front.rim;
      front.service.onSubmit = () => {};
      const body = bodyOf(1000);
      const request = { method: 'POST', body, ...as('later admin') };
      const client = front.client(over);
      client.begin('/api/v1/push', request);
      await until(() => authenticator.waiting === 1);
      await until(() => budget.used('growing') === body.length);
      authenticator.decide();
      await until(() => front.service.submitted.length === 1);
      expect(budget.used('growing')).toBe(countedBytes(body.length));
    });

    test('one who goes with a body that is not read is noticed when it is', async () => {
      await start();
      const client = front.client(over);
      client.begin('/api/v1/push', { method: 'POST', body: bodyOf(8e6), ...as('later admin') });
      await until(() => authenticator.waiting === 1);
      client.destroy();
      await new Promise((resolve) => setTimeout(resolve, 20));
      authenticator.decide();
      await until(() => front.server.inFlight() === 0);
      expect(front.service.submitted).toEqual([]);
    });

    test('bodies of unknown callers count in the budget, and are given back', async () => {
      await start({ bodyBytesInFlightMax: 400_000 });
      const clients = Array.from({ length: 30 }, () => front.client(over));
      for (const client of clients) {
        client.begin('/api/v1/push', { method: 'POST', body: bodyOf(60_000), ...as('later x') });
      }
      await until(() => authenticator.waiting === 30);
      await until(() => front.server.inFlight() < 30);
      const refused = 30 - front.server.inFlight();
      expect(refused).toBeGreaterThan(20);
      authenticator.decide();
      const statuses = await Promise.all(clients.map(async (one) => (await one.answer()).status));
      expect(statuses.filter((status) => status === 503).length).toBe(refused);
      expect(statuses.filter((status) => status === 401).length).toBe(30 - refused);
      const answer = await front.client(over).request('/api/v1/push', { ...PUSH, ...as('admin') });
      expect(answer.status).toBe(201);
    });

    test('a stop waits for the answer', async () => {
      await start();
      const answer = front.client(over).request('/api/v1/push', { ...PUSH, ...as('later admin') });
      await until(() => authenticator.waiting === 1);
      const stopped = front.server.stop(10_000);
      await new Promise((resolve) => setTimeout(resolve, 100));
      authenticator.decide();
      expect((await answer).status).toBe(201);
      await stopped;
    });
  });
});

describe('on a connection, while the caller is found out', () => {
  test('a body in chunks is whole, whatever came before', async () => {
    await start();
    const client = front.client();
    const body = bodyOf(2000);
    const chunks = Array.from(body, (letter) => `1\r\n${letter}\r\n`).join('');
    client.send(
      'POST /api/v1/push HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n' +
        `Authorization: later admin s\r\n\r\n${chunks.slice(0, 5000)}`,
    );
    await until(() => authenticator.waiting === 1);
    client.send(chunks.slice(5000));
    await new Promise((resolve) => setTimeout(resolve, 20));
    authenticator.decide();
    client.send('0\r\n\r\n');
    expect((await client.answer()).status).toBe(201);
    expect(Buffer.from(pushes()[0]?.body ?? []).toString()).toBe(body);
  });

  test('a second request on the connection closes it, as with every unanswered one', async () => {
    await start();
    const client = front.client();
    client.begin('/api/v1/pop/queue/q', as('later admin'));
    client.begin('/health');
    await client.closed();
    authenticator.decide();
    await until(() => front.server.inFlight() === 0);
  });
});
