/** The commands of the message plane: what each sends, prints and ends with. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { temporaryHome } from '../base/world.fake.js';
import { type StubAnswer, StubServer } from './stub-server.fake.js';

const stub = new StubServer();
const home = temporaryHome();
const file = (name: string, text: string) => {
  const path = join(home.path, name);
  writeFileSync(path, text);
  return path;
};

beforeAll(() => stub.start());
afterAll(() => {
  stub.stop();
  home.remove();
});
beforeEach(() => stub.answers({ body: {} }));

const bodies = () => stub.asked.map(({ body }) => body);
const lines = () => stub.asked.map(({ line }) => line);

describe('push', () => {
  const queued = { status: 201, body: [{ status: 'queued' }, { status: 'duplicate' }] };

  it('sends lines in batches and says what became of them', async () => {
    stub.answers(queued, { status: 201, body: [{ status: 'error' }] });
    const input = ['{"a":1}\n\n{"a":', '2}\n', '3'];
    const words = 'push orders --batch 2 --partition p --transaction-id t --trace-id r';
    const ran = await stub.svcctl(words, { input });
    expect(ran).toMatchObject({ code: 0, out: 'queued=1 duplicate=1 failed=1\n', err: '' });
    const names = { queue: 'orders', partition: 'p', traceId: 'r' };
    expect(bodies()).toEqual([
      {
        items: [
          { ...names, transactionId: 't', payload: { a: 1 } },
          { ...names, payload: { a: 2 } },
        ],
      },
      { items: [{ ...names, payload: 3 }] },
    ]);
    const json = await stub.svcctl('push orders --data 1 -o jsonl');
    expect(json.out).toBe('{"queued":0,"duplicate":0,"failed":1}\n');
  });

  it('takes the partition from the payload where there is one', async () => {
    stub.answers(queued);
    const input = '{"c":{"id":"x"}}\n{"c":{"id":7}}\n{"c":{"id":true}}\n{"c":{"id":null}}\n{}';
    await stub.svcctl('push q --partition-key c.id --partition other', { input });
    const { items } = bodies()[0] as { readonly items: readonly { readonly partition: string }[] };
    expect(items.map(({ partition }) => partition)).toEqual(['x', '7', 'true', 'other', 'other']);
  });

  it('takes names from wrapped lines, and refuses others', async () => {
    stub.answers(queued);
    const wrapped = '{"transactionId":"t","partition":"p","data":{"n":1}}';
    const given = file('wrapped.ndjson', wrapped);
    await stub.svcctl(`push q --wrapped -f ${given}`);
    const item = { queue: 'q', transactionId: 't', partition: 'p', payload: { n: 1 } };
    expect(bodies()).toEqual([{ items: [item] }]);
    for (const input of ['{"n":1}', '{"data":1,"part":"x"}', '{"data":1,"partition":5}']) {
      expect((await stub.svcctl('push q --wrapped', { input })).code).toBe(1);
    }
  });

  it('refuses a line that is no JSON, after the batches before it', async () => {
    stub.answers(queued);
    const ran = await stub.svcctl('push q --batch 1', { input: '1\n{bad\n3' });
    expect([ran.code, ran.err]).toEqual([1, expect.stringMatching(/line 2 is no JSON/)]);
    expect(stub.asked).toHaveLength(1);
  });

  it('refuses a line of more than 16 MiB', async () => {
    const ran = await stub.svcctl('push q', { input: ['"', 'x'.repeat(17 * 2 ** 20), '"'] });
    expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('16 MiB')]);
  });

  it('ends with 4 for nothing, and sends nothing with --dry-run', async () => {
    expect(await stub.svcctl('push q', { input: '\n \n' })).toMatchObject({ code: 4, err: '' });
    const ran = await stub.svcctl('push q --dry-run', { input: '1\n2' });
    expect(ran.out).toBe('[dry-run] would push 2 messages to "q"\n');
    expect(stub.asked).toEqual([]);
    expect((await stub.svcctl('push q -f /nonexistent')).code).toBe(1);
  });
});

const MESSAGE = {
  queue: 'q',
  partition: 'p',
  transactionId: 't',
  partitionId: '1',
  createdAt: '2026-11-26T11:00:00Z',
  retryCount: 0,
  data: { n: 1 },
  leaseId: 'l',
  producerSub: null,
};
const popped = (...messages: readonly object[]) => ({ body: { messages } });

describe('pop', () => {
  it('prints lines of JSON whatever -o says', async () => {
    stub.answers(popped({ ...MESSAGE, offset: 5, traceId: null }));
    const ran = await stub.svcctl('pop q -o table --cg g -n 3 --timeout 2s --max-partitions 2');
    expect([ran.code, ran.out]).toEqual([0, `${JSON.stringify(MESSAGE)}\n`]);
    expect(lines()).toEqual([
      'GET /api/v1/pop/queue/q?consumerGroup=g&partitions=2&wait=true&timeout=2000&batch=3',
    ]);
  });

  it('prints payloads as they are stored, on one line', async () => {
    const payload = '{"n":12345678901234567891,"e":1e400,\r\n "price":12.50}';
    const { data, ...names } = MESSAGE;
    const text = JSON.stringify({ messages: [names] }).replace('}]', `,"data":${payload}}]`);
    stub.answers({ body: text }, { status: 204 });
    const shown = `"data":${payload.replace('\r\n', ' ')},`;
    for (const words of ['pop q', 'tail q']) {
      stub.answers({ body: text }, { status: 204 });
      const { out } = await stub.svcctl(words);
      expect([out.split('\n').length, out]).toEqual([2, expect.stringContaining(shown)]);
    }
  });

  it('ends with 4 without a text when there is nothing', async () => {
    stub.answers({ status: 204 });
    expect(await stub.svcctl('pop q --wait=false')).toMatchObject({ code: 4, out: '', err: '' });
    expect(lines()).toEqual(['GET /api/v1/pop/queue/q?wait=false&batch=1']);
    stub.answers(popped());
    expect((await stub.svcctl('pop --namespace n --no-wait')).code).toBe(4);
    expect(lines()).toEqual(['GET /api/v1/pop?namespace=n&wait=false&batch=1']);
  });

  it('takes its flags to the parameters of the route', async () => {
    stub.answers(popped(MESSAGE));
    await stub.svcctl('pop q --partition a/b --batch 9 --auto-ack --from-mode new --no-wait');
    await stub.svcctl('pop q --commit-on-delivery --since 1h --conflation --no-wait');
    expect(lines()).toEqual([
      'GET /api/v1/pop/queue/q/partition/a%2Fb?wait=false' +
        '&subscriptionMode=new&batch=9&autoAck=true',
      'GET /api/v1/pop/queue/q?conflation=true&wait=false' +
        '&subscriptionFrom=2026-11-26T11%3A00%3A00.000Z&batch=1&autoAck=true',
    ]);
  });

  it.each(['pop', 'pop q --task t', 'pop q -n none', 'pop --partition p --task t'])(
    'refuses %s',
    async (words) => {
      expect((await stub.svcctl(words)).code).toBe(1);
      expect(stub.asked).toEqual([]);
    },
  );
});

describe('tail', () => {
  it('prints what is there and ends', async () => {
    stub.answers(popped(MESSAGE, MESSAGE), popped(MESSAGE), { status: 204 });
    const ran = await stub.svcctl('tail q --from beginning');
    expect([ran.code, ran.out.split('\n').length]).toEqual([0, 4]);
    const line =
      'GET /api/v1/pop/queue/q?consumerGroup=svcctl-tail&wait=false' +
      '&subscriptionFrom=1970-01-01T00%3A00%3A00.000Z&batch=1000&autoAck=true';
    expect(lines()).toEqual([line, line, line]);
  });

  it('acknowledges after the line with --auto-ack, and ends at --limit', async () => {
    stub.answers(popped(MESSAGE, MESSAGE), { body: [{ success: true }] });
    const ran = await stub.svcctl('tail q -f -n 2 --batch 5 --auto-ack --timeout 1s --cg g');
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(lines()).toEqual([
      'GET /api/v1/pop/queue/q?consumerGroup=g&wait=true&timeout=1000&batch=2',
      'POST /api/v1/ack/batch',
    ]);
    const ack = { transactionId: 't', partitionId: '1', leaseId: 'l', status: 'completed' };
    expect(bodies()[1]).toEqual({ consumerGroup: 'g', acknowledgments: [ack, ack] });
  });

  it('asks for the next batch before it prints one, and ends by what that meets', async () => {
    stub.answers(popped(MESSAGE), { status: 403, body: { error: 'no' } });
    const ran = await stub.svcctl('tail q');
    expect([ran.code, ran.out.split('\n').length, stub.asked.length]).toEqual([3, 2, 2]);
  });

  it('goes on with -f until it is interrupted', async () => {
    const interrupt = new AbortController();
    stub.answer = (_, index) => {
      if (index === 3) interrupt.abort(new Error('interrupted'));
      return index % 2 === 0 ? popped(MESSAGE) : { status: 204 };
    };
    const ran = await stub.svcctl('tail q -f', { signal: interrupt.signal });
    expect(ran).toMatchObject({ code: 130, err: '' });
    expect(ran.out.split('\n')).toHaveLength(3);
  });

  it.each(['{}', '{"messages":null}'])('ends by an answer %s', async (body) => {
    stub.answers({ body });
    const ran = await stub.svcctl('tail q -f');
    expect([ran.code, ran.out, stub.asked.length]).toEqual([2, '', 1]);
    expect(ran.err).toContain('the answer has no messages: is this a broker?');
  });

  it('makes as many calls at a time as --concurrency', async () => {
    const waiting: ((answer: StubAnswer) => void)[] = [];
    stub.answer = () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 3) for (const answer of waiting) answer({ status: 204 });
      });
    expect((await stub.svcctl('tail q --concurrency 3')).code).toBe(0);
    expect(waiting).toHaveLength(3);
  });

  it('ends when nothing came for --idle-millis', async () => {
    let nowMs = 0;
    stub.answer = () => {
      nowMs += 60;
      return { status: 204 };
    };
    const ran = await stub.svcctl('tail q --idle-millis 100', { nowMs: () => nowMs });
    expect([ran.code, stub.asked.length]).toEqual([0, 2]);
  });
});

describe('ack', () => {
  const done = { body: [{ success: true }] };

  it('sends one, and says when it was refused', async () => {
    stub.answers(done);
    const words = 'ack t --partition-id 1 --lease-id l --cg g --error late';
    expect(await stub.svcctl(words)).toMatchObject({ code: 0, out: 'acknowledged=1\n' });
    const names = { transactionId: 't', partitionId: '1', leaseId: 'l', consumerGroup: 'g' };
    expect(bodies()).toEqual([{ ...names, status: 'failed', error: 'late' }]);
    stub.answers({ body: [{ success: false, transactionId: 't', error: 'invalid lease' }] });
    const refused = await stub.svcctl('ack t --partition-id 1');
    expect([refused.code, refused.err]).toEqual([
      2,
      'svcctl: not acknowledged: t: invalid lease\n',
    ]);
    await stub.svcctl('ack t --partition-id 1 --failed');
    expect(bodies()[1]).toEqual({ transactionId: 't', partitionId: '1', status: 'failed' });
    expect((await stub.svcctl('ack t')).code).toBe(1);
    expect((await stub.svcctl('ack')).code).toBe(1);
  });

  it('takes the lines of a pop', async () => {
    stub.answers(done);
    const input = `${JSON.stringify(MESSAGE)}\n`;
    expect((await stub.svcctl('ack --batch - --cg g', { input })).code).toBe(0);
    const ack = { transactionId: 't', partitionId: '1', leaseId: 'l', status: 'completed' };
    expect(stub.asked[0]).toMatchObject({
      line: 'POST /api/v1/ack/batch',
      body: { consumerGroup: 'g', acknowledgments: [ack] },
    });
    expect((await stub.svcctl('ack --batch -', { input: '' })).code).toBe(4);
    expect((await stub.svcctl('ack --batch -', { input: '{}' })).code).toBe(1);
  });
});

describe('tx', () => {
  const tx = (text: string) => stub.svcctl('tx -f -', { input: text });
  const push = '{type: push, items: [{queue: q, payload: 1}]}';
  const ack = '{type: ack, transactionId: t, partitionId: "1"}';

  it('lends the only lease to acks without one', async () => {
    stub.answers({ body: { success: true, transactionId: 'tx-1' } });
    const ran = await tx(`operations: [${push}, ${ack}]\nrequiredLeases: [l]`);
    expect([ran.code, ran.out]).toEqual([0, 'committed tx-1\n']);
    expect(bodies()).toEqual([
      {
        operations: [
          { type: 'push', items: [{ queue: 'q', payload: 1 }] },
          { type: 'ack', transactionId: 't', partitionId: '1', leaseId: 'l' },
        ],
      },
    ]);
  });

  it.each([
    ['several leases and an ack without one', `operations: [${ack}]\nrequiredLeases: [a, b]`],
    ['an operation of another type', 'operations: [{type: kv}]'],
    ['no operations', 'operations: []'],
    ['a member that is not known', `operations: [${push}]\nkv: []`],
    ['two documents', `operations: [${push}]\n---\noperations: [${push}]`],
    ['broken YAML', 'operations: ['],
    ['a number that JSON cannot hold', 'operations: [{type: push, items: [{payload: .nan}]}]'],
  ])('refuses %s and sends nothing', async (_, text) => {
    expect((await tx(text)).code).toBe(1);
    expect(stub.asked).toEqual([]);
  });

  it('ends with 2 when it was rolled back, and sends nothing with --dry-run', async () => {
    stub.answers({ body: { success: false, reason: 'rejected_ack', error: 'no lease' } });
    const ran = await tx(`operations: [${ack}]`);
    expect([ran.code, ran.err]).toEqual([2, 'svcctl: rolled back: rejected_ack: no lease\n']);
    stub.answers({});
    const dry = await stub.svcctl('tx -f - --dry-run', { input: `operations: [${push}]` });
    expect([dry.code, stub.asked.length]).toEqual([0, 0]);
  });
});

it('lease extend says until when', async () => {
  stub.answers({ body: { success: true, newExpiresAt: '2026-11-26T12:05:00Z' } });
  const ran = await stub.svcctl('lease extend l --seconds 9');
  expect(bodies()).toEqual([{ seconds: 9 }]);
  expect(ran.out).toBe('renewed l -> 2026-11-26T12:05:00Z\n');
  stub.answers({ body: { success: false, renewed: 0 } });
  expect((await stub.svcctl('lease extend l')).code).toBe(2);
});

describe('replay', () => {
  it('moves a group at one queue or at all of its queues', async () => {
    stub.answers({ body: { success: true } });
    const one = await stub.svcctl('replay q --cg g --to 2026-01-31');
    expect(one.out).toBe('moved "g" at "q" to 2026-01-31T00:00:00.000Z\n');
    expect(stub.asked[0]).toMatchObject({
      line: 'POST /api/v1/consumer-groups/g/queues/q/seek',
      body: { timestamp: '2026-01-31T00:00:00.000Z' },
    });
    const groups = ['a', 'b'].map((queueName) => ({ name: 'g', queueName }));
    stub.answers({ body: [...groups, { name: 'h', queueName: 'c' }] }, { body: {} });
    await stub.svcctl('replay --cg g --to end');
    expect(lines().slice(1)).toEqual([
      'POST /api/v1/consumer-groups/g/queues/a/seek',
      'POST /api/v1/consumer-groups/g/queues/b/seek',
    ]);
    expect(bodies()[1]).toEqual({ toEnd: true });
  });

  it('sends nothing for --dry-run or without a time', async () => {
    expect((await stub.svcctl('replay q --cg g --to now --dry-run')).code).toBe(0);
    for (const words of ['replay q --cg g', 'replay q --to end', 'replay q --cg g --to soon']) {
      expect((await stub.svcctl(words)).code).toBe(1);
    }
    expect(stub.asked).toEqual([]);
  });
});

describe('ephemeral', () => {
  it('pushes, pops and settles', async () => {
    stub.answers({ status: 201, body: { pushed: 2 } });
    const input = '{"u":"a"}\n{"u":"b"}';
    expect((await stub.svcctl('eph push q --partition r', { input })).out).toBe('pushed=2\n');
    const messages = [{ payload: { u: 'a' } }, { payload: { u: 'b' } }];
    expect(bodies()).toEqual([{ queue: 'q', partition: 'r', messages }]);
    expect((await stub.svcctl('ephemeral push q', { input: '' })).code).toBe(4);

    const found = { id: 'e:1', partition: 'r', attempts: 0, payload: { u: 'a' } };
    stub.answers({ body: { messages: [found] } });
    const pop = await stub.svcctl('ephemeral pop q --cg g -n 5 --timeout 1s -o yaml');
    const { id, partition, attempts, payload } = found;
    const line = { queue: 'q', id, partition, attempts, payload };
    expect(pop.out).toBe(`${JSON.stringify(line)}\n`);
    expect(lines()).toEqual([
      'GET /api/v1/ephemeral/pop?queue=q&group=g&batch=5&wait=true&timeout=1000',
    ]);
    stub.answers({ body: { messages: [] } });
    expect(await stub.svcctl('ephemeral pop q --no-wait')).toMatchObject({ code: 4, out: '' });

    stub.answers({ body: { results: [{ id: 'e:1', outcome: 'acked' }] } });
    const ack = await stub.svcctl('ephemeral ack q --cg g', { input: pop.out });
    expect([ack.code, ack.out]).toEqual([0, 'e:1\tacked\n']);
    expect(bodies()).toEqual([
      { queue: 'q', group: 'g', acks: [{ id: 'e:1', status: 'completed' }] },
    ]);
    stub.answers({ body: { results: [{ id: 'e:1', outcome: 'stale' }] } });
    expect((await stub.svcctl('ephemeral ack q e:1')).code).toBe(2);
  });

  it('sends the options that are written and no others', async () => {
    const words = 'ephemeral configure q --max-length 0 --policy dropOldest --max-bytes 9';
    expect((await stub.svcctl(words)).out).toBe('configured "q"\n');
    await stub.svcctl('ephemeral configure q --window-ms 5 --window-count 2');
    await stub.svcctl('ephemeral configure q --ttl-seconds 1 --lease-seconds 2 --retry-limit 3');
    expect(bodies()).toEqual([
      { queue: 'q', options: { maxLength: 0, policy: 'dropOldest', maxBytes: 9 } },
      { queue: 'q', options: { windowBuffer: { ms: 5, count: 2 } } },
      { queue: 'q', options: { ttlSeconds: 1, leaseSeconds: 2, retryLimit: 3 } },
    ]);
    expect((await stub.svcctl('ephemeral configure q --window-ms 5')).code).toBe(1);
  });

  it('asks before it drops', async () => {
    stub.answers({ body: { dropped: 3 } });
    expect((await stub.svcctl('ephemeral reset q')).code).toBe(1);
    expect((await stub.svcctl('ephemeral delete q', { terminal: true, answers: ['n'] })).code).toBe(
      1,
    );
    expect(stub.asked).toEqual([]);
    expect((await stub.svcctl('ephemeral reset q --yes')).out).toBe('dropped=3\n');
    const asked = await stub.svcctl('ephemeral delete q', { terminal: true, answers: ['y'] });
    expect(asked.out).toBe('deleted "q"\n');
    expect(lines()[1]).toBe('DELETE /api/v1/ephemeral/queue/q');
  });

  it('lists', async () => {
    const queue = { queue: 'q', tier: 'declared', depth: 1234, bytes: 5, partitions: 1, groups: 0 };
    stub.answers({ body: { queues: [queue], nextAfter: null } });
    expect((await stub.svcctl('ephemeral queues -o table')).out).toBe(
      'QUEUE   TIER       DEPTH   BYTES   PARTITIONS   GROUPS\n' +
        'q       declared   1,234   5       1            0\n',
    );
  });
});
