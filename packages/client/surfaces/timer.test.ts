// Goal: timers are sent as the wire has them, twice without harm, and misuse is refused before
// anything is sent. Method: a scripted network.
import { describe, expect, test } from 'vitest';
import { base64 } from '../base/base64.js';
import { lostConnection, type Reply } from '../base/platform.fake.js';
import { rawJson } from '../base/write-json.js';
import { errorOf, fakeTransport, operationsOf } from './fake-client.fake.js';
import { timerOf } from './timer.js';

const ROW = {
  queue: 'mail',
  timerKey: 'k',
  partition: 'Default',
  deliverAt: 'd',
  txn: 't',
  messageId: 'm',
  payloadZstd: false,
  encrypted: false,
  producerSub: null,
  attempts: 0,
  lastError: null,
  claimed: false,
  createdAt: 'c',
  updatedAt: 'u',
};

function timerWith(...replies: Reply[]) {
  const { platform, transport } = fakeTransport((_, nth) => replies[nth] as Reply);
  return { platform, timer: timerOf(transport, 'mail') };
}

function scheduled(status: string): Reply {
  return {
    json: {
      results: [
        {
          ok: true,
          status,
          queue: 'mail',
          timerKey: 'k',
          txn: 't',
          messageId: 'm',
          deliverAt: 'd',
        },
      ],
    },
  };
}

test('schedule, and a repeat of it that names the same message', async () => {
  const { platform, timer } = timerWith(lostConnection(), scheduled('rescheduled'));
  const given = timer.key('k').delay('1.5s').payload({ to: 'ädä' });
  expect(await platform.settled(given.schedule())).toEqual({
    isNew: false,
    queue: 'mail',
    timerKey: 'k',
    transactionId: 't',
    messageId: 'm',
    deliverAt: 'd',
  });
  const [first, second] = platform.requests.map((request) => operationsOf(request));
  expect(first).toEqual(second);
  const payload = Buffer.from('{"to":"ädä"}').toString('base64');
  expect(first).toEqual([
    {
      op: 'schedule',
      queue: 'mail',
      timerKey: 'k',
      delayMs: 1500,
      payload,
      txn: expect.stringMatching(/^[\da-f-]{36}$/),
    },
  ]);
});

test('a builder can be gone on from more than once', () => {
  const { platform, timer } = timerWith();
  const base = timer.payload(rawJson('12345678901234567890')).partition('p').transactionId('t');
  const [a, b] = [
    base.delay(1).operation(),
    base
      .key('b')
      .at(platform.nowMs() + 5)
      .operation(),
  ];
  expect(a).toMatchObject({
    partition: 'p',
    txn: 't',
    delayMs: 1,
    payload: base64('12345678901234567890'),
  });
  expect(b).toMatchObject({ timerKey: 'b', delayMs: 5, txn: 't' });
  expect(a.timerKey).toMatch(/^[\da-f-]{36}$/);
});

test('cancel', async () => {
  const gone = { json: { ok: false, status: 'absent', queue: 'mail', timerKey: 'a/b', txn: null } };
  const { platform, timer } = timerWith(
    { json: { ...gone.json, ok: true } },
    gone,
    lostConnection(),
    gone,
  );
  expect(await platform.settled(timer.key('a/b').cancel())).toBe(true);
  expect(platform.requests[0]).toMatchObject({
    method: 'DELETE',
    path: '/api/v1/timers/mail/a%2Fb',
  });
  expect(await platform.settled(timer.key('a/b').cancel())).toBe(false);
  const error = await errorOf(platform, timer.key('a/b').cancel());
  expect(error).toMatchObject({ code: 'outcome_unknown', outcomeUnknown: true });
});

test('peek', async () => {
  const raw = '{"n":12345678901234567890,"t":"ä"}';
  const { platform, timer } = timerWith(
    { json: { found: true, ...ROW, payload: base64(raw) } },
    { json: { found: true, ...ROW, payload: base64('no JSON') } },
    { json: { found: false, queue: 'mail', timerKey: 'k' } },
  );
  const peeked = await platform.settled(timer.key('k').peek());
  expect(peeked).toMatchObject({ transactionId: 't', raw, payload: { t: 'ä' }, attempts: 0 });
  expect(await platform.settled(timer.key('k').peek())).toMatchObject({
    payload: undefined,
    raw: 'no JSON',
  });
  expect(await platform.settled(timer.key('k').peek())).toBeNull();
});

test('list', async () => {
  const { platform, timer } = timerWith(
    { json: { rows: [ROW], truncated: true, nextAfter: 'k' } },
    { json: { rows: [{ ...ROW, timerKey: 'l' }], truncated: false, nextAfter: null } },
  );
  const rows = await platform.settled(timer.list({ pageSize: 1 }).toArray());
  expect(rows.map(({ timerKey }) => timerKey)).toEqual(['k', 'l']);
  expect(platform.requests.map(({ path }) => path)).toEqual([
    '/api/v1/timers/mail?limit=1',
    '/api/v1/timers/mail?after=k&limit=1',
  ]);
});

describe('misuse', () => {
  const { platform, timer } = timerWith();
  const MISUSED: readonly [call: () => unknown, text: string][] = [
    [() => timer.delay('1s').schedule(), "has no payload: write timer('mail').key("],
    [() => timer.payload(1).schedule(), 'the timer says no time'],
    [() => timer.payload(1).delay(1).at(1.8e12).schedule(), 'says delay and at'],
    [() => timer.payload({ a: [1n] }), 'payload.a[0] is a BigInt'],
    [() => timer.delay('soon'), 'delay is "soon": write a number of milliseconds'],
    [() => timer.delay(-1), 'delay is -1'],
    [() => timer.at('2020-01-01'), 'at is 2020-01-01T00:00:00.000Z, which is over'],
    [() => timer.key(''), 'key is "": write a text'],
    [() => timer.key('..').cancel(), '".." is no name that a path can hold'],
    [() => timer.cancel(), "cancel names no timer: write timer('mail').key('remind:1').cancel()"],
    [() => timer.peek(), 'peek names no timer'],
    [() => timer.list({ limit: 1 } as never), 'list has no option limit: its options are pageSize'],
  ];
  test.each(MISUSED)('%#', async (call, text) => {
    await expect(async () => call()).rejects.toThrow(TypeError);
    await expect(async () => call()).rejects.toThrow(text);
    expect(platform.requests).toEqual([]);
  });

  test('of the queue', () => {
    const { transport } = fakeTransport(() => '');
    expect(() => timerOf(transport, '')).toThrow('the queue of a timer is "": write a text');
  });
});
