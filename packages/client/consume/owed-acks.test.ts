// Goal: which requests a loop sends for the acks of a batch and the pop behind it; that no ack is
// lost whatever a pop with acks is answered, and none is late. Method: a scripted broker that keeps
// what each request acknowledged.
import { expect, test } from 'vitest';
import { FakePlatform, lostConnection, type Reply } from '../base/platform.fake.js';
import { Client } from '../client.js';

interface Body {
  readonly acks?: readonly { readonly transactionId: string }[];
  readonly acknowledgments?: readonly { readonly transactionId: string }[];
}

const EXPIRED = 'invalid or expired lease';

/** `joined` answers the nth pop with acks; undefined: as the broker does. `last` messages come. */
function rig(
  last: number,
  joined: (nth: number) => Reply | Promise<Reply> | undefined = () => undefined,
  ackError: string | null = null,
) {
  const said: string[] = [];
  const warned: string[] = [];
  let next = 0;
  let nth = 0;
  const popped = () =>
    next >= last
      ? []
      : [
          {
            id: `m${next}`,
            queue: 'q',
            partition: 'p',
            partitionId: '7',
            offset: next,
            transactionId: `m${next++}`,
            leaseId: 'lease',
            consumerGroup: 'g',
            data: 1,
          },
        ];
  const platform: FakePlatform = new FakePlatform(async ({ method, path, body }) => {
    const { acks, acknowledgments } = (body === undefined ? {} : JSON.parse(body)) as Body;
    const ids = (acks ?? acknowledgments ?? []).map(({ transactionId }) => transactionId);
    const kind = path.startsWith('/api/v1/ack') ? 'ack' : method === 'GET' ? 'pop' : 'ack and pop';
    said.push([kind, ...ids].join(' '));
    const verdicts = (error: string | null) =>
      ids.map((transactionId) => ({ transactionId, success: error === null, error }));
    if (kind === 'ack') return { json: verdicts(ackError) };
    const special = kind === 'ack and pop' ? joined(nth++) : undefined;
    if (special !== undefined) return special;
    const messages = popped();
    if (messages.length === 0) await waited(platform, path);
    if (kind === 'pop' && messages.length === 0) return { status: 204 };
    const both = { success: true, messages, ...(acks !== undefined && { acks: verdicts(null) }) };
    return { json: both };
  });
  const warn = (text: string) => warned.push(text);
  const log = { debug: () => 0, info: () => 0, error: warn, warn };
  const client = new Client({ url: 'http://a:1', retryAttempts: 1, logger: log }, platform);
  const queue = client.queue('q').group('g').batch(1).limit(last);
  const run = () => platform.settled(queue.consume(() => 0).then());
  return { platform, client, queue, said, warned, run };
}

/** A pop that finds nothing waits for its time. */
function waited(platform: FakePlatform, path: string): Promise<void> {
  const ms = Number(new URL(path, 'http://x').searchParams.get('timeout'));
  return new Promise((resolve) => platform.after(ms, resolve));
}

const REFUSALS = ['an ack was refused; the message is delivered again'];

test('the next pop carries the acks, the last ones go by themselves', async () => {
  const { run, said } = rig(3);
  await run();
  expect(said).toEqual(['pop', 'ack and pop m0', 'ack and pop m1', 'ack m2']);
});

test('for await as well', async () => {
  const { platform, queue, said } = rig(3);
  const run = async () => {
    for await (const message of queue.messages()) if (message.offset === 2) return;
  };
  await platform.settled(run());
  expect(said).toEqual(['pop', 'ack and pop m0', 'ack and pop m1', 'ack m2']);
});

test('each: what a slow handler has done is acknowledged while it goes on', async () => {
  const { platform, queue, said } = rig(2);
  const handle = () => new Promise<void>((resolve) => platform.after(50, resolve));
  await platform.settled(queue.each().consume(handle).then());
  expect(said).toEqual(['pop', 'ack and pop m0', 'ack m1']);
});

test.each(['leases that are renewed', 'queues with a label'])(
  '%s: acks go by themselves',
  async (what) => {
    const { platform, client, queue, said } = rig(2);
    const labelled = client.queue().namespace('n').group('g').batch(1).limit(2);
    const isRenewed = what === 'leases that are renewed';
    const loop = (isRenewed ? queue.renewLease(true, '10s') : labelled).consume(() => 0);
    await platform.settled(loop.then());
    expect(said).toEqual(['pop', 'ack m0', 'pop', 'ack m1']);
  },
);

test.each([404, 405])(
  'a server without the route (%i) is asked again after a minute',
  async (status) => {
    const refused = { status, json: { error: 'no_such_route' } };
    const { platform, queue, said, warned } = rig(6, (nth) => (nth === 0 ? refused : undefined));
    let handled = 0;
    const loop = queue.consume(() => {
      handled++;
      if (handled !== 4) return 0;
      return new Promise<void>((resolve) => platform.after(60_000, resolve));
    });
    await platform.settled(loop.then());
    expect(said).toEqual([
      'pop',
      ...['ack and pop m0', 'ack m0', 'pop'],
      ...['ack m1', 'pop', 'ack m2', 'pop'],
      ...['ack and pop m3', 'ack and pop m4', 'ack m5'],
    ]);
    expect(warned).toEqual([]);
  },
);

test('of several servers only the one that refused is spared', async () => {
  const said: string[] = [];
  const platform: FakePlatform = new FakePlatform(async ({ server, method, path, body }) => {
    const { acks } = (body === undefined ? {} : JSON.parse(body)) as Body;
    const name = server.slice(7, 8);
    if (path.startsWith('/api/v1/ack')) return { json: [{ success: true, error: null }] };
    said.push(`${name} ${method}`);
    if (method === 'POST' && name === 'a') return { status: 404, json: { error: 'no route' } };
    const one = { partitionId: '7', leaseId: 'l', consumerGroup: 'g', offset: 0, data: 1 };
    const messages = [{ ...one, transactionId: `${said.length}` }];
    const verdicts = acks?.map(() => ({ success: true, error: null }));
    return { json: { success: true, messages, acks: verdicts } };
  });
  const urls = ['http://a:1', 'http://b:1'];
  const client = new Client({ urls, loadBalancingStrategy: 'round-robin' }, platform);
  const queue = client.queue('q').group('g').batch(1).limit(7);
  await platform.settled(queue.consume(() => 0).then());
  expect(said.slice(0, 4)).toEqual(['b GET', 'a POST', 'a GET', 'b POST']);
  expect(said.filter((one) => one === 'a POST')).toHaveLength(1);
});

test('a pop with acks waits for a second, and the long poll behind it carries none', async () => {
  const waits: string[] = [];
  const platform: FakePlatform = new FakePlatform(async ({ method, path, body }) => {
    const { acks = [] } = (body === undefined ? {} : JSON.parse(body)) as Body;
    const verdicts = acks.map(() => ({ success: true, error: null }));
    waits.push(`${method} ${new URL(path, 'http://x').searchParams.get('timeout')}`);
    const one = { partitionId: '7', leaseId: 'l', consumerGroup: 'g', offset: 0, data: 1 };
    const messages = waits.length === 1 ? [{ ...one, transactionId: 'm' }] : [];
    if (waits.length > 1) await waited(platform, path);
    if (method === 'GET' && messages.length === 0) return { status: 204 };
    return { json: { success: true, messages, acks: verdicts } };
  });
  const queue = new Client({ url: 'http://a:1' }, platform).queue('q').group('g').batch(1);
  const loop = queue.idleMillis(31_000).consume(() => 0);
  await platform.settled(loop.then());
  expect(waits).toEqual(['GET 30000', 'POST 1000', 'GET 30000']);
});

test('nothing is heard of a pop with acks: they are sent anew after one second more', async () => {
  const silent = new Promise<Reply>(() => 0);
  const { platform, queue, said } = rig(1, () => silent);
  const loop = queue.limit(9).consume(() => 0);
  await platform.pass(30_999);
  expect(said).toEqual(['pop', 'ack and pop m0']);
  // A request of their own has 30 s.
  await platform.pass(1);
  expect(said).toEqual(['pop', 'ack and pop m0', 'ack m0']);
  await platform.settled(loop.stop());
});

test('no answer: acks are sent once more, and a refusal for their lease is no news', async () => {
  const { run, said, warned } = rig(
    2,
    (nth) => (nth === 0 ? lostConnection() : undefined),
    EXPIRED,
  );
  await run();
  expect(said).toEqual(['pop', 'ack and pop m0', 'ack m0', 'pop', 'ack m1']);
  // That of m0 is passed over; m1 was sent once.
  expect(warned).toEqual(['a pop failed', ...REFUSALS]);
});

test('a refusal of the pop alone has the verdicts: they are not asked for again', async () => {
  const acks = [{ transactionId: 'm0', success: true, error: null }];
  const refusal = { status: 503, json: { error: 'no room', code: 'overloaded', acks } };
  const { run, said } = rig(2, (nth) => (nth === 0 ? refusal : undefined));
  await run();
  expect(said).toEqual(['pop', 'ack and pop m0', 'pop', 'ack m1']);
});

test('verdicts that refuse are logged', async () => {
  const acks = [{ transactionId: 'm0', success: false, error: EXPIRED }];
  const answer = { json: { success: true, messages: [], acks } };
  const { platform, queue, warned } = rig(2, (nth) => (nth === 0 ? answer : undefined));
  await platform.settled(
    queue
      .idleMillis(1)
      .consume(() => 0)
      .then(),
  );
  expect(warned).toEqual(REFUSALS);
});

test('a loop that ends while its pop waits sends the acks once more', async () => {
  const parked = new Promise<Reply>(() => 0);
  const { platform, queue, said, warned } = rig(9, () => parked, EXPIRED);
  const loop = queue.consume(() => 0);
  await platform.pass(1000);
  expect(said).toEqual(['pop', 'ack and pop m0']);
  await platform.settled(loop.stop());
  expect(said).toEqual(['pop', 'ack and pop m0', 'ack m0']);
  expect([warned, platform.pendingTimers]).toEqual([[], 0]);
});

test('acks do not wait for a worker that rests', async () => {
  const { platform, queue, said } = rig(1);
  const slow = queue.limit(9).idleMillis(3000).timeoutMillis('1s');
  await platform.settled(slow.consume(() => 0).then());
  expect(said.slice(0, 2)).toEqual(['pop', 'ack and pop m0']);
  expect(said.filter((one) => one.includes('m0'))).toHaveLength(1);
});

test('what is more than a pop carries goes by itself', async () => {
  const ids = (count: number, id: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => ({
      partitionId: '7',
      leaseId: 'lease',
      consumerGroup: 'g',
      offset: i,
      data: 1,
      transactionId: id(i),
    }));
  const kinds = async (messages: readonly object[]) => {
    const said: string[] = [];
    const platform: FakePlatform = new FakePlatform(async ({ method, path, body }) => {
      said.push(`${method} ${path.split('?')[0]}`);
      const { acks, acknowledgments = [] } = (body === undefined ? {} : JSON.parse(body)) as Body;
      const verdicts = (acks ?? acknowledgments).map(() => ({ success: true, error: null }));
      if (path.startsWith('/api/v1/ack')) return { json: verdicts };
      const isFirst = said.length === 1;
      if (!isFirst) await waited(platform, path);
      return { json: { success: true, messages: isFirst ? messages : [], acks: verdicts } };
    });
    const queue = new Client({ url: 'http://a:1' }, platform).queue('q').group('g').batch(1000);
    await platform.settled(
      queue
        .idleMillis(1)
        .consume(() => 0)
        .then(),
    );
    return said.slice(1, 2);
  };
  const alone = ['POST /api/v1/ack/batch'];
  const joined = ['POST /api/v1/pop/queue/q'];
  expect(await kinds(ids(256, (i) => `${i}`))).toEqual(joined);
  expect(await kinds(ids(257, (i) => `${i}`))).toEqual(alone);
  expect(await kinds(ids(16, (i) => `${i}${'ü'.repeat(2000)}`))).toEqual(joined);
  expect(await kinds(ids(17, (i) => `${i}${'ü'.repeat(2000)}`))).toEqual(alone);
});
