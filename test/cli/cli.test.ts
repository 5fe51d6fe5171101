/**
 * The command line against a real node: that what the commands send is what the node takes, and
 * what they print is what it answers. Exit codes and forms are tested against a stub, beside the
 * commands.
 */
import { run, type World } from '@svc/cli';
import { describe, expect, it } from 'vitest';
import { uniqueQueue, useNode } from '../contract/node-fixture.js';

const node = useNode();

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function svcctl(words: string | readonly string[], input = ''): Promise<Ran> {
  const texts = { out: '', err: '' };
  const into = (name: 'out' | 'err') => ({
    isTerminal: false,
    write: async (text: string) => {
      texts[name] += text;
    },
  });
  const world: World = {
    env: { SVC_SERVER: `http://127.0.0.1:${node.port}` },
    homeFolder: '/nonexistent',
    input: {
      isTerminal: false,
      parts: async function* () {
        yield input;
      },
    },
    output: into('out'),
    errors: into('err'),
    credentials: { read: async () => null, write: async () => false, remove: async () => {} },
    signal: new AbortController().signal,
    nowMs: () => Date.now(),
    ask: async () => '',
    browse: async () => false,
  };
  const code = await run(typeof words === 'string' ? words.split(' ') : words, world);
  return { code, ...texts };
}

/** The output of a command that succeeds. */
async function out(words: string | readonly string[], input = ''): Promise<string> {
  const ran = await svcctl(words, input);
  expect({ words, code: ran.code, err: ran.err }).toEqual({ words, code: 0, err: '' });
  return ran.out;
}

describe('messages', () => {
  it('are pushed, popped, acknowledged and gone', async () => {
    const queue = uniqueQueue('cli');
    const input = '{"n":1}\n{"n":12345678901234567891}\n';
    expect(await out(`push ${queue} --partition p`, input)).toBe('queued=2 duplicate=0 failed=0\n');
    const popped = await out(`pop ${queue} --cg g -n 10`);
    expect(popped.split('\n').map((line) => /"data":(\{.*?\})/.exec(line)?.[1])).toEqual([
      '{"n":1}',
      '{"n":12345678901234567891}',
      undefined,
    ]);
    const { leaseId } = JSON.parse(popped.split('\n')[0] ?? '') as { readonly leaseId: string };
    expect(await out(`lease extend ${leaseId} --seconds 60`)).toMatch(/^renewed .* -> 20/);
    expect(await out('ack --batch - --cg g', popped)).toBe('acknowledged=2\n');
    expect(await svcctl(`pop ${queue} --cg g --no-wait`)).toEqual({ code: 4, out: '', err: '' });
    const late = await svcctl('ack --batch - --cg other', popped);
    expect([late.code, late.out]).toEqual([2, '']);
    await out(`replay ${queue} --cg g --to beginning`);
    expect((await out(`tail ${queue} --cg g --auto-ack`)).split('\n')).toHaveLength(3);
    expect((await out(`tail ${queue}`)).split('\n')).toHaveLength(3);
    expect(await out(`tail ${queue}`)).toBe('');
  });

  it('are moved by a transaction of a file', async () => {
    const [from, to] = [uniqueQueue('cli'), uniqueQueue('cli')];
    await out(`push ${from} --data 1 --transaction-id t`);
    const message = JSON.parse(await out(`pop ${from}`)) as Record<string, string>;
    const { partitionId, leaseId } = message;
    const tx = `
requiredLeases: [${leaseId}]
operations:
  - {type: ack, transactionId: t, partitionId: "${partitionId}"}
  - {type: push, items: [{queue: ${to}, payload: {moved: true}}]}
`;
    expect(await out('tx -f -', tx)).toMatch(/^committed /);
    expect((await svcctl('tx -f -', tx)).code).toBe(2);
    expect(await out(`pop ${to}`)).toContain('{"moved":true}');
  });

  it('that failed are dead letters, and are brought back', async () => {
    const queue = uniqueQueue('cli');
    await out(`queue configure ${queue} --retry-limit 0 --lease-time 30`);
    await out(`push ${queue} --data {"a":1} --transaction-id t`);
    const popped = await out(`pop ${queue}`);
    await out('ack --batch - --error declined', popped);
    expect(await out(`dlq list --queue ${queue} -o table`)).toMatch(/\nt .* declined\n$/);
    expect(await out(`dlq redrive ${queue}`)).toBe('moved=1 duplicates=0 refused=0\n');
    await out('ack --batch - --failed', await out(`pop ${queue}`));
    expect(await out(`dlq drain --queue ${queue} --yes`)).toBe('processed=1 errors=0\n');
    const path = '-o=jsonpath=.messages[*].partitionId'.replace('-o=', '-o');
    const [partition = ''] = (await out(['messages', 'list', '--queue', queue, path])).split('\n');
    expect(await out(`messages get ${partition} t -o yaml`)).toContain('transactionId: t');
    expect(await out(`messages traces ${partition} t -o jsonl`)).toBe('');
  });
});

describe('queues and groups', () => {
  it('are what the documents of a file say', async () => {
    const queue = uniqueQueue('cli');
    await out(`queue configure ${queue} --lease-time 77 --dlq=false --namespace n`);
    const options = `queue describe ${queue} -o jsonpath=.options.`;
    expect(await out(`${options}leaseTime`)).toBe('77\n');
    expect(await out(`${options}deadLetterQueue`)).toBe('false\n');
    const document = `name: ${queue}\nconfig: {retryLimit: 5}\n`;
    expect(await out('apply -f -', document)).toBe(`applied Queue "${queue}"\n`);
    expect(await out(`${options}leaseTime`)).toBe('300\n');
    expect(await out(`${options}retryLimit`)).toBe('5\n');
    await out(`push ${queue} --data 1`);
    await out(`pop ${queue} --cg ${queue}`);
    const group = `---\nkind: ConsumerGroup\nname: ${queue}\nqueue: ${queue}\nseek-to: end\n`;
    await out('apply -f -', document + group);
    expect(await out('lag -o table')).toMatch(new RegExp(`${queue} +${queue} +0 `));
    expect(await out(`queue depth ${queue} -o jsonpath=.pending`)).toMatch(/^\d\n$/);
    expect(await out('queue list -o table')).toContain(queue);
    expect(await out(`status ${queue} -o table`)).toContain(queue);
    expect(await out(`partition list ${queue} -o table`)).toContain('Default');
    await out(`partition seek ${queue} Default --cg ${queue}`);
    await out(`cg describe ${queue} -o table`);
    await out(`cg delete ${queue} --queue ${queue} --metadata --yes`);
    expect(await out(`queue delete ${queue} --yes`)).toBe(`deleted "${queue}"\n`);
    expect((await svcctl(`queue describe ${queue}`)).code).toBe(2);
  });
});

describe('keys, timers, locks and queues in memory', () => {
  it('are written and read', async () => {
    expect(await out('kv put cli a/b {"n":1} --ttl 1h')).toMatch(/^wrote cli\/a\/b version=\d+\n$/);
    expect(await out('kv get cli a/b -o jsonpath=.value.n')).toBe('1\n');
    expect(await out('kv incr cli count 5')).toBe('5\n');
    expect((await svcctl('kv put cli a/b 2 --if-absent')).code).toBe(2);
    expect(await out('kv list cli -o table --no-headers')).toMatch(/^a\/b .*\ncount .*\n$/);
    await out('kv delete cli a/b');
    expect((await svcctl('kv get cli a/b')).code).toBe(4);

    await out('timer schedule cli k --delay 1h --data {"a":1}');
    expect(await out('timer peek cli k -o jsonpath=.payload.a')).toBe('1\n');
    expect(await out('timer list cli -o table')).toContain('k  ');
    expect(await out('timer list -o table')).toContain('cli');
    expect(await out('timer cancel cli k')).toBe('cancelled cli/k\n');

    const token = /token=(\d+)/.exec(await out('lock acquire cli --owner o'))?.[1] ?? '';
    expect((await svcctl('lock acquire cli --owner p')).code).toBe(4);
    const renewed = /token=(\d+)/.exec(await out(`lock renew cli ${token}`))?.[1] ?? '';
    expect(await out('lock list -o table')).toMatch(/cli +0 +o /);
    expect(await out('lock get cli -o table')).toMatch(/0 +o /);
    await out(`lock release cli ${renewed}`);

    await out('ephemeral configure cli --ttl-seconds 60');
    expect(await out('ephemeral push cli --partition p --data 1')).toBe('pushed=1\n');
    const popped = await out('ephemeral pop cli --partition p --cg g');
    expect(await out('ephemeral ack cli --cg g', popped)).toMatch(/\tacked\n$/);
    expect(await out('ephemeral queues -o table')).toContain('cli');
    expect(await out('ephemeral reset cli --yes')).toMatch(/^dropped=\d\n$/);
    expect(await out('ephemeral delete cli --yes')).toBe('deleted "cli"\n');
  });
});

describe('the node and its figures', () => {
  it.each([
    'ping',
    'version',
    'status',
    'metrics',
    'metrics --prometheus',
    'cluster status',
    'cluster members',
    'cluster transfer 1',
    'link status',
    'stream list',
    'namespace list',
    'task list',
    'cg list',
    'cg lag',
    'cg refresh-stats',
    'traces names',
    'traces by-name none',
    'queue stats',
    'analytics overview',
    'analytics queue-lag --from 1h',
    'analytics queue-ops',
    'analytics queue-parked',
    'analytics retention',
    'analytics system',
    'analytics worker',
  ])('%s', async (words) => {
    expect(await out(`${words} -o table`)).not.toBe('');
  });

  it('maintenance ends with 1, and a promotion of what is no standby with 2', async () => {
    expect((await svcctl('maintenance get')).code).toBe(1);
    expect((await svcctl('link promote --yes')).code).toBe(2);
  });

  it('bench pushes and drains', async () => {
    const ran = await out('bench --total 500 --batch 50 --queue cli-bench --auto-delete');
    expect(ran).toMatch(/^PUSH 500 .*\nPOP 500 .*\nRESIDENCY p50=\d+ms p95=\d+ms p99=\d+ms\n$/);
    expect((await svcctl('queue describe cli-bench')).code).toBe(2);
  });
});
