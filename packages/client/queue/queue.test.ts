// Goal: misuse fails before anything is sent, with a text that says what to write instead; and each
// step is sent as the wire has it. Method: calls that types would forbid, and a scripted broker.
import { describe, expect, test, vi } from 'vitest';
import { FakePlatform, lostConnection, type Reply } from '../base/platform.fake.js';
import type { StandardSchema } from '../base/standard-schema.js';
import { Client } from '../client.js';

/** A client without types, as JavaScript has it. */
interface Untyped {
  // biome-ignore lint/suspicious/noExplicitAny: what a program without types may call
  [step: string]: (...given: readonly unknown[]) => any;
}

function clientOf(reply: Reply = '{}') {
  const platform = new FakePlatform(() => reply);
  const client = new Client('http://a:1', platform);
  return { platform, client, untyped: client as unknown as Untyped };
}

const message = { transactionId: 't', partitionId: '1', leaseId: 'l' };

type Step = (client: Untyped, queue: Untyped) => unknown;

const MISUSE: readonly [step: Step, text: string][] = [
  [(_, q) => q.push?.('text'), 'push got "text", which has no payload: write push({ payload: ...'],
  [(_, q) => q.push?.({ n: 1 }), 'which has no payload: write push({ payload: ... })'],
  [(_, q) => q.push?.([{ payload: 1 }, null]), 'push got null, which has no payload'],
  [
    (_, q) => q.push?.({ payload: 1, key: 2 }),
    'has no option key: its options are payload, partition, transact',
  ],
  [(_, q) => q.push?.({ payload: { a: 1n } }), 'payload.a is a BigInt: write it as a text'],
  [(_, q) => q.push?.([{ payload: undefined }]), 'items[0].payload is undefined: write null'],
  [(_, q) => q.push?.({ payload: 1, partition: '' }), 'partition is "": write a text'],
  [(_, q) => q.push?.({ payload: 1, transactionId: 7 }), 'transactionId is 7: write a text, or'],
  [(c) => c.queue?.(''), 'the name of a queue is "": write a text'],
  [(c) => c.queue?.('q', { schema: {} }), 'write a validator of the Standard Schema shape'],
  [(c) => c.queue?.().push({ payload: 1 }), "needs the name of a queue: write client.queue('ord"],
  [(c) => c.queue?.().buffer().push({ payload: 1 }), 'push needs the name of a queue'],
  [(c) => c.queue?.().pop(), "pop needs a queue, or the labels of some: write client.queue('or"],
  [
    (c) => c.queue?.().task('t').partition('p').pop(),
    "needs its queue: write client.queue('orders",
  ],
  [(c) => c.queue?.().create(), 'create needs the name of a queue'],
  [(c) => c.queue?.('..').pop(), '".." is no name that a path can hold'],
  [(_, q) => q.batch?.(0), 'batch is 0: write a whole number from 1'],
  [(_, q) => q.partitions?.(65), 'partitions is 65: write a whole number from 1 to 64'],
  [(_, q) => q.timeoutMillis?.('2m'), 'timeoutMillis is 120000: the broker waits 60000 ms at most'],
  [(_, q) => q.wait?.('yes'), 'wait is "yes": write true or false'],
  [(_, q) => q.subscriptionMode?.('newest'), 'is "newest": write one of "all", "new"'],
  [(_, q) => q.subscriptionFrom?.('soon'), `is "soon": write 'now', a Date or an ISO time`],
  [(_, q) => q.conflation?.().pop(), "conflation needs a consumer group: write group('name')"],
  [(_, q) => q.group?.('g').conflation().commitOnDelivery().pop(), 'exclude each other'],
  [(_, q) => q.config?.('x'), 'config got "x" where its options belong: write an object'],
  [(_, q) => q.config?.({ leaseSeconds: 5 }), 'config has no option leaseSeconds: write leaseTime'],
  [(_, q) => q.config?.({ zzz: 5 }), 'config has no option zzz: its options are leaseTime'],
  [(_, q) => q.config?.({ leaseTime: '60' }), 'config.leaseTime is "60": write a number, or null'],
  [(_, q) => q.config?.({ encryptionEnabled: 1 }), 'config.encryptionEnabled is 1: write a bool'],
  [(_, q) => q.buffer?.({ maxsize: 9 }), 'buffer has no option maxsize: write maxSize'],
  [(_, q) => q.consume?.(() => 0, { sginal: 1 }), 'consume has no option sginal: write signal'],
  [
    (_, q) => q.consume?.(() => 0, { supervision: { name: 'x' } }),
    'supervision has no option name',
  ],
  [(_, q) => q.messages?.({ idle: 1 }).next(), 'messages has no option idle'],
  [
    (c) => c.queue?.('q', { validator: 1 }),
    'queue has no option validator: its options are schema',
  ],
  [(c) => c.ack?.(message, true, { consumerGroup: 'g' }), 'ack has no option consumerGroup: write'],
  [
    (c) => c.transaction?.().once('k', { ttlSeconds: 1 }),
    'once has no option ttlSeconds: write ttl',
  ],
  [(c) => c.transaction?.().timer({ key: 'k', dely: 1 }), 'timer has no option dely: write delay'],
  [
    (c) => c.transaction?.().ack(message, true, { eror: 'x' }),
    'ack has no option eror: write error',
  ],
  [(_, q) => q.buffer?.({ messageCount: 9, maxSize: 3 }).push({ payload: 1 }), 'less than a batch'],
  [(_, q) => q.consume?.(), 'consume is undefined: write consume(async (messages) => { ... })'],
  [
    (_, q) =>
      q
        .leaseTime?.('10s')
        .renewLease(true, '10s')
        .consume(() => 0),
    'renewLease is every 10000 ms, and leaseTime 10 s: write an interval that is shorter',
  ],
  [(_, q) => q.each?.().consume(7), 'write consume(async (message) => { ... })'],
  [(_, q) => q.commitOnDelivery?.().consume(() => 0), 'leave commitOnDelivery out, or use pop'],
  [(_, q) => q.wait?.(false).consume(() => 0), 'leave wait(false) out; idleMillis ends it'],
  [(_, q) => q.consume?.(() => 0, { supervision: { group: '.x' } }), 'supervision.group is ".x"'],
  [
    (_, q) => q.concurrency?.(5000).consume(() => 0, { supervision: { group: 'x' } }),
    'concurrency is 5000, of which supervision shows 4096',
  ],
  [(_, q) => q.dlq?.().limit(0), 'limit is 0: write a whole number'],
  [(_, q) => q.dlq?.().from('yesterday'), 'from is "yesterday": write a number of milliseconds'],
  [(_, q) => q.consume?.(() => 0, { signal: new AbortController() }), 'signal is an object: write'],
  [(_, q) => q.messages?.({ signal: 5 }).next(), 'signal is 5: write the signal of an AbortContr'],
  [(c) => c.kv?.('n').get('k', { signal: new AbortController() }), 'signal is an object: write'],
  [(c) => c.lock?.('n').acquire({ signal: 1 }), 'signal is 1: write the signal of an AbortContr'],
  [(c) => c.kv?.('n').get('\ud800'), 'the key is "\\ud800": write a text that is not empty, with'],
  [(c) => c.queue?.('\ud800').pop(), 'holds half of a character: write a text that is whole'],
  [(c) => c.ack?.(message, false, { error: new Error('x') }), 'the error of an ack is an object'],
  [(c) => c.ack?.({ ...message, _error: 5 }), 'the error of an ack is 5: write a text'],
  [(c) => c.ack?.(message, false, { group: 5 }), 'group is 5: write a text'],
  [(c) => c.ack?.({ transactionId: 't' }), 'write a message of a pop, or its transactionId and'],
  [(c) => c.ack?.([message, { ...message, partitionId: 1 }]), 'write a message of a pop'],
  [(c) => c.ack?.(message, 'done'), 'is "done": write one of true, false, "completed", "failed"'],
  [(c) => c.renew?.({}), 'the lease is an object: write a message, or its leaseId'],
  [(c) => c.renew?.('l', 'soon'), 'the time of renew is "soon": write a number of milliseconds'],
  [(c) => c.transaction?.().commit(), 'the transaction is empty: add ack, push, kv or timer'],
  [(c) => c.transaction?.().push({ payload: 1 }), 'write queue(name).push(...)'],
  [(c) => c.transaction?.().queue('q').push({}).commit(), 'which has no payload'],
  [(c) => c.transaction?.().kv('put'), "write { op: 'put', ns, key, value, forever: true }"],
  [
    (c) => c.transaction?.().timer({ queue: 'q', key: 'k', at: 'soon', payload: 1 }),
    'at is "soon"',
  ],
  [
    (c) => c.transaction?.().timer({ queue: 7, key: 'k', delay: 1, payload: 1 }),
    'queue is 7: write',
  ],
  [(c) => c.deleteConsumerGroup?.('g', 'no'), 'deleteMetadata is "no": write true or false'],
  [(c) => c.updateConsumerGroupTimestamp?.('g', 'soon'), 'the time of a group is "soon": write a'],
  [(c) => c.updateConsumerGroupTimestamp?.('g', new Date('x')), 'the time of a group is an object'],
  [(c) => c.transaction?.().timer({ key: 'k' }), 'write timer({ queue, key, ... })'],
  [(c) => c.transaction?.().queue('q').timer({ key: 'k', payload: 1 }), 'one of delay ("30s") and'],
];

test.each(MISUSE)('misuse %#', async (step, text) => {
  const { platform, client, untyped } = clientOf();
  const run = async () => step(untyped, client.queue('q') as unknown as Untyped);
  const error: unknown = await platform.settled(run().catch((thrown: unknown) => thrown));
  expect(error).toBeInstanceOf(TypeError);
  expect((error as Error).message).toContain(text);
  expect(platform.requests).toEqual([]);
});

describe('what is sent', () => {
  test('a push with minted ids; a duplicate of one counts as stored', async () => {
    const duplicate = { status: 'duplicate', message_id: 'm' };
    const { platform, client } = clientOf({ status: 201, json: [duplicate, duplicate] });
    const items = [{ payload: 1 }, { payload: 2, transactionId: 't', partition: 'p' }];
    const results = await platform.settled(client.queue('q').push(items).then());
    expect(results.map(({ status }) => status)).toEqual(['queued', 'duplicate']);
    const sent = JSON.parse(platform.requests[0]?.body ?? '') as { items: object[] };
    expect(sent.items).toEqual([
      { queue: 'q', partition: 'Default', transactionId: results[0]?.transactionId, payload: 1 },
      { queue: 'q', partition: 'p', transactionId: 't', payload: 2 },
    ]);
    expect(results[0]?.transactionId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/);
  });

  test('a push whose error is taken does not reject', async () => {
    const { platform, client } = clientOf({ status: 400, json: { code: 'bad_body' } });
    const errors: unknown[] = [];
    const push = client
      .queue('q')
      .push({ payload: 1 })
      .onError((error) => errors.push(error));
    expect(await platform.settled(push.then())).toEqual([]);
    expect(errors).toMatchObject([{ code: 'bad_body' }]);
  });

  test('a pop with all that it may name', async () => {
    const { platform, client } = clientOf({ status: 204 });
    const queue = client.queue('q').group('g').batch(5).partitions(2).leaseTime('30s');
    await platform.settled(queue.timeoutMillis(1000).subscriptionFrom('now').pop());
    await platform.settled(queue.partition('p').wait(false).pop());
    await platform.settled(client.queue().task('t').autopilot().pop());
    expect(platform.requests.map(({ path }) => path)).toEqual([
      '/api/v1/pop/queue/q?consumerGroup=g&batch=5&partitions=2&wait=true&timeout=1000' +
        '&leaseSeconds=30&subscriptionFrom=now',
      '/api/v1/pop/queue/q/partition/p?consumerGroup=g&batch=5&partitions=2&wait=false' +
        '&leaseSeconds=30',
      '/api/v1/pop?task=t&wait=true&timeout=30000&autopilot=true',
    ]);
  });

  test('a trace that fails is no error; a client at the end of its block is closed', async () => {
    const row = { ...message, data: 1 };
    const platform = new FakePlatform(({ path }) =>
      path.startsWith('/api/v1/pop') ? { json: { messages: [row] } } : { status: 500 },
    );
    const client = new Client({ url: 'http://a:1', retryAttempts: 1 }, platform);
    const [popped] = await platform.settled(client.queue('q').pop());
    expect(await platform.settled(popped?.trace({ data: 1n }) ?? Promise.reject())).toBe(false);
    expect(await platform.settled(popped?.trace({ data: 1 }) ?? Promise.reject())).toBe(false);
    expect(platform.requests).toHaveLength(2);
    await platform.settled(client[Symbol.asyncDispose]());
    const late = platform.settled(client.queue('q').pop());
    await expect(late).rejects.toMatchObject({ code: 'closed' });
  });

  test('a pop goes to the server of its queue, partition and group', async () => {
    const serversOf = async (pops: (queue: ReturnType<Client['queue']>, i: number) => unknown) => {
      const platform = new FakePlatform(() => ({ status: 204 }));
      const client = new Client(['http://a:1', 'http://b:1', 'http://c:1'], platform);
      const queue = client.queue('q').group('g').wait(false);
      for (let i = 0; i < 30; i++) await platform.settled(Promise.resolve(pops(queue, i)));
      return new Set(platform.requests.map(({ server }) => server)).size;
    };
    expect(await serversOf((queue) => queue.pop())).toBe(1);
    expect(await serversOf((queue, i) => queue.partition(`p${i}`).pop())).toBe(3);
    expect(await serversOf((queue, i) => queue.group(`g${i}`).pop())).toBe(3);
  });

  test('autopilot leaves numbers to the broker, unless the environment turns it off', async () => {
    const { platform, client } = clientOf({ status: 204 });
    const queue = client.queue('q').autopilot().wait(false);
    await platform.settled(queue.pop());
    vi.stubEnv('SVC_SDK_POP_AUTOPILOT', 'off');
    await platform.settled(queue.pop());
    vi.unstubAllEnvs();
    expect(platform.requests.map(({ path }) => path.split('?')[1])).toEqual([
      'wait=false&autopilot=true',
      'batch=1&wait=false',
    ]);
  });

  test('a pop asks the schema; what does not fit throws where it is looked at', async () => {
    const messages = [{ data: '1' }, { data: 'x' }];
    const { platform, client } = clientOf({ json: { messages } });
    const validate = async (value: unknown) =>
      Number.isNaN(Number(value)) ? { issues: [{ message: 'no' }] } : { value: Number(value) };
    const schema = { '~standard': { validate } } as StandardSchema<string, number>;
    const [fits, misfit] = await platform.settled(client.queue('q', { schema }).batch(2).pop());
    expect(fits?.data).toBe(1);
    expect(misfit?.raw).toBe('"x"');
    expect(() => misfit?.data).toThrow('data: no');
  });

  test('what a lost pop had acknowledged is told; an earlier try may have deleted', async () => {
    const platform = new FakePlatform((_, nth) => (nth % 2 === 0 ? lostConnection() : '{}'));
    const queue = new Client('http://a:1', platform).queue('q');
    const popped = platform.settled(queue.commitOnDelivery().pop());
    await expect(popped).rejects.toMatchObject({ outcomeUnknown: true });
    expect(await platform.settled(queue.delete())).toBe(false);
    expect(await platform.settled(queue.delete())).toBe(true);
  });

  test('acks: one call for each group, results in the order of the request', async () => {
    const platform = new FakePlatform(({ body }) => {
      const { acknowledgments } = JSON.parse(body ?? '') as { acknowledgments: object[] };
      return { json: acknowledgments.map((one) => ({ ...one, success: true })) };
    });
    const client = new Client('http://a:1', platform);
    const acks = ['a', 'b', 'a'].map((consumerGroup, i) => {
      return { ...message, transactionId: `${i}`, consumerGroup };
    });
    const marked = { ...acks[2], ...message, _status: 'dlq' as const, _error: 'why' };
    const given = [...acks.slice(0, 2), { ...marked, transactionId: '2', consumerGroup: 'a' }];
    const results = await platform.settled(client.ack(given, false));
    expect(results.map(({ transactionId }) => transactionId)).toEqual(['0', '1', '2']);
    const sent = platform.requests.map(({ body }) => JSON.parse(body ?? '') as object);
    expect(sent).toMatchObject([
      {
        consumerGroup: 'a',
        acknowledgments: [{ status: 'failed' }, { status: 'dlq', error: 'why' }],
      },
      { consumerGroup: 'b', acknowledgments: [{ status: 'failed', leaseId: 'l' }] },
    ]);
  });
});
