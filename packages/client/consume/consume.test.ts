// Goal: what a loop acknowledges, in which calls and when; what it does after each answer of a pop;
// how it ends. Method: a scripted broker that gives batches and records acks.
import { describe, expect, test } from 'vitest';
import { FakePlatform, lostConnection, type Reply, type Script } from '../base/platform.fake.js';
import { Client } from '../client.js';

interface Acks {
  readonly consumerGroup?: string;
  readonly acknowledgments: readonly {
    readonly transactionId: string;
    readonly status: string;
    readonly error?: string;
  }[];
}

/** `a0` is the message at offset 0 of partition a. */
function answerOf(names: readonly string[]): Reply {
  const messages = names.map((name) => ({
    id: name,
    queue: 'q',
    partition: name[0],
    partitionId: `${name.charCodeAt(0)}`,
    offset: Number(name.slice(1)),
    transactionId: name,
    leaseId: 'lease',
    consumerGroup: 'g',
    data: { name },
  }));
  return { json: { success: true, messages } };
}

/**
 * Pops are answered from the list, then with nothing when their time is up; acks succeed but those
 * of `refused`; renewals are answered by `renewal`.
 */
function loopOf(
  pops: readonly (readonly string[] | Reply | Promise<Reply> | ((path: string) => Reply))[],
  renewal: (nth: number) => Reply = () => ({ json: { success: true, newExpiresAt: 'then' } }),
  refused: readonly string[] = [],
) {
  let renewals = 0;
  const acked: Acks[] = [];
  const popped: string[] = [];
  const popReply = (path: string): Reply | Promise<Reply> => {
    const next = pops[popped.push(path) - 1];
    if (next === undefined) return empty(path);
    if (typeof next === 'function') return next(path);
    return Array.isArray(next) ? answerOf(next as string[]) : (next as Reply);
  };
  /** A pop with acks answers with their verdicts, and with no messages where others are a 204. */
  const ackedPop = async (path: string, body: string): Promise<Reply> => {
    const consumerGroup = new URL(path, 'http://x').searchParams.get('consumerGroup');
    const { acks } = JSON.parse(body) as { readonly acks: Acks['acknowledgments'] };
    acked.push({ ...(consumerGroup !== null && { consumerGroup }), acknowledgments: acks });
    const reply = (await popReply(path)) as Exclude<Reply, string | Error>;
    if (reply instanceof Error || (reply.status ?? 200) >= 300) return reply;
    const messages = (reply.json as { readonly messages?: unknown })?.messages ?? [];
    return { ...reply, status: 200, json: { success: true, messages, acks: verdicts(acks) } };
  };
  const verdicts = (acks: Acks['acknowledgments']) =>
    acks.map(({ transactionId }) => {
      const success = !refused.includes(transactionId);
      return { transactionId, success, error: success ? null : 'invalid or expired lease' };
    });
  const script: Script = ({ path, body }) => {
    if (path.startsWith('/api/v1/pop')) {
      return body === undefined ? popReply(path) : ackedPop(path, body);
    }
    if (path.endsWith('/extend')) return renewal(++renewals);
    const acks = JSON.parse(body ?? '') as Acks;
    acked.push(acks);
    return { json: verdicts(acks.acknowledgments) };
  };
  const platform = new FakePlatform(script);
  const empty = (path: string) =>
    new Promise<Reply>((resolve) => {
      const ms = Number(new URL(path, 'http://x').searchParams.get('timeout'));
      platform.after(ms, () => resolve({ status: 204 }));
    });
  const client = new Client({ url: 'http://a:1', retryAttempts: 1 }, platform);
  const statuses = () =>
    acked.map(({ acknowledgments }) =>
      acknowledgments.map(({ transactionId, status }) => `${transactionId} ${status}`),
    );
  const queue = client.queue<{ name: string }>('q').group('g').batch(9);
  return { platform, client, queue, acked, popped, statuses };
}

describe('what is acknowledged', () => {
  test('a batch in one call, completed or failed with the text of the error', async () => {
    const { platform, queue, acked, statuses } = loopOf([['a0', 'b0'], ['a1'], ['a2']]);
    let batches = 0;
    const loop = queue.limit(4).consume(() => {
      if (++batches === 2) throw new Error('no stock');
    });
    await platform.settled(loop.then());
    expect(statuses()).toEqual([['a0 completed', 'b0 completed'], ['a1 failed'], ['a2 completed']]);
    expect(acked[1]).toMatchObject({
      consumerGroup: 'g',
      acknowledgments: [{ error: 'no stock', leaseId: 'lease', partitionId: '97' }],
    });
  });

  test('a batch that the handler empties all the same', async () => {
    const { platform, queue, statuses } = loopOf([['a0', 'b0']]);
    const loop = queue.limit(2).consume((messages) => {
      while (messages.length > 0) messages.shift();
    });
    await platform.settled(loop.then());
    expect(statuses()).toEqual([['a0 completed', 'b0 completed']]);
  });

  test('a failure with a text that the broker takes, whatever is thrown', async () => {
    const thrown: unknown[] = [
      Object.create(null),
      new Error('cut \ud83d'),
      Object.assign(new Error(), { message: 7 }),
      new Error('x'.repeat(100_000)),
      undefined,
    ];
    const { platform, queue, acked } = loopOf(thrown.map((_, i) => [`a${i}`]));
    const loop = queue.limit(thrown.length).consume(([message]) => {
      throw thrown[message?.offset ?? 0];
    });
    await platform.settled(loop.then());
    const errors = acked.map(({ acknowledgments }) => acknowledgments[0]?.error);
    const cut = 'x'.repeat(4096);
    expect(errors).toEqual(['what was thrown has no text', 'cut \ufffd', '7', cut, 'undefined']);
  });

  test('each: behind a failure its partition is given back, others go on', async () => {
    const { platform, queue, statuses } = loopOf([['a0', 'b0', 'a1', 'a2', 'b1']]);
    const seen: string[] = [];
    const loop = queue
      .limit(5)
      .each()
      .consume(async ({ data }) => {
        seen.push(data.name);
        if (data.name === 'a1') throw new Error('no');
      });
    await platform.settled(loop.then());
    expect(seen).toEqual(['a0', 'b0', 'a1', 'b1']);
    expect(statuses().flat().sort()).toEqual([
      'a0 completed',
      'a1 failed',
      'a2 retry',
      'b0 completed',
      'b1 completed',
    ]);
    expect(statuses().find((call) => call.includes('a1 failed'))).toContain('a2 retry');
  });

  test('each without a batch takes more while handlers keep up, in as few acks', async () => {
    const names = Array.from({ length: 15 }, (_, i) => `a${i}`);
    const taken = async (handleMs: number) => {
      const next = [...names];
      const batches: (string | null)[] = [];
      const { platform, client, statuses } = loopOf(
        names.map(() => (path) => {
          const asked = new URL(path, 'http://x').searchParams.get('batch');
          batches.push(asked);
          return answerOf(next.splice(0, Number(asked)));
        }),
      );
      const handle = () => new Promise<void>((resolve) => platform.after(handleMs, resolve));
      const loop = client.queue('q').group('g').limit(15).each().consume(handle);
      await platform.settled(loop.then());
      return { batches, acks: statuses().map((call) => call.length) };
    };
    expect(await taken(0)).toEqual({ batches: ['1', '2', '4', '8'], acks: [1, 2, 4, 8] });
    // Two are done in half a second; a message that took long is not kept for the end of its batch.
    const slow = await taken(200);
    expect(slow.batches).toEqual(['1', '2', '2', '2', '2', '2', '2', '2']);
    expect(slow.acks).toEqual(names.map(() => 1));
  });

  test('a message that does not fit the schema fails, with what is behind it', async () => {
    for (const each of [false, true]) {
      const { platform, client, statuses } = loopOf([['a0', 'a1', 'b0', 'a2']]);
      const schema = {
        '~standard': {
          validate: (value: unknown) => {
            const { name } = value as { name: string };
            if (name !== 'a1') return { value: name.toUpperCase() };
            return { issues: [{ message: 'not this one', path: ['name'] }] };
          },
        },
      };
      const seen: string[] = [];
      const queue = client.queue<string>('q', { schema }).batch(9).limit(4);
      const loop = each
        ? queue.each().consume(({ data }) => seen.push(data))
        : queue.consume((batch) => seen.push(...batch.map(({ data }) => data)));
      await platform.settled(loop.then());
      expect(seen).toEqual(['A0', 'B0']);
      expect(statuses().flat().sort()).toEqual([
        'a0 completed',
        'a1 failed',
        'a2 retry',
        'b0 completed',
      ]);
    }
  });

  test('with callbacks, or without automatic acks, nothing', async () => {
    const { platform, queue, statuses } = loopOf([['a0'], ['a1']]);
    const said: string[] = [];
    const loop = queue
      .limit(2)
      .each()
      .consume(({ data }) => {
        if (data.name === 'a1') throw new Error('no');
      })
      .onSuccess(([one]) => said.push(`${one?.data.name} done`))
      .onError(([one], error) => said.push(`${one?.data.name} ${error}`));
    await platform.settled(loop.then());
    expect(said).toEqual(['a0 done', 'a1 Error: no']);
    expect(statuses()).toEqual([]);
    const other = loopOf([['a0']]);
    await other.platform.settled(
      other.queue
        .autoAck(false)
        .limit(1)
        .consume(() => 0)
        .then(),
    );
    expect(other.statuses()).toEqual([]);
  });
});

describe('what follows an answer of a pop', () => {
  test('none: at once; no answer, 5xx: after a second; 429: as it says', async () => {
    const limited = { status: 429, headers: { 'retry-after': '2' } };
    const answers = [{ status: 204 }, lostConnection(), { status: 500 }, limited, ['a0']];
    const { platform, queue } = loopOf(answers);
    await platform.settled(
      queue
        .limit(1)
        .consume(() => 0)
        .then(),
    );
    const pops = platform.requests.filter(({ path }) => path.startsWith('/api/v1/pop'));
    const times = pops.map(({ atMs }) => atMs - (pops[0]?.atMs ?? 0));
    expect(times).toEqual([0, 0, 1000, 2000, 4000]);
  });

  test('a 403 ends the loop, and the handlers of other workers finish', async () => {
    const refusal = { status: 403, json: { error: 'no', code: 'forbidden' } };
    const { platform, queue, statuses } = loopOf([['a0'], refusal]);
    const loop = queue.concurrency(2).consume(
      () =>
        new Promise((resolve) => {
          platform.after(5000, () => resolve(0));
        }),
    );
    await expect(platform.settled(loop.then())).rejects.toMatchObject({ code: 'forbidden' });
    expect(statuses()).toEqual([['a0 completed']]);
  });

  test('a limit is not passed by workers side by side, and asks for no more', async () => {
    const { platform, queue, popped } = loopOf([['a0', 'a1'], ['b0'], ['c0', 'c1']]);
    await platform.settled(
      queue
        .batch(2)
        .concurrency(3)
        .limit(3)
        .consume(() => 0)
        .then(),
    );
    expect(popped.map((path) => new URL(path, 'http://x').searchParams.get('batch'))).toEqual([
      '2',
      '1',
    ]);
  });

  test('nothing for the idle time ends it, but not while a handler works', async () => {
    const { platform, queue } = loopOf([['a0']]);
    const from = platform.nowMs();
    const loop = queue
      .idleMillis(3000)
      .concurrency(2)
      .timeoutMillis('1s')
      .consume(
        () =>
          new Promise((resolve) => {
            platform.after(10_000, () => resolve(0));
          }),
      );
    await platform.settled(loop.then());
    expect(platform.nowMs() - from).toBeGreaterThanOrEqual(13_000);
  });
});

describe('a lease that is lost', () => {
  const gone: Reply = { json: { success: false, renewed: 0, newExpiresAt: null } };
  const renewedTill = (last: number, then: Reply) => (nth: number) =>
    nth <= last ? { json: { success: true, newExpiresAt: 'then' } } : then;

  test.each([
    ['the broker refuses a renewal', renewedTill(1, gone), 20_000],
    ['no renewal is answered in time', renewedTill(1, lostConnection()), 70_000],
  ])('%s: the handler is told, and nothing is acknowledged', async (_, renewal, lostMs) => {
    const { platform, queue, statuses } = loopOf([['a0', 'b0'], ['c0']], renewal);
    const from = platform.nowMs();
    const told: unknown[] = [];
    const failed: unknown[] = [];
    const loop = queue
      .limit(3)
      .renewLease(true, '10s')
      .consume(async ([first], { signal }) => {
        if (first?.data.name === 'c0') return;
        expect(first?.signal).toBe(signal);
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        told.push([(signal.reason as { code: string }).code, platform.nowMs() - from]);
      });
    await platform.settled(loop.then());
    expect(told).toEqual([['lease_lost', lostMs]]);
    expect(statuses()).toEqual([['c0 completed']]);
    expect(platform.pendingTimers).toBe(0);
    const other = loopOf([['a0']], () => gone);
    await other.platform.settled(
      other.queue
        .limit(1)
        .renewLease(true, '10s')
        .consume(() => new Promise((resolve) => other.platform.after(15_000, () => resolve(0))))
        .onSuccess(() => failed.push('success'))
        .onError((_messages, error) => failed.push((error as { code: string }).code))
        .then(),
    );
    expect(failed).toEqual(['lease_lost']);
  });

  test('each and for await: what was not begun is not begun', async () => {
    const each = loopOf([['a0', 'a1', 'b0']], () => gone);
    const seen: string[] = [];
    const work = (platform: FakePlatform, name: string) => {
      seen.push(name);
      return new Promise((resolve) => platform.after(15_000, () => resolve(0)));
    };
    const loop = each.queue
      .limit(3)
      .renewLease(true, '10s')
      .each()
      .consume(({ data }) => work(each.platform, data.name));
    await each.platform.settled(loop.then());
    const stream = loopOf([['c0', 'c1', 'd0'], ['e0']], renewedTill(0, gone));
    const run = async () => {
      for await (const { data, signal } of stream.queue.renewLease(true, '10s').messages()) {
        await work(stream.platform, data.name);
        if (signal.reason?.code !== 'lease_lost') return;
        if (data.name === 'e0') return;
      }
    };
    await stream.platform.settled(run());
    expect(seen).toEqual(['a0', 'c0', 'e0']);
    expect([each.statuses(), stream.statuses()]).toEqual([[], []]);
  });

  test('an ack that is refused for its lease holds its partition alone', async () => {
    const { platform, queue, statuses } = loopOf([['a0', 'b0', 'a1', 'b1']], undefined, ['a0']);
    const seen: string[] = [];
    const loop = queue
      .limit(4)
      .each()
      .consume(({ data }) => {
        seen.push(data.name);
        return new Promise((resolve) => platform.after(10, () => resolve(0)));
      });
    await platform.settled(loop.then());
    expect(seen).toEqual(['a0', 'b0', 'b1']);
    expect(statuses().flat()).toEqual(['a0 completed', 'b0 completed', 'b1 completed']);
  });
});

describe('the end', () => {
  test('a signal ends a pop that waits', async () => {
    const { platform, queue, statuses } = loopOf([]);
    const stop = new AbortController();
    const loop = queue.consume(() => 0, { signal: stop.signal });
    await platform.pass(1000);
    stop.abort();
    await platform.settled(loop.then());
    expect(statuses()).toEqual([]);
    expect(platform.requests[0]?.signal.aborted).toBe(true);
  });

  test('what a pop is answered a moment later is given back', async () => {
    const stop = new AbortController();
    const { platform, queue, statuses } = loopOf([
      new Promise<Reply>((resolve) => {
        setTimeout(() => {
          stop.abort();
          platform.after(200, () => resolve(answerOf(['a0', 'b0'])));
        });
      }),
    ]);
    const loop = queue.consume(() => 0, { signal: stop.signal });
    await platform.settled(loop.then());
    expect(statuses()).toEqual([['a0 retry', 'b0 retry']]);
    expect(platform.pendingTimers).toBe(0);
  });

  test('what a pop was answered at that very moment is given back', async () => {
    const stop = new AbortController();
    const reply = { ...(answerOf(['a0', 'b0']) as object), onHead: () => stop.abort() };
    const { platform, queue, statuses } = loopOf([reply]);
    const handled: unknown[] = [];
    const loop = queue.consume((batch) => handled.push(batch), { signal: stop.signal });
    await platform.settled(loop.then());
    expect(handled).toEqual([]);
    expect(statuses()).toEqual([['a0 retry', 'b0 retry']]);
  });

  test('stop lets the handler finish and gives back what was not begun', async () => {
    const { platform, client, queue, statuses } = loopOf([['a0', 'a1', 'b0']]);
    const loop = queue.each().consume(
      (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => platform.after(4000, () => resolve(0)));
        }),
    );
    await platform.pass(1000);
    expect(await platform.settled(client.close())).toEqual({ unsent: [] });
    await loop;
    expect(statuses().flat()).toEqual(['a0 completed', 'a1 retry', 'b0 retry']);
  });

  test('a lease that is shorter than the usual interval is renewed in time', async () => {
    const { platform, queue } = loopOf([['a0']]);
    const handle = () => new Promise<void>((resolve) => platform.after(10_000, resolve));
    const loop = queue.limit(1).leaseTime('9s').renewLease().consume(handle);
    await platform.settled(loop.then());
    const renewals = platform.requests.filter(({ path }) => path.endsWith('/lease/lease/extend'));
    const from = platform.requests[0]?.atMs ?? 0;
    expect(renewals.map(({ atMs }) => atMs - from)).toEqual([3000, 6000, 9000]);
  });

  test('leases are renewed while the handler works, and not after', async () => {
    const { platform, queue } = loopOf([['a0', 'b0']]);
    const loop = queue
      .limit(2)
      .renewLease(true, '10s')
      .consume(
        () =>
          new Promise((resolve) => {
            platform.after(25_000, () => resolve(0));
          }),
      );
    await platform.settled(loop.then());
    const renewals = platform.requests.filter(({ path }) => path.endsWith('/lease/lease/extend'));
    expect(renewals.map(({ body }) => body)).toEqual(['{"seconds":60}', '{"seconds":60}']);
    expect(platform.pendingTimers).toBe(0);
  });

  test('for await: an error in the body gives the message back', async () => {
    const { platform, queue, statuses } = loopOf([['a0', 'a1', 'a2']]);
    const run = async () => {
      for await (const { data } of queue.messages()) if (data.name === 'a1') throw new Error('no');
    };
    await expect(platform.settled(run())).rejects.toThrow('no');
    expect(statuses().flat()).toEqual(['a0 completed', 'a1 retry', 'a2 retry']);
  });
});
