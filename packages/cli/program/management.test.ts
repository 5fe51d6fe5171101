/** The commands of management: what each sends, prints and ends with. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { commands } from './commands.js';
import { StubServer } from './stub-server.fake.js';

const stub = new StubServer();

beforeAll(() => stub.start());
afterAll(() => stub.stop());
beforeEach(() => stub.answers({ body: {} }));

const bodies = () => stub.asked.map(({ body }) => body);
const lines = () => stub.asked.map(({ line }) => line);
const table = async (words: string) => (await stub.svcctl(`${words} -o table`)).out;

describe('commands of one call send it', () => {
  it.each([
    ['queue describe a/b', 'GET /api/v1/resources/queues/a%2Fb', null],
    ['q depth q --group g', 'GET /api/v1/resources/queues/q/depth?group=g', null],
    ['queue delete q --yes', 'DELETE /api/v1/resources/queues/q', null],
    ['queue stats q', 'GET /api/v1/status/queues/q', null],
    ['namespace list', 'GET /api/v1/resources/namespaces?limit=1000', null],
    ['task list', 'GET /api/v1/resources/tasks?limit=1000', null],
    ['p list q', 'GET /api/v1/resources/queues/q?limit=1000', null],
    ['cg list', 'GET /api/v1/consumer-groups?limit=1000', null],
    ['cg describe g', 'GET /api/v1/consumer-groups/g', null],
    [
      'cg lag --min-seconds 5',
      'GET /api/v1/consumer-groups/lagging?minLagSeconds=5&limit=1000',
      null,
    ],
    ['lag', 'GET /api/v1/consumer-groups?limit=1000', null],
    ['lag --min-seconds 5', 'GET /api/v1/consumer-groups/lagging?minLagSeconds=5&limit=1000', null],
    ['cg seek g q --to end', 'POST /api/v1/consumer-groups/g/queues/q/seek', { toEnd: true }],
    [
      'cg seek g q --to beginning',
      'POST /api/v1/consumer-groups/g/queues/q/seek',
      { timestamp: '1970-01-01T00:00:00.000Z' },
    ],
    [
      'partition seek q p --cg g',
      'POST /api/v1/consumer-groups/g/queues/q/partitions/p/seek',
      { toEnd: true },
    ],
    ['cg delete g --yes', 'DELETE /api/v1/consumer-groups/g?deleteMetadata=false', null],
    [
      'cg delete g --queue q --metadata -y',
      'DELETE /api/v1/consumer-groups/g/queues/q?deleteMetadata=true',
      null,
    ],
    ['cg refresh-stats', 'POST /api/v1/stats/refresh', null],
    [
      'messages list --queue q --partition p --status pending --from 2026-01-31 --offset 5',
      'GET /api/v1/messages?queue=q&partition=p&status=pending' +
        '&from=2026-01-31T00%3A00%3A00.000Z&limit=100&offset=5',
      null,
    ],
    ['messages get 1 t', 'GET /api/v1/messages/1/t', null],
    ['messages delete 1 t --yes', 'DELETE /api/v1/messages/1/t', null],
    ['messages traces 1 t', 'GET /api/v1/traces/1/t', null],
    ['traces by-message 1 t', 'GET /api/v1/traces/1/t', null],
    ['traces names', 'GET /api/v1/traces/names', null],
    ['traces by-name n', 'GET /api/v1/traces/by-name/n', null],
    [
      'dlq list --queue q --cg g',
      'GET /api/v1/dlq?queue=q&consumerGroup=g&limit=100&offset=0',
      null,
    ],
    ['dlq describe 1 t', 'GET /api/v1/messages/1/t', null],
    ['dlq retry 1 t', 'POST /api/v1/messages/1/t/retry', {}],
  ])('%s', async (words, line, body) => {
    const ran = await stub.svcctl(words);
    expect([ran.code, ran.err, lines(), bodies()]).toEqual([0, '', [line], [body]]);
  });
});

describe('what destroys', () => {
  const destroying = commands.filter(({ flags = [] }) => flags.some(([one]) => /--yes/.test(one)));
  it.each(destroying.map((command) => [command.name, command]))(
    '%s is refused without --yes and without a terminal',
    async (_, { example, name }) => {
      if (name === 'dlq drain') stub.answers({ body: { messages: [{}] } });
      const ran = await stub.svcctl(example.replace(' --yes', ''));
      expect([ran.code, ran.out]).toEqual([1, '']);
      expect(ran.err).toMatch(/this will .*: write --yes/);
      expect(stub.asked.filter(({ line }) => !line.startsWith('GET'))).toEqual([]);
    },
  );

  it('is done when the user says so at a terminal', async () => {
    const asked = { terminal: true, answers: ['yes'] };
    expect((await stub.svcctl('queue delete q', asked)).out).toBe('deleted "q"\n');
    const refused = await stub.svcctl('queue delete q', { terminal: true, answers: [''] });
    expect([refused.code, refused.err, stub.asked.length]).toEqual([1, 'svcctl: not done\n', 1]);
  });
});

describe('queue configure', () => {
  it.each([
    ['--lease-time 60', { leaseTime: 60 }],
    ['--retry-limit 0 --delivery-limit 5', { retryLimit: 0, deliveryLimit: 5 }],
    ['--retry-backoff 100 --retry-backoff-max 0', { retryBackoffMs: 100, retryBackoffMaxMs: 0 }],
    ['--retention 3600', { retentionSeconds: 3600, retentionEnabled: true }],
    ['--completed-retention 0', { completedRetentionSeconds: 0 }],
    ['--dlq', { deadLetterQueue: true, dlqAfterMaxRetries: true }],
    ['--dlq=false', { deadLetterQueue: false, dlqAfterMaxRetries: false }],
    ['--encrypt=true', { encryptionEnabled: true }],
    ['--window-buffer 1 --delayed-processing 2', { windowBuffer: 1, delayedProcessing: 2 }],
  ])('with %s sends these options alone', async (flags, options) => {
    const ran = await stub.svcctl(`queue configure q ${flags}`);
    expect([ran.code, ran.out]).toEqual([0, 'configured "q"\n']);
    expect(stub.asked).toMatchObject([{ line: 'POST /api/v1/configure' }]);
    expect(bodies()).toEqual([{ queue: 'q', options }]);
  });

  it('sends labels among the options', async () => {
    await stub.svcctl('queue configure q --namespace n --task t');
    expect(bodies()).toEqual([{ queue: 'q', options: { namespace: 'n', task: 't' } }]);
  });
});

describe('tables', () => {
  const options = { priority: 0, leaseTime: 3900, retryLimit: 3, maxSize: 0 };
  const messages = { pending: 12345, processing: 1, completed: 2, deadLetter: 0, total: 3 };
  const row = { name: 'a', namespace: 'n', task: '', partitions: 2, options, messages };

  it('of queues: pages are joined, filtered and cut', async () => {
    const page = {
      body: { queues: [row, { ...row, name: 'b', namespace: 'm' }], nextAfter: 'x/' },
    };
    stub.answers(page, { body: { queues: [{ ...row, name: 'c' }], nextAfter: null } });
    expect(await table('queue list --namespace n')).toBe(
      'NAME   NAMESPACE   TASK   PARTITIONS   PRIORITY   LEASE\n' +
        'a      n           -      2            0          1h5m\n' +
        'c      n           -      2            0          1h5m\n',
    );
    expect(lines()[1]).toBe('GET /api/v1/resources/queues?limit=1000&after=x%2F');
    stub.answers(page, { body: { queues: [{ ...row, name: 'c' }] } });
    const cut = await stub.svcctl('queue list --offset 1 --limit 1 -o jsonpath=.queues[*].name');
    expect([cut.out, stub.asked.length]).toEqual(['b\n', 1]);
    stub.answers({ body: { queues: [row] } });
    expect(await table('queue stats')).toMatch(/^QUEUE +PENDING.*\na +12,345 +1 +2 +0 +3\n$/);
  });

  it('of the status, with the lag of the slowest group', async () => {
    stub.answer = ({ line }) =>
      line.includes('consumer-groups')
        ? { body: [60, 90].map((maxTimeLag) => ({ queueName: 'a', maxTimeLag })) }
        : { body: { queues: [row], partitions: [{ name: 'p', messages }], totals: { messages } } };
    expect(await table('status')).toMatch(/\na +n +12,345 +1 +2 +- +0 +1m30s\n$/);
    expect(await table('status a')).toMatch(/LAG +PARTITIONS\n.* 1m30s +1\n$/);
    expect(await table('status a --partitions')).toMatch(/^PARTITION.*\np +12,345/);
    expect((await stub.svcctl('status --task none -o jsonl')).out).toBe('');
  });

  it('of groups and their partitions', async () => {
    const group = { name: 'g', queueName: 'q', state: 'Stable', totalLag: 5, maxTimeLag: 61 };
    stub.answers({ body: [group] });
    expect(await table('cg list')).toMatch(/\ng +q +Stable +5 +1m1s\n$/);
    expect(await table('lag')).toMatch(/^CG +QUEUE +MESSAGES +LAG\ng +q +5 +1m1s\n$/);
    const partition = { partition: 'p', offsetLag: 7, timeLagSeconds: 0, leaseActive: true };
    stub.answers({ body: { q: { partitions: [partition] } } });
    expect(await table('cg describe g')).toMatch(/\nq +p +- +true +7 +0s\n$/);
  });

  it('of partitions, and one of them as YAML', async () => {
    stub.answers({
      body: {
        partitions: [
          { name: 'p', messages },
          { name: 'r', messages },
        ],
      },
    });
    expect(await table('partition list q')).toMatch(
      /^PARTITION +PENDING +PROCESSING\np +12,345 +1\n/,
    );
    expect(await table('partition describe q r')).toMatch(/^queue: q\nname: r\n/);
    expect((await stub.svcctl('partition describe q none')).code).toBe(2);
    expect(await table('queue describe q')).toMatch(/^partitions:\n/);
  });

  it('of messages, dead letters and traces', async () => {
    const at = '2026-11-26T11:59:00Z';
    const message = { transactionId: 't', queue: 'q', partition: 'p', createdAt: at };
    stub.answers({ body: { messages: [{ ...message, status: 'pending' }] } });
    expect(await table('messages list')).toMatch(/\nt +q +p +pending +- +1m ago\n$/);
    const dead = { ...message, consumerGroup: 'g', retryCount: 3, errorMessage: 'a\u001b[2Jb' };
    stub.answers({ body: { messages: [dead] } });
    expect(await table('dlq list')).toMatch(/\nt +q +p +g +3 +a \[2Jb\n$/);
    const trace = { createdAt: at, eventType: 'paid', names: ['x', 'y'], data: { a: 1, b: 2 } };
    stub.answers({ body: { traces: [trace] } });
    expect(await table('messages traces 1 t')).toMatch(/\n1m ago +paid +2 +\{a,b\}\n$/);
  });
});

it('messages list asks for as many pages as it takes', async () => {
  const page = (n: number) => ({ body: { messages: Array.from({ length: n }, () => ({})) } });
  stub.answers(page(1000), page(200));
  const ran = await stub.svcctl('messages list --limit 1500 --offset 5 -o jsonl');
  expect(ran.out.split('\n')).toHaveLength(1201);
  expect(lines().map((line) => line.split('?')[1])).toEqual([
    'limit=1000&offset=5',
    'limit=500&offset=1005',
  ]);
});

it('cg delete says when there was nothing', async () => {
  stub.answers({ body: { deletedPartitions: 0, metadataDeleted: false } });
  const ran = await stub.svcctl('cg delete g --yes');
  expect(ran.out).toBe('"g" has no cursors at all queues\n');
});

describe('dead letters', () => {
  const letter = (n: number) => ({
    partitionId: '1',
    transactionId: `t${n}`,
    partition: n % 2 === 0 ? 'even' : 'odd',
    failedAt: new Date(Date.parse('2026-11-26T11:00:00Z') + n * 1000).toISOString(),
  });
  const letters = Array.from({ length: 250 }, (_, n) => letter(n));
  const paged = () => {
    stub.answers();
    stub.answer = ({ line }) => {
      const offset = Number(/offset=(\d+)/.exec(line)?.[1] ?? 0);
      return { body: { messages: letters.slice(offset, offset + 200) } };
    };
  };

  it('are filtered by what the server has no parameter for', async () => {
    paged();
    const words = ['dlq', 'list', '--partition', 'even', '--from', '2026-11-26T11:04:00Z'];
    const ran = await stub.svcctl([...words, '-o', 'jsonpath=.messages[*].transactionId']);
    expect(ran.out.split('\n')).toEqual(['t240', 't242', 't244', 't246', 't248', '']);
    expect(lines()).toHaveLength(2);
  });

  it('are retried one by one, each once', async () => {
    paged();
    const { answer } = stub;
    stub.answer = (asked, index) =>
      asked.line.includes('/t7/retry')
        ? { status: 500, body: { error: 'x' } }
        : answer(asked, index);
    const ran = await stub.svcctl('dlq drain --queue q --yes');
    expect([ran.code, ran.out]).toEqual([2, 'processed=249 errors=1\n']);
    expect(lines().filter((line) => line.endsWith('/retry'))).toHaveLength(250);
    paged();
    const dry = await stub.svcctl('dlq drain --dry-run');
    expect([dry.out, lines().length]).toEqual(['[dry-run] would retry 250 dead letters\n', 2]);
  });

  it('are not retried after a failure of the connection', async () => {
    stub.answers({ body: { messages: letters.slice(0, 9) } }, { cut: true });
    const ran = await stub.svcctl('dlq drain --yes');
    expect([ran.code, stub.asked.length]).toEqual([2, 2]);
  });

  it('are replayed in slices', async () => {
    const slice = { moved: 2, duplicates: 1, refused: 0 };
    stub.answers({ body: { ...slice, cursor: 'c.1' } }, { body: { ...slice, cursor: null } });
    const ran = await stub.svcctl('dlq redrive q --cg g --from 2026-01-31');
    expect([ran.code, ran.out]).toEqual([0, 'moved=4 duplicates=2 refused=0\n']);
    const body = { queue: 'q', consumerGroup: 'g', from: '2026-01-31T00:00:00.000Z', limit: 200 };
    expect(bodies()).toEqual([
      { ...body, cursor: null },
      { ...body, cursor: 'c.1' },
    ]);
  });
});

it.each([
  'partition seek q p --cg g --to beginning',
  'partition seek q p',
  'lag --min-seconds x',
  'messages list --status done',
])('%s ends with 1 and sends nothing', async (words) => {
  expect((await stub.svcctl(words)).code).toBe(1);
  expect(stub.asked).toEqual([]);
});
