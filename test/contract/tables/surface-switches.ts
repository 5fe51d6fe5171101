/**
 * Runtime switches, and grants where they are needed (state-surfaces 0.4, 5.1, 5.5): on a node of
 * their own, one row after the other; each row leaves everything on.
 */
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractRow, ContractTable } from '../table.js';

/** Grants are needed as soon as the tenancy header is read. */
const environment = { SVC_TENANCY_HEADER: 'true', SVC_KV_TRUSTED_PROXY: '1' };

const SWITCHES = '/api/v1/system/kv-timers';
const EPHEMERAL = '/api/v1/system/ephemeral';
const ALL_ON = { kvEnabled: true, timersScheduleEnabled: true, timersFireEnabled: true };
const put = { op: 'put', ns: 'n', key: 'k', value: 1, forever: true };

async function grant({ client }: BrokerUnderTest, kind: string): Promise<void> {
  bodyOf(await client.post('/api/v1/resources/quota', { kind }), 200);
}

/** With the switches so, and everything on afterwards. */
async function switched(
  { client }: BrokerUnderTest,
  changes: object,
  body: () => Promise<void>,
): Promise<void> {
  bodyOf(await client.post(SWITCHES, changes), 200);
  try {
    await body();
  } finally {
    const on = { kv: true, timersSchedule: true, timersFire: true };
    bodyOf(await client.post(SWITCHES, on), 200);
    bodyOf(await client.post(EPHEMERAL, { enabled: true }), 200);
  }
}

/** `status text retry-after` of an answer. */
async function told(
  { client }: BrokerUnderTest,
  method: string,
  path: string,
  body?: object,
): Promise<string> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const answer = await client.send(method, path, text);
  return `${answer.status} ${answer.text} ${answer.headers['retry-after'] ?? '-'}`;
}

const disabled = (code: string) => `503 {"error":"${code}","reason":"${code}"} 1`;

function schedule(queue: string, timerKey: string, delayMs = 600_000): object {
  return { op: 'schedule', queue, timerKey, txn: timerKey, delayMs, payload: 'MQ==' };
}

const gateRows: readonly ContractRow[] = [
  {
    row: 'operator switch',
    does: 'comes before the grant that is missing',
    run: async (broker) => {
      expect(await told(broker, 'POST', '/api/v1/kv', [put])).toContain('feature_gated');
      await switched(broker, { kv: false }, async () => {
        expect(await told(broker, 'POST', '/api/v1/kv', [put])).toBe(disabled('kv_disabled'));
      });
    },
  },
  {
    row: 'grant',
    does: '403 on every surface',
    run: async (broker) => {
      const gated = '403 {"error":"feature_gated","reason":"feature_gated"} -';
      expect(await told(broker, 'POST', '/api/v1/kv', [put])).toBe(gated);
      expect(await told(broker, 'POST', '/api/v1/timers', [schedule('q', 'a')])).toBe(gated);
      const lock = [{ op: 'get', name: 'l' }];
      expect(await told(broker, 'POST', '/api/v1/locks', lock)).toBe(gated);
      const push = { queue: 'q', messages: [{ payload: 1 }] };
      const ephemeral = await broker.client.post('/api/v1/ephemeral/push', push);
      expect(ephemeral.status).toBe(403);
      expect(JSON.parse(ephemeral.text)).toMatchObject({ code: 'feature_gated' });
      await grant(broker, 'kv');
      expect(await told(broker, 'POST', '/api/v1/kv', [put])).toContain('200');
    },
  },
  {
    row: 'timer reads and cancels',
    does: 'ignore the switch',
    run: async (broker) => {
      await grant(broker, 'kv');
      const { queue } = broker;
      bodyOf(await broker.client.post('/api/v1/timers', [schedule(queue, 'a')]), 200);
      await switched(broker, { timersSchedule: false, kv: false }, async () => {
        expect(await told(broker, 'GET', `/api/v1/timers/${queue}`)).toContain('200');
        expect(await told(broker, 'GET', `/api/v1/timers/${queue}/a`)).toContain('"found":true');
        expect(await told(broker, 'DELETE', `/api/v1/timers/${queue}/a`)).toContain('cancelled');
      });
    },
  },
  {
    row: 'inside a transaction',
    does: '403 without Retry-After, and nothing is applied',
    run: async (broker) => {
      await grant(broker, 'kv');
      const { queue } = broker;
      const push = { type: 'push', items: [{ queue, payload: 1 }] };
      const ask = (more: object) =>
        told(broker, 'POST', '/api/v1/transaction', { operations: [push], ...more });
      await switched(broker, { kv: false, timersSchedule: false }, async () => {
        expect(await ask({ kv: [put] })).toMatch(/^403 .*kv_disabled.* -$/);
        expect(await ask({ timers: [schedule(queue, 'a')] })).toMatch(
          /^403 .*timers_disabled.* -$/,
        );
      });
      expect(await told(broker, 'GET', `/api/v1/resources/queues/${queue}`)).toContain('404');
      expect(await told(broker, 'GET', '/api/v1/kv/n/k')).toContain('"found":false');
    },
  },
];

export const gateSwitches: ContractTable = {
  section: 'state-surfaces 0.4',
  environment,
  rows: gateRows,
};

export const surfaceEnvironment: ContractTable = {
  section: 'state-surfaces 5.5',
  environment,
  rows: [
    {
      row: 'SVC_KV_REQUIRE_GRANT',
      does: 'is on where the tenancy header is',
      send: 'POST /api/v1/kv',
      body: [put],
      answer: { status: 403, body: { error: 'feature_gated' } },
    },
  ],
};

export const switches: ContractTable = {
  section: 'state-surfaces 5.1',
  environment,
  rows: [
    {
      row: 'GET kv-timers',
      does: 'everything is on at first, and no allowance measured',
      send: `GET ${SWITCHES}`,
      answer: {
        status: 200,
        text: JSON.stringify({ ...ALL_ON, quotaTenants: 0, quotaAgeMs: null, quotaHot: 0 }),
      },
    },
    {
      row: 'GET kv-timers',
      does: 'counts tenants with an allowance, and those near its end',
      run: async (broker) => {
        const limits = { kind: 'kv', maxRows: 1 };
        bodyOf(await broker.client.post('/api/v1/resources/quota', limits), 200);
        bodyOf(await broker.client.post('/api/v1/kv', [put]), 200);
        expect(await told(broker, 'POST', '/api/v1/kv', [put])).toContain('kv_quota_exceeded');
        const figures = bodyOf(await broker.client.get(SWITCHES), 200) as Record<string, number>;
        expect(figures).toMatchObject({ quotaTenants: 1, quotaHot: 1 });
        expect(figures.quotaAgeMs).toBeGreaterThanOrEqual(0);
      },
    },
    {
      row: 'POST kv-timers',
      does: 'changes what it names, and answers as GET does',
      run: async (broker) => {
        await switched(broker, { timersSchedule: false }, async () => {
          const answer = await broker.client.post(SWITCHES, { timersFire: false });
          const off = { timersScheduleEnabled: false, timersFireEnabled: false };
          expect(bodyOf(answer, 200)).toMatchObject({ ...ALL_ON, ...off });
          expect(bodyOf(await broker.client.get(SWITCHES), 200)).toMatchObject(off);
        });
      },
    },
    ...['[]', '7', '"x"', 'null'].map(
      (body): ContractRow => ({
        row: 'object required',
        does: body,
        send: `POST ${SWITCHES}`,
        body,
        answer: { status: 400, text: '{"error":"object required"}' },
      }),
    ),
    ...['kv', 'timersSchedule', 'timersFire'].flatMap((name) =>
      [1, 'true', null, {}].map(
        (value): ContractRow => ({
          row: 'must be a boolean',
          does: `${name}: ${JSON.stringify(value)}`,
          send: `POST ${SWITCHES}`,
          body: { [name]: value },
          answer: { status: 400, text: `{"error":"${name} must be a boolean"}` },
        }),
      ),
    ),
    ...[{}, { enabled: true }].map(
      (body): ContractRow => ({
        row: 'at least one',
        does: JSON.stringify(body),
        send: `POST ${SWITCHES}`,
        body,
        answer: {
          status: 400,
          text: '{"error":"at least one of kv, timersSchedule, timersFire (boolean) is required"}',
        },
      }),
    ),
    {
      row: 'GET ephemeral',
      does: 'on at first',
      send: `GET ${EPHEMERAL}`,
      answer: { status: 200, text: '{"ephemeralEnabled":true}' },
    },
    {
      row: 'POST ephemeral',
      does: 'off, and mirrored',
      run: async (broker) => {
        await switched(broker, { kv: true }, async () => {
          const { status, text } = await broker.client.post(EPHEMERAL, { enabled: false });
          expect([status, text]).toEqual([200, '{"ephemeralEnabled":false,"mirrored":true}']);
        });
      },
    },
    ...['{}', '{"enabled":null}', '{"enabled":1}', '[]', 'null'].map(
      (body): ContractRow => ({
        row: 'enabled is required',
        does: body,
        send: `POST ${EPHEMERAL}`,
        body,
        answer: { status: 400, text: '{"error":"enabled (boolean) is required"}' },
      }),
    ),
    {
      row: 'kv',
      does: 'off: every route of key/value, both lists and locks',
      run: async (broker) => {
        await grant(broker, 'kv');
        await switched(broker, { kv: false }, async () => {
          const calls = [
            ['POST', '/api/v1/kv', [put]],
            ['GET', '/api/v1/kv/n/k'],
            ['PUT', '/api/v1/kv/n/k', { value: 1, forever: true }],
            ['DELETE', '/api/v1/kv/n/k'],
            ['GET', '/api/v1/resources/kv/namespaces'],
            ['POST', '/api/v1/resources/kv/list', { namespace: 'n' }],
            ['POST', '/api/v1/locks', [{ op: 'get', name: 'l' }]],
          ] as const;
          for (const [method, path, body] of calls) {
            expect(await told(broker, method, path, body), path).toBe(disabled('kv_disabled'));
          }
          const push = await broker.api.pushIds(broker.queue, 'p', ['a']);
          expect(push).toHaveLength(1);
        });
        expect(await told(broker, 'POST', '/api/v1/kv', [put])).toContain('200');
      },
    },
    {
      row: 'timersSchedule',
      does: 'off: no new timers; pending ones fire',
      run: async (broker) => {
        await grant(broker, 'kv');
        const { queue, client } = broker;
        bodyOf(await client.post('/api/v1/timers', [schedule(queue, 'a', 200)]), 200);
        await switched(broker, { timersSchedule: false }, async () => {
          expect(await told(broker, 'POST', '/api/v1/timers', [schedule(queue, 'b')])).toBe(
            disabled('timers_disabled'),
          );
          const popped = await broker.api.popQueue(queue, { wait: true, timeout: 5000 });
          expect(popped?.messages).toHaveLength(1);
        });
      },
    },
    {
      row: 'timersFire',
      does: 'off: nothing fires, and nothing is lost',
      run: async (broker) => {
        await grant(broker, 'kv');
        const { queue, client } = broker;
        await switched(broker, { timersFire: false }, async () => {
          bodyOf(await client.post('/api/v1/timers', [schedule(queue, 'a', 1)]), 200);
          const popped = await broker.api.popQueue(queue, { wait: true, timeout: 400 });
          expect(popped?.messages ?? []).toHaveLength(0);
        });
        const popped = await broker.api.popQueue(queue, { wait: true, timeout: 5000 });
        expect(popped?.messages).toHaveLength(1);
      },
    },
    {
      row: 'ephemeral',
      does: 'off: all its routes, in the words of its family',
      run: async (broker) => {
        await grant(broker, 'ephemeral');
        const { client } = broker;
        await switched(broker, { kv: true }, async () => {
          bodyOf(await client.post(EPHEMERAL, { enabled: false }), 200);
          const calls = [
            ['POST', '/api/v1/ephemeral/push', { queue: 'q', messages: [{ payload: 1 }] }],
            ['GET', '/api/v1/ephemeral/pop?queue=q'],
            ['POST', '/api/v1/ephemeral/ack', { queue: 'q', acks: [{ id: 'e:1:p:1' }] }],
            ['POST', '/api/v1/ephemeral/configure', { queue: 'q', options: {} }],
            ['POST', '/api/v1/ephemeral/reset', { queue: 'q' }],
            ['DELETE', '/api/v1/ephemeral/queue/q'],
            ['GET', '/api/v1/ephemeral/queues'],
            ['GET', '/api/v1/ephemeral/queues/q/depth'],
          ] as const;
          for (const [method, path, body] of calls) {
            expect(await told(broker, method, path, body), path).toMatch(
              /^503 \{"error":"[^"]+","code":"ephemeral_disabled"\} 1$/,
            );
          }
        });
      },
    },
    {
      row: 'survive restart',
      does: 'of a node that is killed',
      run: async (broker) => {
        await switched(broker, { kv: false, timersFire: false }, async () => {
          await broker.place.restart?.('SIGKILL');
          const off = { kvEnabled: false, timersFireEnabled: false };
          expect(bodyOf(await broker.client.get(SWITCHES), 200)).toMatchObject({
            ...ALL_ON,
            ...off,
          });
        });
      },
    },
  ],
};

/** Switches of the shared cluster stay on: what one node set the next one tells. */
export const sharedSwitches: ContractTable = {
  section: 'state-surfaces 5.1',
  rows: [
    {
      row: 'on every node',
      does: 'what is set at one is told by the next',
      run: async (broker) => {
        const on = { kv: true, timersSchedule: true, timersFire: true };
        bodyOf(await broker.client.post(SWITCHES, on), 200);
        expect(bodyOf(await broker.client.get(SWITCHES), 200)).toMatchObject(ALL_ON);
      },
    },
  ],
};
