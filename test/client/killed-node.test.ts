/**
 * Goal: whatever a program does through the client, against one node and against three of which the
 * leader is killed in mid-run, nothing is lost and nothing is done twice. Method: one table of
 * workloads, each of numbered steps that leave a trace; all run side by side through one client,
 * meet in their middle, and go on while the node dies. Each counts its traces at its end.
 */
import { Client, ClientError, type Lock, type Message, type Transaction } from '@svc/client';
import { expect, test } from 'vitest';
import { Cluster } from '../cluster/cluster.js';

const STEPS = 20;
const ALL = Array.from({ length: STEPS }, (_, i) => i);
const EVEN = ALL.filter((n) => n % 2 === 0);
const PARTITIONS = 8;
const MESSAGES = 1000;

/** What a workload runs in. */
interface Run {
  readonly client: Client;
  /** Waits until all workloads are in their middle. */
  middle(): Promise<void>;
  /** 0 to STEPS - 1, with the middle between them. */
  steps(): AsyncGenerator<number, void, undefined>;
  readonly isKilled: boolean;
}

interface Numbered {
  readonly n: number;
}

/** 'unknown': the call may have been carried out, and says so. */
async function orUnknown<Result>(call: Promise<Result>): Promise<Result | 'unknown'> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ClientError && error.outcomeUnknown) return 'unknown';
    throw error;
  }
}

/** The numbers that are stored in a queue, each as often as it is there. */
async function stored({ client }: Run, queue: string): Promise<number[]> {
  const { entries } = await client.admin.fetch({ entries: [{ queue, offset: 0 }] });
  const records = entries[0]?.records ?? [];
  return records.map(({ payload }) => (payload as Numbered).n).sort((a, b) => a - b);
}

/** A follower answers reads by position from what it has applied. */
async function expectStored(run: Run, queue: string, expected: readonly number[]): Promise<void> {
  await expect.poll(() => stored(run, queue), { timeout: 60_000 }).toEqual(expected);
}

/** What was leased for an answer that died with its node comes again. */
const LEASE = '2s';

const WORKLOADS: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  /** Offsets are gapless, so a message that was stored twice would stand at a second one. */
  async 'buffered pushes, and a loop of batches'({ client, middle }) {
    const queue = client.queue<number>('orders').group('g').leaseTime(LEASE);
    const seen = new Map<string, number[]>();
    const consuming = queue
      .concurrency(4)
      .batch(20)
      .timeoutMillis('2s')
      .renewLease(true, '1s')
      .consume((messages) => {
        for (const { partition, offset, data } of messages) {
          const offsets = seen.get(partition) ?? [];
          seen.set(partition, offsets);
          offsets[offset] = data;
        }
      });
    const buffered = queue.buffer({ messageCount: 50, timeMillis: 10, retryDelayMillis: 100 });
    for (let i = 0; i < MESSAGES; i++) {
      if (i === MESSAGES / 2) await middle();
      await buffered.push({ payload: i, partition: `p${i % PARTITIONS}` });
    }
    const count = () => [...seen.values()].reduce((sum, { length }) => sum + length, 0);
    await expect.poll(count, { timeout: 60_000 }).toBe(MESSAGES);
    await buffered.flushBuffer();
    await consuming.stop();
    for (let p = 0; p < PARTITIONS; p++) {
      const expected = Array.from({ length: MESSAGES }, (_, i) => i).filter(
        (i) => i % PARTITIONS === p,
      );
      expect(seen.get(`p${p}`)).toEqual(expected);
    }
  },

  async 'pushes, each() and for await'(run) {
    const queue = run.client.queue<Numbered>('streamed').leaseTime(LEASE).timeoutMillis('1s');
    const each = new Set<number>();
    const streamed = new Set<number>();
    const consuming = queue
      .group('each')
      .batch(5)
      .each()
      .consume(({ data }) => each.add(data.n));
    const stop = new AbortController();
    const streaming = (async () => {
      const { signal } = stop;
      for await (const { data } of queue.group('stream').batch(5).messages({ signal })) {
        streamed.add(data.n);
      }
    })();
    for await (const n of run.steps()) await queue.push({ payload: { n } });
    await expectStored(run, 'streamed', ALL);
    const isDone = () => each.size + streamed.size;
    await expect.poll(isDone, { timeout: 60_000 }).toBe(2 * STEPS);
    stop.abort();
    await Promise.all([consuming.stop(), streaming]);
  },

  async 'pop, and a transaction that acks and pushes'(run) {
    const { client } = run;
    const queue = client.queue<Numbered>('from').group('g').leaseTime(LEASE).wait(false);
    const move = async () => {
      const [message] = await queue.pop();
      if (message === undefined) return;
      const { n } = message.data;
      const moved: Transaction = client.transaction().ack(message).queue('to');
      try {
        await orUnknown(moved.push({ payload: { n } }).commit());
      } catch (error) {
        // It was committed by a try whose answer was lost, or the lease ended meanwhile.
        expect(error).toMatchObject({ reason: 'rejected_ack' });
      }
    };
    for await (const n of run.steps()) {
      await queue.push({ payload: { n } });
      await move();
    }
    const moving = async () => {
      await move();
      return stored(run, 'to');
    };
    await expect.poll(moving, { timeout: 60_000 }).toEqual(ALL);
  },

  async 'transactions with once'(run) {
    for await (const n of run.steps()) {
      const answer = await run.client
        .transaction()
        .once(`once-${n}`)
        .queue('once')
        .push({ payload: { n } })
        .kv({ op: 'incr', ns: 'counts', key: 'once', delta: 1, forever: true })
        .timer({ key: `after-${n}`, delay: 0, payload: { n: n + STEPS } })
        .commit();
      // A first try whose answer was lost is met by the second.
      if (!answer.success) expect(answer.reason).toBe('kv_precondition');
    }
    await expectStored(run, 'once', [...ALL, ...ALL.map((n) => n + STEPS)]);
    expect((await run.client.kv('counts').get('once'))?.value).toBe(STEPS);
  },

  async 'key/value'({ client, steps }) {
    const kv = client.kv('rows');
    const forever = { forever: true } as const;
    const counted = { done: 0, unknown: 0 };
    let version = 0;
    for await (const n of steps()) {
      await kv.put(`k-${n}`, n, forever);
      expect((await kv.get(`k-${n}`))?.value).toBe(n);
      expect((await kv.once(`o-${n}`, forever)).applied).toBe(true);
      const first = await orUnknown(kv.putIfAbsent(`a-${n}`, n, forever));
      if (first !== 'unknown') expect(first.applied).toBe(true);
      const added = await orUnknown(kv.incr('n', 1, forever));
      if (added === 'unknown') counted.unknown++;
      else counted.done++;
      const put = await orUnknown(kv.put('chain', n, { forever: true, expect: version }));
      if (put !== 'unknown') expect(put.applied).toBe(true);
      const row = await kv.get('chain');
      expect(row?.value).toBe(n);
      version = row?.version ?? 0;
      if (n % 2 === 1) await orUnknown(kv.delete(`k-${n}`));
    }
    const rows = await kv.listAll<number>({ prefix: 'k-', pageSize: 7 }).toArray();
    expect(rows.map(({ value }) => value).sort((a, b) => a - b)).toEqual(EVEN);
    expect((await kv.getMany(ALL.map((n) => `a-${n}`))).size).toBe(STEPS);
    expect((await kv.getPrefix('o-', { limit: 1000 })).rows).toHaveLength(STEPS);
    const sum = Number((await kv.get('n'))?.value);
    expect(sum).toBeGreaterThanOrEqual(counted.done);
    expect(sum).toBeLessThanOrEqual(counted.done + counted.unknown);
  },

  async timers(run) {
    const { client } = run;
    for await (const n of run.steps()) {
      const timer = client.timer('timers').key(`t-${n}`).payload({ n });
      await timer.delay(n % 2 === 0 ? 0 : '1h').schedule();
      if (n % 2 === 0) continue;
      expect((await timer.peek<Numbered>())?.payload).toEqual({ n });
      await orUnknown(timer.cancel());
    }
    await expectStored(run, 'timers', EVEN);
    expect(await client.timer('timers').list().toArray()).toEqual([]);
  },

  async 'locks and semaphores'({ client, steps }) {
    const kv = client.kv('locked');
    const inside = { lock: 0, semaphore: 0 };
    let token = 0;
    const enter = async (lock: Lock, kind: 'lock' | 'semaphore', most: number) => {
      const held = await lock.acquire({ wait: '60s' });
      if (held === null) throw new Error(`the ${kind} was not to be had`);
      expect(++inside[kind]).toBeLessThanOrEqual(most);
      if (kind === 'lock') {
        expect(held.token).toBeGreaterThan(token);
        token = held.token;
        const written = await orUnknown(kv.put('k', 1, { forever: true, guard: held }));
        if (written !== 'unknown') expect(written.applied).toBe(true);
      }
      inside[kind]--;
      await orUnknown(held.release());
    };
    const lock = client.lock('job', { ttl: '6s' });
    const semaphore = client.semaphore('gpu', 2, { ttl: '6s' });
    for await (const n of steps()) {
      if (n % 4 !== 0) continue;
      const locks = [1, 2].map(() => enter(lock, 'lock', 1));
      await Promise.all([...locks, ...[1, 2, 3].map(() => enter(semaphore, 'semaphore', 2))]);
    }
  },

  /** In the memory of a node: what it had dies with it, and nothing comes twice. */
  async 'ephemeral queues'({ client, steps, isKilled }) {
    const queue = client.ephemeral('presence');
    await queue.configure({ leaseSeconds: 60, ttlSeconds: 600 });
    const seen: number[] = [];
    for await (const n of steps()) {
      await orUnknown(queue.push({ payload: { n } }));
      const options = { group: 'g', commitOnDelivery: n % 2 === 0 };
      const popped = await orUnknown(queue.pop<Numbered>(options));
      const messages = popped === 'unknown' ? [] : popped;
      seen.push(...messages.map(({ payload }) => payload.n));
      if (n % 2 === 1) await orUnknown(queue.ack(messages));
    }
    // A pop without an answer leaves the queue a message behind.
    for (let isEmpty = false; !isEmpty; ) {
      const rest = await queue.pop<Numbered>({ group: 'g', batch: STEPS, commitOnDelivery: true });
      isEmpty = rest.length === 0;
      seen.push(...rest.map(({ payload }) => payload.n));
    }
    expect(new Set(seen).size).toBe(seen.length);
    if (!isKilled) expect(seen).toEqual(ALL);
    expect(seen).toContain(STEPS - 1);
  },

  async 'dead letters'(run) {
    const { client } = run;
    const queue = client.queue<Numbered>('dead').group('g').leaseTime(LEASE).wait(false);
    const bury = async () => {
      const messages: Message<Numbered>[] = await queue.pop();
      if (messages.length > 0) await client.ack(messages, 'dlq', { error: 'no' });
      const { messages: letters } = await queue.dlq('g').limit(1000).get();
      return letters.map(({ data }) => data.n).sort((a, b) => a - b);
    };
    for await (const n of run.steps()) {
      await queue.push({ payload: { n } });
      await bury();
    }
    await expect.poll(bury, { timeout: 60_000 }).toEqual(ALL);
    let moved = 0;
    let cursor: string | null = null;
    do {
      const part = await client.admin.redriveDeadLetters({ queue: 'dead', limit: 7, cursor });
      moved += part.moved;
      cursor = part.cursor;
    } while (cursor !== null);
    expect(moved).toBe(STEPS);
    await expectStored(
      run,
      'dead',
      [...ALL, ...ALL].sort((a, b) => a - b),
    );
  },

  async admin({ client, steps }) {
    const { admin } = client;
    for await (const n of steps()) {
      await client
        .queue('managed')
        .config({ leaseTime: 10 + n, priority: n })
        .create();
      await admin.configureQueue({ queue: `managed-${n}`, options: { leaseTime: 5 } });
      expect((await admin.queue('managed')).options.leaseTime).toBe(10 + n);
      await admin.grantQuota({ kind: 'kv', maxRows: 100_000 + n });
      await client.queue(`managed-${n}`).push({ payload: { n } });
      await admin.seekQueue('managers', `managed-${n}`, { toEnd: true });
      if (n % 2 === 1)
        expect((await admin.deleteQueue(`managed-${n}`)).deleted).toBeTypeOf('boolean');
    }
    const names: string[] = [];
    for await (const { queues } of admin.pages('queues', { limit: 10 })) {
      names.push(...queues.map(({ name }) => name).filter((name) => name.startsWith('managed-')));
    }
    expect(names.sort()).toEqual(EVEN.map((n) => `managed-${n}`).sort());
  },
};

/** Resolves for all when `count` wait for it. */
function meeting(count: number): () => Promise<void> {
  let resolveAll: () => void = () => undefined;
  const all = new Promise<void>((resolve) => {
    resolveAll = resolve;
  });
  let waiting = 0;
  return () => {
    if (++waiting === count) resolveAll();
    return all;
  };
}

test.each([1, 3])(
  'every step of the client, against %d',
  async (size) => {
    const cluster = await Cluster.create({ size });
    let isFailed = true;
    try {
      await cluster.startAll();
      const leader = await cluster.waitForLeader();
      const urls = cluster.nodes.map(({ settings }) => `http://127.0.0.1:${settings.httpPort}`);
      const client = new Client({
        urls,
        timeoutMillis: '5s',
        retryAttempts: 30,
        retryDelayMillis: 200,
      });
      const middle = meeting(Object.keys(WORKLOADS).length + 1);
      async function* steps() {
        for (const n of ALL) {
          if (n === STEPS / 2) await middle();
          yield n;
        }
      }
      const run: Run = { client, middle, steps, isKilled: size > 1 };
      const running = Object.entries(WORKLOADS).map(async ([name, work]) => {
        await work(run).catch((error: Error) => {
          error.message = `${name}: ${error.message}`;
          throw error;
        });
      });
      const all = Promise.all(running);
      await Promise.race([middle(), all]);
      if (size > 1) await leader.kill();
      await all;
      expect(await client.close()).toEqual({ unsent: [] });
      isFailed = false;
    } finally {
      await cluster.close(isFailed);
    }
  },
  90_000,
);
