// Goal: a timer becomes its message when it is due and not before, once, with the id that was
// promised, or nothing once it was cancelled; what cannot fire waits and then dies. Method: the
// engine in one thread with a clock that the test moves, and sequences by hand.
import { describe, expect, test } from 'vitest';
import { decodeAppend } from '../../base/append.js';
import { DELIVERY_LIMITS } from '../../base/delivery-limits.js';
import type { Switches } from '../../base/switches.js';
import { utf8Read } from '../../base/utf8.js';
import { type PayloadCipher, sealedBytes } from '../../draft/payload-cipher.js';
import { timerPayloads, timers, timerUse, timerUseOf } from '../../state/timers/tables.js';
import { EngineRig, pushCommand, TENANT, utf8 } from '../../testing/engine.fake.js';
import { walked } from '../../testing/page.fake.js';
import {
  callTimers,
  cancelOf,
  consume,
  pending,
  runDue,
  scheduleOf,
  settle,
  timerCall,
} from '../../testing/timers.fake.js';
import { transact } from '../../testing/transaction.fake.js';
import { listTimers } from './list.js';
import { TIMER_LIMITS } from './timers.js';

function setSwitch(rig: EngineRig, changes: Partial<Switches>): void {
  rig.call({ kind: 'set-switches', tenant: TENANT, changes });
}

describe('one timer', () => {
  test('fires at its instant, to the microsecond, and leaves nothing behind', () => {
    const rig = new EngineRig();
    const { results } = callTimers(rig, scheduleOf('k', { delayMs: 1500.5 }));
    expect(results).toMatchObject([{ status: 'scheduled' }]);
    expect(pending(rig)).toBe(1);
    expect(rig.planner.nextDueMs()).toBe(rig.nowMs + 1500.5);
    rig.advance(1500.499);
    settle(rig);
    expect(pending(rig)).toBe(1);
    rig.advance(0.001);
    settle(rig);
    expect(pending(rig)).toBe(0);
    expect(rig.planner.nextDueMs()).toBeNull();
    expect(rig.rows(timerUse)).toEqual([]);
    expect(consume(rig)).toEqual(['"txn-k"']);
  });

  test('is the message that was promised, of whom scheduled it', () => {
    const rig = new EngineRig();
    const [result] = callTimers(rig, scheduleOf('k', { delayMs: 0 })).results;
    settle(rig);
    const batch = appendOf(rig);
    const messageId = result?.status === 'scheduled' ? result.messageId : '';
    expect(batch).toMatchObject({
      messageIds: [messageId],
      transactionIds: ['txn-k'],
      producerSubs: ['who'],
      traceIds: null,
    });
  });

  test('is delivered to a parked consumer in the entry that fires it', () => {
    const rig = new EngineRig();
    rig.push('q', 'p', ['before']);
    consume(rig);
    callTimers(rig, scheduleOf('k'));
    const parked = rig.wait();
    expect(parked.outcome).toBeNull();
    const { entries } = rig;
    rig.advance(1000);
    rig.turn();
    expect(rig.texts(parked.outcome)).toEqual(['"txn-k"']);
    expect(rig.entries).toBe(entries + 1);
  });

  test('creates queue and partition as a push does', () => {
    const rig = new EngineRig();
    callTimers(rig, scheduleOf('k', { delayMs: 0, queue: 'mail.out', partition: 'new' }));
    settle(rig);
    const popped = rig.pop({ queue: 'mail.out', partition: 'new' });
    expect(rig.texts(popped)).toEqual(['"txn-k"']);
  });

  test('replaced: another message at another time; only the creation stays', () => {
    const rig = new EngineRig();
    const [first] = callTimers(rig, scheduleOf('k')).results;
    rig.advance(900);
    const [second] = callTimers(rig, scheduleOf('k', { txn: 'second' })).results;
    expect([first?.status, second?.status]).toEqual(['scheduled', 'rescheduled']);
    const [row] = rig.rows(timers);
    expect((row?.updatedAtUs ?? 0) - (row?.createdAtUs ?? 0)).toBe(900_000);
    rig.advance(999);
    settle(rig);
    expect(pending(rig)).toBe(1);
    rig.advance(1);
    settle(rig);
    expect(consume(rig)).toEqual(['"second"']);
  });

  test('cancelled: gone; cancelled again, or when it has fired: absent', () => {
    const rig = new EngineRig();
    callTimers(rig, scheduleOf('k'), scheduleOf('l', { delayMs: 0 }));
    settle(rig);
    const { results } = callTimers(rig, cancelOf('k'), cancelOf('l'), cancelOf('m'));
    expect(results).toEqual([
      { status: 'cancelled', txn: 'txn-k' },
      { status: 'absent' },
      { status: 'absent' },
    ]);
    expect(callTimers(rig, cancelOf('k')).results).toEqual([{ status: 'absent' }]);
    rig.advance(5000);
    settle(rig);
    expect(consume(rig)).toEqual(['"txn-l"']);
  });

  test('cancelled in the turn in which it is due: it does not fire', () => {
    const rig = new EngineRig();
    callTimers(rig, scheduleOf('k'));
    rig.advance(1000);
    expect(callTimers(rig, cancelOf('k')).results).toMatchObject([{ status: 'cancelled' }]);
    settle(rig);
    expect(consume(rig)).toEqual([]);
  });

  test('of another queue or tenant with the same key is another timer', () => {
    const rig = new EngineRig();
    const other = '00000000-0000-0000-0000-00000000000a';
    callTimers(rig, scheduleOf('k'), scheduleOf('k', { queue: 'r', txn: 'other' }));
    rig.call(timerCall([scheduleOf('k')], other));
    expect(pending(rig)).toBe(3);
    expect(timerUseOf(rig.planner.state, TENANT)).toEqual({ timers: 2, bytes: 14 });
    expect(callTimers(rig, cancelOf('k', 'r')).results).toMatchObject([{ txn: 'other' }]);
    expect(pending(rig)).toBe(2);
  });
});

describe('many timers', () => {
  test('a turn fires a batch, and the next one follows at once', () => {
    const rig = new EngineRig();
    const count = 600;
    const ops = Array.from({ length: count }, (_, i) =>
      scheduleOf(`k${i}`, { partition: `p${i % 7}`, delayMs: 1000 + (i % 3) }),
    );
    callTimers(rig, ...ops);
    rig.advance(1002);
    const left: number[] = [];
    do {
      rig.turn();
      left.push(pending(rig));
    } while (rig.planner.busy);
    expect(left).toEqual([600 - 256, 600 - 512, 0]);
    expect(consume(rig)).toHaveLength(count);
  });

  test('in the order in which they are due, in each partition, with one append for a turn', () => {
    const rig = new EngineRig();
    const order = [5, 1, 4, 2, 3];
    callTimers(rig, ...order.map((ms) => scheduleOf(`k${ms}`, { delayMs: ms })));
    rig.advance(10);
    settle(rig);
    const popped = rig.pop({ autoAck: true });
    expect(popped.claims[0]?.slices).toHaveLength(1);
    expect(rig.texts(popped)).toEqual(order.sort().map((ms) => `"txn-k${ms}"`));
  });

  test('a batch is bounded by bytes, and takes one timer at least', () => {
    const limits = { ...TIMER_LIMITS, batchBytesMax: 5000 };
    const rig = new EngineRig(DELIVERY_LIMITS, { timers: limits });
    const payload = (bytes: number) => utf8(`"${'x'.repeat(bytes)}"`);
    callTimers(
      rig,
      scheduleOf('a', { delayMs: 1, payload: payload(20_000) }),
      scheduleOf('b', { delayMs: 2, payload: payload(2000) }),
      scheduleOf('c', { delayMs: 3, payload: payload(2000) }),
      scheduleOf('d', { delayMs: 4, payload: payload(2000) }),
    );
    rig.advance(10);
    const left: number[] = [];
    do {
      rig.turn();
      left.push(pending(rig));
    } while (rig.planner.busy);
    expect(left).toEqual([3, 1, 0]);
  });

  test('they share appends with pushes, and pushes do not hold them up', () => {
    const rig = new EngineRig(DELIVERY_LIMITS, { turnBytesMax: 64 });
    callTimers(rig, scheduleOf('k'));
    rig.advance(1000);
    for (let i = 0; i < 20; i++) rig.send(pushCommand('q', 'p', [`m${i}${'x'.repeat(60)}`], true));
    rig.turn();
    expect(pending(rig)).toBe(0);
    settle(rig);
    expect(consume(rig)).toHaveLength(21);
  });

  test('a list goes by key, in pages', () => {
    const rig = new EngineRig();
    const keys = ['a', 'b/1', 'b', 'c', 'é', 'z'];
    callTimers(rig, ...keys.map((key) => scheduleOf(key)), scheduleOf('a', { queue: 'q2' }));
    const page = (after: string, limit: number) => {
      return walked(listTimers(rig.planner.state, TENANT, 'q', after, limit));
    };
    const first = page('', 4);
    expect(first.timers.map(({ timerKey }) => timerKey)).toEqual(['a', 'b', 'b/1', 'c']);
    expect(first).toMatchObject({ truncated: true, nextAfter: 'c' });
    const second = page('c', 4);
    expect(second.timers.map(({ timerKey }) => timerKey)).toEqual(['z', 'é']);
    expect(second).toMatchObject({ truncated: false, nextAfter: null });
    expect(page('', 6)).toMatchObject({ truncated: false });
    expect(page('é', 6).timers).toEqual([]);
  });
});

describe('duplicates', () => {
  test('a transaction id that is known: the timer goes, and nothing is stored', () => {
    const rig = new EngineRig();
    rig.push('q', 'p', ['txn-k']);
    callTimers(rig, scheduleOf('k', { delayMs: 0 }));
    settle(rig);
    expect(pending(rig)).toBe(0);
    expect(consume(rig)).toEqual(['txn-k']);
  });

  test.each([0, 3])('a push of what has fired is told the promised id (%i in flight)', (lag) => {
    const rig = new EngineRig();
    const [result] = callTimers(rig, scheduleOf('k', { delayMs: 0 })).results;
    rig.lag = lag;
    settle(rig);
    // An entry in flight need not be readable yet.
    rig.damaged = lag > 0;
    const pushed = rig.send(pushCommand('q', 'p', ['txn-k'], true));
    rig.turn();
    const promised = result?.status === 'scheduled' ? result.messageId : '';
    expect(pushed.outcome).toMatchObject({ kind: 'pushed', messageIds: [promised] });
    rig.lag = 0;
    rig.turn();
  });

  test('in the turn in which it fires a push of the same id follows it', () => {
    const rig = new EngineRig();
    const [result] = callTimers(rig, scheduleOf('k')).results;
    rig.advance(1000);
    const pushed = rig.call(pushCommand('q', 'p', ['txn-k'], true));
    const promised = result?.status === 'scheduled' ? result.messageId : '';
    expect(pushed.outcome).toMatchObject({ messageIds: [promised], status: new Uint8Array([1]) });
    expect(consume(rig)).toEqual(['"txn-k"']);
  });

  test('a dead letter of a fired message names the promised id', () => {
    const rig = new EngineRig();
    const [result] = callTimers(rig, scheduleOf('k', { delayMs: 0 })).results;
    settle(rig);
    const popped = rig.pop();
    const partition = popped.claims[0]?.partitionNumber ?? 0;
    rig.ack(partition, popped.leaseId, [['txn-k', 'dlq', 'no']]);
    const promised = result?.status === 'scheduled' ? result.messageId : '';
    expect(rig.deadLetters()).toMatchObject([{ messageId: promised, transactionId: 'txn-k' }]);
  });
});

describe('switches, a full disk, failures', () => {
  test('while firing is off nothing fires or is looked at; when it is on again, all does', () => {
    const rig = new EngineRig();
    setSwitch(rig, { timersFire: false });
    callTimers(rig, scheduleOf('k'));
    rig.advance(5000);
    settle(rig);
    expect(rig.planner.nextDueMs()).toBeNull();
    expect(pending(rig)).toBe(1);
    rig.restart();
    settle(rig);
    expect(rig.planner.nextDueMs()).toBeNull();
    setSwitch(rig, { timersFire: true });
    expect(consume(rig)).toEqual(['"txn-k"']);
  });

  test('with a full disk they wait, and are tried again after a while', () => {
    const rig = new EngineRig();
    rig.mayGrow = false;
    callTimers(rig, scheduleOf('k', { delayMs: 0 }));
    const { entries } = rig;
    settle(rig);
    expect(rig.planner.nextDueMs()).toBe(rig.nowMs + TIMER_LIMITS.transientBackoffMs);
    runDue(rig);
    expect(rig.entries).toBe(entries);
    rig.mayGrow = true;
    runDue(rig);
    expect(consume(rig)).toEqual(['"txn-k"']);
    expect(rig.rows(timers)).toEqual([]);
  });

  test('one that no entry holds any more backs off, twice as long each time, and dies', () => {
    const rig = new EngineRig();
    const raw = { isJson: false, payload: new Uint8Array(2000).fill(255), queue: 'dead' };
    callTimers(rig, scheduleOf('k', { ...raw, delayMs: 1000 }), scheduleOf('l', raw));
    rig.restart(1, { entryBytesMax: 1000 });
    settle(rig);
    const startMs = rig.nowMs;
    const tries: [number, number][] = [];
    while (rig.rows(timers).length > 0) {
      runDue(rig);
      const attempts = rig.rows(timers)[0]?.attempts ?? -1;
      tries.push([Math.round(rig.nowMs - startMs), attempts]);
      if (tries.length === 3) callTimers(rig, cancelOf('l', 'dead'));
    }
    expect(tries).toEqual([
      [1000, 1],
      [2000, 2],
      [4000, 3],
      [8000, 4],
      [16_000, -1],
    ]);
    const error = 'too_large: the message has 2683 bytes, an entry holds 1000';
    expect(rig.deadLetters()).toMatchObject([
      {
        group: '__timer__',
        offset: -1,
        transactionId: 'txn-k',
        producerSub: 'who',
        retries: 5,
        error,
        reason: 'timer',
      },
    ]);
    const [{ payload = utf8('') } = {}] = rig.deadLetters();
    const json = JSON.parse(utf8Read(payload, 0, payload.length)) as { _raw_b64: string };
    expect(Buffer.from(json._raw_b64, 'base64')).toEqual(Buffer.alloc(2000, 255));
    expect(rig.planner.nextDueMs()).toBeNull();
  });

  test('a new leader goes on where the backoff stands', () => {
    const rig = new EngineRig();
    callTimers(rig, scheduleOf('k', { payload: utf8(`"${'x'.repeat(2000)}"`), delayMs: 0 }));
    rig.restart(1, { entryBytesMax: 1000 });
    settle(rig);
    expect(rig.rows(timers)).toMatchObject([{ attempts: 1 }]);
    rig.advance(600);
    rig.restart(2, { entryBytesMax: 100_000 });
    settle(rig);
    expect(pending(rig)).toBe(1);
    expect(rig.planner.nextDueMs()).toBeCloseTo(rig.nowMs + 400, 2);
    runDue(rig);
    expect(pending(rig)).toBe(0);
  });
});

describe('payloads', () => {
  test.each([
    ['nothing', new Uint8Array(0), 'null'],
    ['bytes', new Uint8Array([0, 255, 16, 1]), '{"_raw_b64":"AP8QAQ=="}'],
    ['text', utf8('plain'), '{"_raw_b64":"cGxhaW4="}'],
    ['three bytes', new Uint8Array([1, 2, 3]), '{"_raw_b64":"AQID"}'],
  ])('what is no JSON becomes some: %s', (_, payload, json) => {
    const rig = new EngineRig();
    callTimers(rig, scheduleOf('k', { delayMs: 0, payload, isJson: false }));
    settle(rig);
    expect(consume(rig)).toEqual([json]);
  });

  const cipher: PayloadCipher = {
    seal: (payload) => {
      const text = `sealed:${utf8Read(payload, 0, payload.length)}`;
      return utf8(text.padEnd(sealedBytes(payload.length), '.'));
    },
    open: (stored) => stored,
    isEnvelope: (stored) => utf8Read(stored, 0, Math.min(7, stored.length)) === 'sealed:',
  };
  const sealed = (text: string) => `sealed:${text}`.padEnd(sealedBytes(text.length), '.');

  test('are encrypted when they are scheduled, or when they fire, if the queue asks for it', () => {
    const rig = new EngineRig();
    rig.cipher = cipher;
    rig.restart();
    callTimers(rig, scheduleOf('plain', { payload: utf8('1') }));
    rig.configure('q', { encryptionEnabled: true });
    callTimers(rig, scheduleOf('sealed', { payload: utf8('2') }));
    const raw = { payload: new Uint8Array([3]), isJson: false };
    callTimers(rig, scheduleOf('wrapped', raw));
    expect(rig.rows(timers).map(({ encrypted }) => encrypted)).toEqual([false, true, true]);
    const [first, ...others] = rig.rows(timerPayloads).map((p) => utf8Read(p, 0, p.length));
    expect([first, ...others]).toEqual(['1', sealed('2'), sealed('{"_raw_b64":"Aw=="}')]);
    rig.advance(500);
    rig.configure('q', { encryptionEnabled: false });
    callTimers(rig, scheduleOf('last', { payload: utf8('4') }));
    rig.configure('q', { encryptionEnabled: true });
    rig.advance(1000);
    settle(rig);
    const wrapped = sealed('{"_raw_b64":"Aw=="}');
    expect(consume(rig)).toEqual([sealed('1'), sealed('2'), wrapped, sealed('4')]);
  });

  test('that the client says are encrypted are refused where the broker does it', () => {
    const rig = new EngineRig();
    rig.cipher = cipher;
    rig.restart();
    const claimed = scheduleOf('k', { encrypted: true });
    expect(callTimers(rig, claimed).results).toMatchObject([{ status: 'scheduled' }]);
    expect(rig.rows(timers)).toMatchObject([{ encrypted: true }]);
    rig.configure('q', { encryptionEnabled: true });
    const { flaw, results } = callTimers(rig, scheduleOf('l'), claimed);
    expect(flaw).toEqual({ reason: 'timers_encrypted_conflict', index: 1 });
    expect(results).toEqual([]);
    expect(pending(rig)).toBe(1);
  });

  test('a call that no entry holds is refused whole', () => {
    const rig = new EngineRig(DELIVERY_LIMITS, { entryBytesMax: 3000 });
    const large = { payload: utf8(`"${'x'.repeat(1500)}"`) };
    const { outcome } = rig.call(timerCall([scheduleOf('a', large), scheduleOf('b', large)]));
    expect(outcome).toMatchObject({ kind: 'refused', refusal: { reason: 'too_large' } });
    expect(pending(rig)).toBe(0);
    // Transaction ids of what is cancelled stand in the outcome, which the entry keeps.
    callTimers(rig, scheduleOf('a', { txn: 'x'.repeat(2000), payload: utf8('1') }));
    callTimers(rig, scheduleOf('b', { txn: 'x'.repeat(2000), payload: utf8('1') }));
    const both = rig.call(timerCall([cancelOf('a'), cancelOf('b')]));
    expect(both.outcome).toMatchObject({ kind: 'refused', refusal: { reason: 'too_large' } });
    expect(callTimers(rig, cancelOf('a')).results).toMatchObject([{ status: 'cancelled' }]);
  });
});

describe('in a transaction', () => {
  test('all of it or nothing, and the timer fires', () => {
    const rig = new EngineRig();
    const lost = transact(rig, {
      pushes: [['q', 'p', 'first']],
      timers: timerCall([scheduleOf('k')]),
    });
    expect(lost.timers?.results).toMatchObject([{ status: 'scheduled' }]);
    const rolledBack = transact(rig, {
      pushes: [['q', 'p', 'first']],
      timers: timerCall([cancelOf('k'), scheduleOf('other')]),
    });
    expect(rolledBack).toMatchObject({ rollback: { reason: 'duplicate' }, timers: null });
    expect(rig.rows(timers)).toHaveLength(1);
    rig.advance(1000);
    settle(rig);
    expect(consume(rig)).toEqual(['first', '"txn-k"']);
  });

  test('a cancellation of nothing is no failure; a paused surface is', () => {
    const rig = new EngineRig();
    const parts = { pushes: [['q', 'p', 'one']], timers: timerCall([cancelOf('k')]) } as const;
    expect(transact(rig, parts).timers?.results).toEqual([{ status: 'absent' }]);
    setSwitch(rig, { timersSchedule: false });
    const paused = transact(rig, { ...parts, pushes: [['q', 'p', 'two']] });
    expect(paused.rollback?.reason).toBe('timers_disabled');
    expect(consume(rig)).toEqual(['one']);
  });
});

function appendOf(rig: EngineRig): ReturnType<typeof decodeAppend> {
  const [slice] = rig.pop({ autoAck: true }).claims[0]?.slices ?? [];
  if (slice === undefined) throw new Error('nothing was stored');
  return decodeAppend(rig.bytesAt(slice));
}
