/** Keys, timers, locks, the cluster, figures and `apply`: what each sends, prints and ends with. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StubServer } from './stub-server.fake.js';

const stub = new StubServer();

beforeAll(() => stub.start());
afterAll(() => stub.stop());
beforeEach(() => stub.answers({ body: {} }));

const bodies = () => stub.asked.map(({ body }) => body);
const lines = () => stub.asked.map(({ line }) => line);
const results = (result: object) => ({ body: { results: [result] } });

describe('commands of one call send it', () => {
  const raft = '/api/v1/system/raft';
  it.each([
    ['cluster status', 'GET /api/v1/raft/status', null],
    ['cluster members', 'GET /api/v1/raft/members', null],
    [
      'cluster add 4 --raft n:7 --http n:6',
      `POST ${raft}/membership/learners`,
      { id: 4, raft: 'n:7', http: 'n:6' },
    ],
    ['cluster promote 4 5 --force', `POST ${raft}/membership/promote?force=true`, { ids: [4, 5] }],
    ['cluster remove 4 --yes', `DELETE ${raft}/membership/members/4`, null],
    ['cluster transfer 2', `POST ${raft}/transfer`, { to: 2 }],
    ['link status', 'GET /api/v1/system/link', null],
    ['link promote --yes', 'POST /api/v1/system/link/promote', null],
    ['stream list', 'GET /api/v1/consumer-groups?limit=1000', null],
    [
      'stream state s 17 --prefix a',
      'POST /streams/v1/state/get',
      { query_id: 's', partition_id: '17', key_prefix: 'a' },
    ],
    ['analytics overview', 'GET /api/v1/resources/overview', null],
    [
      'analytics queue-lag --from 2026-01-31 --to now',
      'GET /api/v1/analytics/queue-lag' +
        '?from=2026-01-31T00%3A00%3A00.000Z&to=2026-11-26T12%3A00%3A00.000Z',
      null,
    ],
    ['analytics queue-ops', 'GET /api/v1/analytics/queue-ops', null],
    ['analytics queue-parked', 'GET /api/v1/analytics/queue-parked-replicas', null],
    ['analytics retention', 'GET /api/v1/analytics/retention', null],
    ['analytics system', 'GET /api/v1/analytics/system-metrics', null],
    ['analytics worker', 'GET /api/v1/analytics/worker-metrics', null],
    ['kv list', 'GET /api/v1/resources/kv/namespaces', null],
    [
      'kv list n --prefix p',
      'POST /api/v1/resources/kv/list',
      { namespace: 'n', prefix: 'p', limit: 1000 },
    ],
    ['lock list', 'POST /api/v1/resources/kv/list', { namespace: 'svc-locks', limit: 1000 }],
    ['lock get l', 'POST /api/v1/locks', [{ op: 'get', name: 'l' }]],
    ['timer list', 'GET /api/v1/resources/timers?limit=1000', null],
    ['timer list q', 'GET /api/v1/timers/q?limit=1000', null],
  ])('%s', async (words, line, body) => {
    const ran = await stub.svcctl(words);
    expect([ran.code, ran.err, lines(), bodies()]).toEqual([0, '', [line], [body]]);
  });

  it.each(['cluster promote four', 'cluster add 4 --raft n:7', 'lock renew l token', 'kv put n k'])(
    '%s ends with 1 and sends nothing',
    async (words) => {
      expect((await stub.svcctl(words)).code).toBe(1);
      expect(stub.asked).toEqual([]);
    },
  );
});

describe('kv', () => {
  const row = { key: 'a/b', value: { n: 1 }, version: 7, expiresAt: null };

  it('gets, with 4 for what is not there', async () => {
    stub.answers(results({ found: true, ...row, version: 1234 }));
    const ran = await stub.svcctl('kv get n a/../b -o table');
    expect(ran.out).toMatch(/^KEY +VALUE +VERSION +EXPIRES\na\/b +\{n\} +1234 +-\n$/);
    expect(bodies()).toEqual([[{ op: 'get', ns: 'n', key: 'a/../b' }]]);
    stub.answers(results({ found: false }));
    expect(await stub.svcctl('kv get n x')).toMatchObject({ code: 4, out: '', err: '' });
  });

  it('writes, with 2 for what was not written', async () => {
    stub.answers(results({ applied: true, value: 6, version: 8 }));
    expect((await stub.svcctl('kv put n k {"a":1} --ttl 1h')).out).toBe('wrote n/k version=8\n');
    await stub.svcctl('kv put n k plain --expect 7');
    await stub.svcctl('kv put n k 12345678901234567891 --if-absent');
    await stub.svcctl('kv delete n k');
    expect((await stub.svcctl('kv incr n k -5 --min 0')).out).toBe('6\n');
    const at = { ns: 'n', key: 'k' };
    expect(bodies()).toEqual([
      [{ ...at, op: 'put', value: { a: 1 }, ttlSeconds: 3600 }],
      [{ ...at, op: 'put', value: 'plain', expect: 7, forever: true }],
      [{ ...at, op: 'putIfAbsent', value: Number('12345678901234567891'), forever: true }],
      [{ ...at, op: 'delete' }],
      [{ ...at, op: 'incr', delta: -5, min: 0, forever: true }],
    ]);
    stub.answers(results({ applied: false, reason: 'version', version: 9 }));
    const refused = await stub.svcctl('kv put n k 1 --expect 7');
    expect([refused.code, refused.err]).toEqual([
      2,
      'svcctl: not written: n/k: version (version 9)\n',
    ]);
    expect((await stub.svcctl('kv put n k 1 --expect 7 --if-absent')).code).toBe(1);
  });

  it('counts once when the answer is lost', async () => {
    stub.answers({ cut: true });
    const ran = await stub.svcctl('kv incr n k');
    expect([ran.code, stub.asked.length]).toEqual([2, 1]);
  });
});

describe('timer', () => {
  it('schedules, cancels and shows', async () => {
    const at = '2026-11-26T12:01:30.000Z';
    stub.answers(results({ status: 'scheduled', queue: 'q', timerKey: 'k', deliverAt: at }));
    const words = 'timer schedule q k --delay 1m30s --data {"a":1} --transaction-id t';
    expect((await stub.svcctl(words)).out).toBe(`scheduled q/k at ${at}\n`);
    const payload = Buffer.from('{"a":1}').toString('base64');
    const timer = { queue: 'q', timerKey: 'k' };
    expect(bodies()).toEqual([[{ op: 'schedule', ...timer, delayMs: 90_000, txn: 't', payload }]]);
    stub.answers(results({ ok: true, status: 'cancelled' }));
    expect((await stub.svcctl('timer cancel q k')).out).toBe('cancelled q/k\n');
    expect(bodies()).toEqual([[{ op: 'cancel', ...timer }]]);
    stub.answers(results({ ok: false, status: 'absent' }));
    expect((await stub.svcctl('timer cancel q k')).code).toBe(2);
    stub.answers({ body: { found: true, ...timer, payload } });
    expect((await stub.svcctl('timer peek q k -o jsonpath=.payload.a')).out).toBe('1\n');
    stub.answers({ body: { found: false } });
    expect((await stub.svcctl('timer peek q k')).code).toBe(4);
    expect((await stub.svcctl('timer schedule q k')).code).toBe(1);
  });
});

describe('lock', () => {
  it('acquires, renews and releases', async () => {
    stub.answers(results({ acquired: true, slot: 0, token: 5 }));
    const words = 'lock acquire l --owner o --ttl 1m --limit 2';
    expect((await stub.svcctl(words)).out).toBe('acquired l slot=0 token=5\n');
    stub.answers(results({ renewed: true, slot: 0, token: 6 }));
    expect((await stub.svcctl('lock renew l 5 --slot 0')).out).toBe('renewed l slot=0 token=6\n');
    expect(bodies()).toEqual([[{ op: 'renew', name: 'l', ttlSeconds: 30, token: 5, slot: 0 }]]);
    stub.answers(results({ released: true, slot: 0 }));
    expect((await stub.svcctl('lock release l 6')).out).toBe('released l slot=0\n');
    stub.answers(results({ acquired: false, reason: 'held', holders: [] }));
    expect(await stub.svcctl('lock acquire l')).toMatchObject({ code: 4, out: '', err: '' });
    stub.answers(results({ released: false, reason: 'lost' }));
    expect((await stub.svcctl('lock release l 6')).code).toBe(2);
  });

  it('lists the permits that are held', async () => {
    const row = { key: 'a#b#1', version: 7, value: { owner: 'o' }, expiresAt: null };
    stub.answers({ body: { rows: [row], nextAfter: null } });
    expect((await stub.svcctl('lock list -o table')).out).toMatch(/\na#b +1 +o +7 +-\n$/);
  });
});

describe('apply', () => {
  const apply = (text: string, flags = '') =>
    stub.svcctl(`apply -f - ${flags}`.trim(), { input: text });

  it('replaces a queue by its document and nothing of the one before', async () => {
    const ran = await apply(`
name: orders
namespace: billing
task: ingest
config: {leaseTime: 60, deliveryLimit: 0, deadLetterQueue: false}
---
kind: Queue
name: plain
config: {retryBackoffMs: 5}
---
kind: ConsumerGroup
name: workers
queue: orders
seek-to: "5m ago"
`);
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(ran.out).toBe(
      'applied Queue "orders"\napplied Queue "plain"\napplied ConsumerGroup "workers"\n',
    );
    expect(bodies()).toEqual([
      {
        queue: 'orders',
        mode: 'replace',
        options: {
          leaseTime: 60,
          deliveryLimit: 0,
          deadLetterQueue: false,
          namespace: 'billing',
          task: 'ingest',
        },
      },
      { queue: 'plain', mode: 'replace', options: { retryBackoffMs: 5 } },
      { timestamp: '2026-11-26T11:55:00.000Z' },
    ]);
    expect(lines()[2]).toBe('POST /api/v1/consumer-groups/workers/queues/orders/seek');
  });

  it.each([
    ['a misspelt key', 'name: a\n---\nname: b\nnamespce: n'],
    ['a misspelt option', 'name: a\n---\nname: b\nconfig: {leasetime: 5}'],
    ['an option of another type', 'name: a\nconfig: {leaseTime: "60"}'],
    ['a fraction', 'name: a\nconfig: {leaseTime: 1.5}'],
    ['a text for true', 'name: a\nconfig: {deadLetterQueue: "no"}'],
    ['null', 'name: a\nconfig: {leaseTime: null}'],
    ['a list as config', 'name: a\nconfig: []'],
    ['a number as a name', 'name: 5'],
    ['an unknown kind', 'kind: Topic\nname: a'],
    ['a group without a queue', 'kind: ConsumerGroup\nname: a\nseek-to: end'],
    ['a group with a wrong time', 'kind: ConsumerGroup\nname: a\nqueue: q\nseek-to: soon'],
    ['a key twice', 'name: a\nname: b'],
    ['a list', '- name: a'],
    ['broken YAML', 'name: ['],
  ])('refuses %s and sends nothing, with --dry-run too', async (_, text) => {
    const ran = await apply(`name: first\n---\n${text}`);
    const dry = await apply(`name: first\n---\n${text}`, '--dry-run');
    expect([ran.code, dry.code, stub.asked]).toEqual([1, 1, []]);
  });

  it('skips what has no name, and ends with 4 when nothing was applied', async () => {
    const ran = await apply('namespace: n');
    expect([ran.code, ran.out, ran.err]).toEqual([4, '', expect.stringContaining('[skip]')]);
    expect((await apply('')).code).toBe(4);
    const dry = await apply('name: a', '--dry-run');
    expect(dry.out).toBe('[dry-run] would apply Queue "a"\n');
    expect(stub.asked).toEqual([]);
  });
});

it('tables of the cluster, of streams and of figures', async () => {
  const table = async (words: string) => (await stub.svcctl(`${words} -o table`)).out;
  const member = { nodeId: 1, role: 'voter', state: 'leader', httpAddr: 'n:1', uptimeSeconds: 61 };
  stub.answers({ body: { members: [member] } });
  expect(await table('cluster members')).toMatch(/\n1 +voter +leader +n:1 +- +1m1s\n$/);
  const group = { name: 'streams.a', queueName: 'q', state: 'Stable', totalLag: 1, maxTimeLag: 0 };
  stub.answers({ body: [group, { ...group, name: 'b' }] });
  expect(await table('stream list')).toMatch(/^QUERY.*\na +q +Stable +1 +0s\n$/);
  stub.answers({ body: { success: true, rows: [{ key: 'k', value: 5, updated_at: null }] } });
  expect(await table('stream state s 1')).toMatch(/\nk +5 +-\n$/);
  const ops = { bucket: '2026-11-26T11:59:00Z', queueName: 'q', pushMessages: 1, popMessages: 2 };
  stub.answers({ body: { series: [{ ...ops, ackSuccess: 3, ackFailed: 0 }] } });
  expect(await table('analytics queue-ops')).toMatch(/\n1m ago +q +1 +2 +3 +0\n$/);
});

describe('bench', () => {
  const answer = (popped: number) => {
    stub.answers();
    let left = popped;
    stub.answer = ({ line }) => {
      if (!line.startsWith('GET')) return { body: {} };
      const messages = Array.from({ length: Math.min(left, 4) }, () => ({ data: { at: 0 } }));
      left -= messages.length;
      return messages.length === 0 ? { status: 204 } : { body: { messages } };
    };
  };
  const words = 'bench --total 10 --batch 4 --partitions 2 --producers 1 --consumers 1';

  it('configures, pushes in batches to the partitions, drains and deletes', async () => {
    answer(10);
    const ran = await stub.svcctl(`${words} --auto-delete --payload-size 30`, { nowMs: () => 5 });
    expect([ran.code, ran.out.split('\n').map((line) => line.split(' ')[0])]).toEqual([
      0,
      ['PUSH', 'POP', 'RESIDENCY', ''],
    ]);
    expect(ran.out).toContain('RESIDENCY p50=5ms p95=5ms p99=5ms');
    const pop = 'GET /api/v1/pop/queue/svcctl-bench?consumerGroup=svcctl-bench';
    expect(lines().map((line) => line.split('&')[0])).toEqual([
      'POST /api/v1/configure',
      ...Array.from({ length: 3 }, () => 'POST /api/v1/push'),
      ...Array.from({ length: 3 }, () => pop),
      'DELETE /api/v1/resources/queues/svcctl-bench',
    ]);
    expect(bodies()[0]).toEqual({ queue: 'svcctl-bench', options: { leaseTime: 30 } });
    const pushes = bodies().slice(1, 4) as { readonly items: readonly { partition: string }[] }[];
    expect(pushes.map(({ items }) => items.length)).toEqual([4, 4, 2]);
    expect(pushes.map(({ items }) => items[0]?.partition)).toEqual(['p0', 'p1', 'p0']);
  });

  it('warns when fewer came back, after five seconds without one', async () => {
    answer(8);
    let nowMs = 0;
    const slow = () => {
      nowMs += 500;
      return nowMs;
    };
    const ran = await stub.svcctl(words, { nowMs: slow });
    expect(ran.out).toContain('\nWARN 2 of 10 messages did not come back\n');
    answer(0);
    const pushed = await stub.svcctl(`${words} --skip-pop --auto-create=false`);
    expect(pushed.out).toMatch(/^PUSH 10 messages[^\n]*\n$/);
    expect(lines()).toEqual(Array.from({ length: 3 }, () => 'POST /api/v1/push'));
  });
});
