// Goal: a lock is believed exactly as long as it is certain, by the clock of its holder, and what
// is lost is said once. Method: a broker of one permit over a fake clock, which counts from the
// arrival of requests, and whose answers the tests delay, lose and refuse.
import { describe, expect, test } from 'vitest';
import { type FakePlatform, lostConnection, type Reply } from '../base/platform.fake.js';
import { errorOf, fakeTransport, operationsOf } from './fake-client.fake.js';
import { kvOf } from './kv.js';
import { type HeldLock, type LockOptions, Locks, type LossReason } from './lock.js';

interface Row {
  owner: string;
  token: number;
  endsMs: number;
}

interface Op {
  readonly op: 'acquire' | 'renew' | 'release';
  readonly name: string;
  readonly owner: string;
  readonly token: number;
  readonly ttlSeconds: number;
}

/** What becomes of the answer to a request, by its number; undefined: it comes. */
type Fate = (nth: number, op: Op) => 'lost' | 'refused' | 'unsent' | undefined | Promise<void>;

class OnePermit {
  row: Row | undefined;
  readonly ops: Op[] = [];
  #tokens = 10;

  answer(op: Op, nowMs: number): object {
    this.ops.push(op);
    const live = this.row !== undefined && this.row.endsMs > nowMs ? this.row : undefined;
    const isOwn = live !== undefined && (live.token === op.token || live.owner === op.owner);
    const grant = () => {
      const token = ++this.#tokens;
      this.row = { owner: op.owner, token, endsMs: nowMs + op.ttlSeconds * 1000 };
      return { slot: 0, token };
    };
    switch (op.op) {
      case 'acquire':
        if (live === undefined) return { acquired: true, ...grant() };
        if (!isOwn) return { acquired: false, reason: 'held', holders: [] };
        return { acquired: true, slot: 0, token: live.token, already: true };
      case 'renew':
        return isOwn ? { renewed: true, ...grant() } : { renewed: false, reason: 'lost', slot: 0 };
      case 'release':
        if (live?.token !== op.token) return { released: false, reason: 'lost', slot: 0 };
        this.row = undefined;
        return { released: true, slot: 0 };
    }
  }
}

function setUp(fate: Fate = () => undefined) {
  const broker = new OnePermit();
  let asleepMs = 0;
  let nth = 0;
  const { platform, transport } = fakeTransport(async ({ body = '' }): Promise<Reply> => {
    const [op] = operationsOf({ body }) as unknown as [Op];
    const becomes = fate(nth++, op);
    if (becomes === 'unsent') return { status: 503, json: {}, headers: { 'retry-after': '1' } };
    if (becomes === 'refused') return { status: 403, json: { error: 'kv_disabled' } };
    const answer = broker.answer(op, platform.nowMs());
    if (becomes === 'lost') return lostConnection();
    await becomes;
    return { json: { results: [answer] } };
  });
  const awakeMs = platform.nowMs.bind(platform);
  platform.nowMs = () => awakeMs() + asleepMs;
  const locks = new Locks(transport);
  return {
    broker,
    platform,
    transport,
    locks,
    /** The clock goes on, and nothing runs. */
    sleep: (ms: number) => {
      asleepMs += ms;
    },
    acquire: async (options: LockOptions = {}) => {
      const held = await platform.settled(locks.lock('job', { ttl: '30s', ...options }).acquire());
      if (held === null) throw new Error('it is held');
      return held;
    },
  };
}

function lossesOf(held: HeldLock): LossReason[] {
  const losses: LossReason[] = [];
  held.onLost((reason) => losses.push(reason));
  return losses;
}

const opsOf = ({ ops }: OnePermit) => ops.map(({ op }) => op);

async function ended(platform: FakePlatform) {
  await platform.pass(600_000);
  expect(platform.pendingTimers).toBe(0);
}

describe('while it is held', () => {
  test('it is renewed every third of its time, with a token that rises', async () => {
    const { broker, platform, acquire } = setUp();
    const held = await acquire();
    const losses = lossesOf(held);
    expect(held).toMatchObject({ name: 'job', slot: 0, token: 11, isHeld: true });
    expect(held.guard()).toEqual({
      op: 'check',
      ns: 'svc-locks',
      key: 'job#0',
      expect: 11,
      required: true,
    });
    await platform.pass(9_999);
    expect(broker.ops).toHaveLength(1);
    await platform.pass(100_000);
    expect(opsOf(broker)).toEqual(['acquire', ...Array(10).fill('renew')]);
    expect(broker.ops.at(-1)).toMatchObject({ token: 20, owner: held.owner, ttlSeconds: 30 });
    expect(held.token).toBe(21);
    expect([held.isHeld, held.signal.aborted, losses]).toEqual([true, false, []]);
    expect(await platform.settled(held.release())).toBe(true);
    expect(held.isHeld).toBe(false);
    expect(held.signal.aborted).toBe(false);
    expect(() => held.token).toThrow('was released');
    expect(await held.release()).toBe(false);
    await ended(platform);
    expect(broker.row).toBeUndefined();
  });

  test('without autoRenew it is renewed by hand', async () => {
    const { broker, platform, acquire } = setUp();
    const held = await acquire({ autoRenew: false });
    await platform.pass(20_000);
    expect(await platform.settled(held.renew())).toBe(true);
    await platform.pass(29_999);
    expect([held.isHeld, opsOf(broker)]).toEqual([true, ['acquire', 'renew']]);
    await platform.pass(1);
    expect(held.isHeld).toBe(false);
  });

  test('renewals that are asked for at the same time are one', async () => {
    const { broker, platform, acquire } = setUp();
    const held = await acquire();
    expect(await platform.settled(Promise.all([held.renew(), held.renew()]))).toEqual([true, true]);
    expect(opsOf(broker)).toEqual(['acquire', 'renew']);
    await platform.settled(held.release());
  });

  test('a renewal that fails is tried again', async () => {
    const { platform, acquire } = setUp((nth) => (nth >= 1 && nth <= 4 ? 'unsent' : undefined));
    const held = await acquire();
    const losses = lossesOf(held);
    await platform.pass(120_000);
    expect([held.isHeld, losses]).toEqual([true, []]);
    await platform.settled(held.release());
  });

  test('a renewal whose answer was lost is sent again by its owner', async () => {
    const { platform, acquire } = setUp((nth) => (nth === 1 ? 'lost' : undefined));
    const held = await acquire();
    await platform.pass(15_000);
    expect([held.isHeld, held.token]).toEqual([true, 13]);
    await platform.settled(held.release());
  });

  test('a node that hangs holds up a renewal for the third of the time only', async () => {
    const { platform, acquire } = setUp((nth) =>
      nth === 1 ? new Promise(() => undefined) : undefined,
    );
    const held = await acquire();
    await platform.pass(25_000);
    expect(platform.requests.map(({ atMs }) => atMs - (platform.requests[0]?.atMs ?? 0))).toEqual([
      0, 10_000, 21_000,
    ]);
    expect(held.isHeld).toBe(true);
    await platform.settled(held.release());
  });
});

describe('when it is lost', () => {
  test('expired: no renewal was answered in time', async () => {
    const { broker, platform, acquire } = setUp((_, { op }) =>
      op === 'renew' ? 'unsent' : undefined,
    );
    const held = await acquire();
    const { signal } = held;
    const losses = lossesOf(held);
    await platform.pass(29_999);
    expect(signal.aborted).toBe(false);
    await platform.pass(1);
    expect([signal.aborted, losses, held.isHeld]).toEqual([true, ['expired'], false]);
    expect(signal.reason).toMatchObject({ name: 'LockLost', reason: 'expired' });
    expect(() => held.guard()).toThrow('the lock "job" was lost (expired)');
    expect(await held.renew()).toBe(false);
    expect(await held.release()).toBe(false);
    expect(lossesOf(held)).toEqual(['expired']);
    await ended(platform);
    expect(losses).toEqual(['expired']);
    expect(opsOf(broker)).not.toContain('renew');
  });

  test('a listener that throws harms nobody', async () => {
    const { platform, acquire } = setUp((_, { op }) => (op === 'renew' ? 'refused' : undefined));
    const held = await acquire();
    held.onLost(() => {
      throw new Error('mine');
    });
    const losses = lossesOf(held);
    await ended(platform);
    expect([losses, held.isHeld]).toEqual([['expired'], false]);
  });

  test("renew: the broker says that it is another's", async () => {
    const { broker, platform, acquire } = setUp();
    const held = await acquire();
    const losses = lossesOf(held);
    broker.row = { owner: 'thief', token: 99, endsMs: Number.MAX_SAFE_INTEGER };
    await platform.pass(10_000);
    expect([losses, held.signal.aborted]).toEqual([['renew'], true]);
    await ended(platform);
    expect(broker.row.owner).toBe('thief');
  });

  test('guard: a guarded write was refused, and no renewal explains it', async () => {
    const { broker, platform, acquire, transport } = setUp();
    const held = await acquire();
    const losses = lossesOf(held);
    const check = held.guard();
    await platform.settled(held.renew());
    expect(await held.guardRefused(check)).toBe(true);
    expect(await held.guardRefused(held.guard())).toBe(false);
    expect(losses).toEqual(['guard']);
    await ended(platform);
    const kv = kvOf(transport, 'orders');
    const sent = broker.ops.length;
    const late = await errorOf(platform, kv.put('k', 1, { forever: true, guard: held }));
    expect(late).toMatchObject({ name: 'LockLost', reason: 'guard' });
    expect(broker.ops).toHaveLength(sent);
  });

  test('a refused guard waits for the renewal that is under way', async () => {
    let answer: (() => void) | undefined;
    const late = new Promise<undefined>((resolve) => {
      answer = () => resolve(undefined);
    });
    const { platform, acquire } = setUp((nth) => (nth === 1 ? late : undefined));
    const held = await acquire();
    const check = held.guard();
    const renewal = held.renew();
    const again = held.guardRefused(check);
    answer?.();
    expect(await platform.settled(Promise.all([renewal, again]))).toEqual([true, true]);
    expect(held.guard().expect).toBe(12);
    await platform.settled(held.release());
  });
});

describe('a process that was paused', () => {
  const QUESTIONS: readonly [name: string, ask: (held: HeldLock) => unknown][] = [
    ['isHeld', (held) => held.isHeld],
    ['signal', (held) => !held.signal.aborted],
    ['token', (held) => isAnswered(() => held.token)],
    ['guard', (held) => isAnswered(() => held.guard())],
    ['onLost', (held) => lossesOf(held).length === 0],
  ];
  test.each(QUESTIONS)(
    'finds by %s that its time is over, before any timer runs',
    async (_, ask) => {
      const { broker, platform, sleep, acquire } = setUp();
      const held = await acquire();
      sleep(29_999);
      expect(ask(held)).toBe(true);
      sleep(1);
      expect(ask(held)).toBe(false);
      expect(held.signal.reason.reason).toBe('expired');
      await ended(platform);
      expect(opsOf(broker)).toEqual(['acquire', 'release']);
    },
  );

  test('does not renew what is over, although the broker would', async () => {
    const { broker, platform, sleep, acquire } = setUp();
    const held = await acquire();
    broker.row = { ...(broker.row as Row), endsMs: Number.MAX_SAFE_INTEGER };
    sleep(30_000);
    expect(await platform.settled(held.renew())).toBe(false);
    await ended(platform);
    expect(opsOf(broker)).toEqual(['acquire', 'release']);
  });

  test('counts from the sending: an answer that comes late gives nothing', async () => {
    const { broker, platform, sleep, locks } = setUp((nth) => {
      if (nth === 0) sleep(30_000);
      return undefined;
    });
    expect(await platform.settled(locks.lock('job', { ttl: '30s' }).acquire())).toBeNull();
    await ended(platform);
    expect([opsOf(broker), broker.row]).toEqual([['acquire', 'release'], undefined]);
  });

  test('counts from the sending of a renewal too', async () => {
    const { platform, sleep, acquire } = setUp((nth) =>
      nth === 1 ? Promise.resolve().then(() => void sleep(15_000)) : undefined,
    );
    const held = await acquire({ autoRenew: false });
    sleep(10_000);
    expect(await platform.settled(held.renew())).toBe(true);
    sleep(14_999);
    expect(held.isHeld).toBe(true);
    sleep(1);
    expect(held.isHeld).toBe(false);
    await ended(platform);
  });

  test('nor does the answer to a renewal', async () => {
    const { broker, platform, sleep, acquire } = setUp((nth) => {
      return nth === 1 ? Promise.resolve().then(() => void sleep(25_000)) : undefined;
    });
    const held = await acquire();
    const losses = lossesOf(held);
    await platform.pass(9_999);
    sleep(5_000);
    expect(await platform.settled(held.renew())).toBe(false);
    await ended(platform);
    expect([losses, opsOf(broker), broker.row]).toEqual([
      ['expired'],
      ['acquire', 'renew', 'release'],
      undefined,
    ]);
  });
});

describe('clocks', () => {
  test('the end comes in its time also when the date was set back', async () => {
    const { platform, acquire } = setUp();
    const held = await acquire({ autoRenew: false });
    platform.setDate(-3_600_000);
    await platform.pass(29_999);
    expect(held.isHeld).toBe(true);
    await platform.pass(1);
    expect(held.isHeld).toBe(false);
    await ended(platform);
  });

  test('a timer that runs before its time is set again', async () => {
    const { platform, acquire } = setUp();
    const after = platform.after.bind(platform);
    platform.after = (ms, act) => after(ms < 1000 ? ms : ms - 5, act);
    const { signal } = await acquire({ autoRenew: false });
    await ended(platform);
    expect(signal.aborted).toBe(true);
  });
});

describe('acquire', () => {
  test('null when others hold it; with wait it polls until it is free', async () => {
    const { broker, platform, locks, acquire } = setUp();
    const first = await acquire();
    const second = locks.lock('job', { ttl: '30s' });
    expect(await platform.settled(second.acquire())).toBeNull();
    const fromMs = platform.nowMs();
    expect(await platform.settled(second.acquire({ wait: '4s' }))).toBeNull();
    expect(platform.nowMs() - fromMs).toBe(4000);
    expect(broker.ops.length).toBeLessThan(12);
    const waiting = second.acquire({ wait: true });
    await platform.pass(60_000);
    await platform.settled(first.release());
    const held = await platform.settled(waiting);
    expect(held?.isHeld).toBe(true);
    await platform.settled(locks.releaseAll());
    await ended(platform);
    expect(broker.row).toBeUndefined();
  });

  test('a lost answer: the same owner gets the permit, and renews before it believes', async () => {
    const { broker, platform, locks } = setUp((nth) => (nth === 0 ? 'lost' : undefined));
    const held = await platform.settled(locks.lock('job', { ttl: '30s' }).acquire());
    expect(opsOf(broker)).toEqual(['acquire', 'acquire', 'renew']);
    expect(new Set(broker.ops.map(({ owner }) => owner)).size).toBe(1);
    await platform.pass(9_000);
    expect(held?.isHeld).toBe(true);
    await platform.settled(locks.releaseAll());
  });

  test('each acquire has an owner of its own', async () => {
    const { broker, platform, locks, acquire } = setUp();
    await acquire();
    expect(await platform.settled(locks.lock('job').acquire())).toBeNull();
    expect(broker.ops[0]?.owner).not.toBe(broker.ops[1]?.owner);
    await platform.settled(locks.releaseAll());
  });

  test('aborted while it waits', async () => {
    const { platform, locks, acquire } = setUp();
    await acquire();
    const ending = new AbortController();
    const waiting = locks.lock('job').acquire({ wait: true, signal: ending.signal });
    const error = errorOf(platform, waiting);
    await platform.pass(1);
    ending.abort(new Error('enough'));
    expect((await error).message).toBe('enough');
    await platform.settled(locks.releaseAll());
    await ended(platform);
  });

  test('aborted while it is asked for: what is granted is given back', async () => {
    const ending = new AbortController();
    const { broker, platform, locks } = setUp(() => {
      ending.abort(new Error('enough'));
      return undefined;
    });
    const acquiring = locks.lock('job').acquire({ signal: ending.signal });
    expect((await errorOf(platform, acquiring)).message).toBe('enough');
    await platform.settled(locks.releaseAll());
    await ended(platform);
    expect([opsOf(broker), broker.row]).toEqual([['acquire', 'release'], undefined]);
  });

  test('asked for when the client closes: what is granted is given back', async () => {
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { broker, platform, locks } = setUp((nth) => (nth === 0 ? held : undefined));
    const acquiring = errorOf(platform, locks.lock('job').acquire());
    const releasing = locks.releaseAll();
    platform.after(1000, answer);
    await platform.settled(releasing);
    expect(opsOf(broker)).toEqual(['acquire', 'release']);
    expect(await acquiring).toMatchObject({ code: 'closed' });
    const late = errorOf(platform, locks.lock('job').acquire({ wait: true }));
    expect(await late).toMatchObject({ code: 'closed' });
    expect(broker.ops).toHaveLength(2);
    expect(platform.pendingTimers).toBe(0);
  });

  test('a refusal of the broker is an error', async () => {
    const { platform, locks } = setUp(() => 'refused');
    expect(await errorOf(platform, locks.lock('job').acquire({ wait: true }))).toMatchObject({
      status: 403,
    });
    await ended(platform);
  });
});

describe('release', () => {
  test('waits for the renewal that is under way, and names its token', async () => {
    const { broker, platform, acquire } = setUp();
    const held = await acquire();
    const renewal = held.renew();
    expect(await platform.settled(held.release())).toBe(true);
    expect(await renewal).toBe(true);
    expect([opsOf(broker), broker.row]).toEqual([['acquire', 'renew', 'release'], undefined]);
    await ended(platform);
  });

  test('an answer that was lost: the row is gone by the first try', async () => {
    const { platform, acquire } = setUp((nth) => (nth === 1 ? 'lost' : undefined));
    const held = await acquire();
    expect(await platform.settled(held.release())).toBe(true);
  });

  test('at the end of a scope, where it never throws', async () => {
    const { broker, platform, acquire } = setUp((_, { op }) =>
      op === 'release' ? 'refused' : undefined,
    );
    const held = await acquire();
    await platform.settled(held[Symbol.asyncDispose]());
    expect(held.isHeld).toBe(false);
    await ended(platform);
    expect(opsOf(broker)).toEqual(['acquire']);
  });
});

test('a semaphore says how many permits there are', async () => {
  const { platform, locks } = setUp();
  await platform.settled(locks.semaphore('gpu', 3, { owner: 'w-1' }).acquire());
  expect(operationsOf(platform.requests[0] ?? {})).toEqual([
    { op: 'acquire', name: 'gpu', ttlSeconds: 30, limit: 3, owner: 'w-1' },
  ]);
  await platform.settled(locks.releaseAll());
});

describe('misuse', () => {
  const MISUSED: readonly [make: (locks: Locks) => unknown, text: string][] = [
    [(locks) => locks.lock(''), 'the name of a lock is "": write a text of 1 to 256 bytes'],
    [(locks) => locks.lock('a#0'), 'without control characters and #'],
    [(locks) => locks.lock('a', { owner: 'a\nb' }), 'owner is "a\\nb": write a text'],
    [(locks) => locks.lock('a', { ttl: 0 }), 'ttl is 0: write a number of milliseconds'],
    [
      (locks) => locks.lock('a', { limit: 2000 }),
      'limit is 2000: write a whole number from 1 to 1024',
    ],
    [
      (locks) => locks.lock('a', { ttl: '3s', renewEvery: '3s' }),
      'write one that is shorter, a third of ttl',
    ],
    [
      (locks) => locks.lock('a', { ttlSeconds: 3 } as never),
      'lock has no option ttlSeconds: write ttl; its options are ttl,',
    ],
    [(locks) => locks.lock('a', { autoRenew: 1 as never }), 'autoRenew is 1: write true or false'],
    [
      (locks) => locks.semaphore('a', 0),
      'the number of permits is 0: write a whole number from 1 to 1024',
    ],
    [(locks) => locks.semaphore('a', 2, { limit: 3 } as never), 'semaphore has no option limit'],
  ];
  test.each(MISUSED)('%#', (make, text) => {
    const { locks, broker } = setUp();
    expect(() => make(locks)).toThrow(TypeError);
    expect(() => make(locks)).toThrow(text);
    expect(broker.ops).toEqual([]);
  });

  test('of acquire and onLost', async () => {
    const { platform, locks, acquire } = setUp();
    const lock = locks.lock('job');
    await expect(lock.acquire({ wait: 'a while' })).rejects.toThrow(
      'wait is "a while": write a number',
    );
    await expect(lock.acquire({ timeout: 1 } as never)).rejects.toThrow(
      'acquire has no option timeout',
    );
    expect(platform.requests).toEqual([]);
    const held = await acquire();
    expect(() => held.onLost(null as never)).toThrow('write a function of the reason');
    await platform.settled(held.release());
  });
});

function isAnswered(ask: () => unknown): boolean {
  try {
    ask();
    return true;
  } catch {
    return false;
  }
}
