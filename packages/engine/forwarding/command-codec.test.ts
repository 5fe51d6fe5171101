/**
 * Goal: a command and its outcome come back as they were sent, and bytes that are anything else are
 * refused without an exception, an endless loop or an allocation that they did not pay for.
 * Method: random commands and outcomes there and back; then every cut of them, every bit of them
 * flipped, random bytes, and counts that promise what is not there.
 */
import { describe, expect, test } from 'vitest';
import { ByteWriter } from '../base/bytes.js';
import { type Command, DEADLINE_OVER, type Outcome } from '../base/commands/commands.js';
import { newRequestSession, type RequestSession, SESSION_BYTES } from '../state/request-id.js';
import { randomCommand, randomOutcome } from '../testing/command.fake.js';
import { popCommand, TENANT } from '../testing/engine.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { decodeForwarded, encodeForwarded, type ForwardedCommand } from './command-codec.js';
import { decodeAnswer, encodeAnswer } from './outcome-codec.js';

const NOW_MS = 123_456;
const LATER_MS = 77;
const FORMAT = 2;

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function forwarded(random: SeededRandom): ForwardedCommand {
  const sequence = 1 + random.below(2 ** 47);
  const origin = {
    session: newRequestSession(random.below(2 ** 52), random.below(2 ** 32), random.below(2 ** 32)),
    sequence,
    settledBelow: random.below(sequence + 1),
    settled: Array.from({ length: random.below(9) }, (_, i) => sequence + 1 + i),
  };
  return {
    term: random.below(2 ** 52),
    deadlineMs: NOW_MS + 1 + random.below(60_000),
    origin: random.below(3) === 0 ? null : origin,
    command: randomCommand(random, NOW_MS),
  };
}

function bytesOf(one: ForwardedCommand): Uint8Array {
  return joined(encodeForwarded(one, NOW_MS));
}

/** As it is on a node whose monotonic clock began at another time. */
function moved(one: ForwardedCommand): ForwardedCommand {
  const deadlineMs = one.deadlineMs - NOW_MS + LATER_MS;
  const { command } = one;
  if (command.kind !== 'pop') return { ...one, deadlineMs };
  const popDeadlineMs = command.deadlineMs - NOW_MS + LATER_MS;
  return { ...one, deadlineMs, command: { ...command, deadlineMs: popDeadlineMs } };
}

function bodyOf(decoded: ReturnType<typeof decodeForwarded>): Uint8Array {
  const { command } = decoded as ForwardedCommand;
  return command.kind === 'push' ? command.body : new Uint8Array(0);
}

describe('a forwarded command', () => {
  test('comes back as it was sent, with the time that was left', () => {
    const random = new SeededRandom(1);
    for (let i = 0; i < 1000; i++) {
      const one = forwarded(random);
      const decoded = decodeForwarded(bytesOf(one), LATER_MS);
      expect([i, decoded]).toEqual([i, moved(one)]);
    }
  });

  test('of another tenant or session is not taken for the one before', () => {
    const random = new SeededRandom(5);
    let one = forwarded(random);
    while (one.command.kind !== 'ack' || one.origin === null) one = forwarded(random);
    const { origin, command } = one;
    const tenants = [TENANT, TENANT.replace('0', '1'), TENANT.replace(/.$/, 'a'), TENANT];
    const sessions = ['a', 'b', 'a', '\xff'].map((digit) => digit.repeat(SESSION_BYTES));
    for (const [i, tenant] of tenants.entries()) {
      const session = sessions[i] as RequestSession;
      const sent = { ...one, origin: { ...origin, session }, command: { ...command, tenant } };
      expect(decodeForwarded(bytesOf(sent), NOW_MS)).toMatchObject({
        origin: { session },
        command: { tenant },
      });
    }
    const upper = { ...one, command: { ...command, tenant: TENANT.replace(/.$/, 'A') } };
    expect(decodeForwarded(bytesOf(upper), NOW_MS)).toBe('content');
  });

  test('takes a body by reference, and gives it as a view of what arrived', () => {
    const body = Uint8Array.from([1, 2, 3, 4]);
    const columns = {
      groups: [{ queue: 'q', partition: 'p' }],
      itemGroup: [0],
      transactionIds: [null],
      payloadStart: [1],
      payloadEnd: [3],
    };
    const command: Command = { kind: 'push', tenant: TENANT, producerSub: null, body, ...columns };
    const parts = encodeForwarded({ term: 1, deadlineMs: 1, origin: null, command }, 0);
    expect(parts[parts.length - 1]).toBe(body);
    const bytes = joined(parts);
    const decoded = decodeForwarded(bytes, 0);
    expect(bodyOf(decoded)).toEqual(body);
    expect(bodyOf(decoded).buffer).toBe(bytes.buffer);
  });

  test('whose time is over says so; any time that is left is more than none', () => {
    const random = new SeededRandom(2);
    let one = forwarded(random);
    while (one.command.kind !== 'pop') one = forwarded(random);
    const at = (deadlineMs: number) => {
      const command = { ...one.command, deadlineMs } as Command;
      return decodeForwarded(bytesOf({ ...one, deadlineMs, command }), LATER_MS);
    };
    const over = { deadlineMs: DEADLINE_OVER, command: { deadlineMs: DEADLINE_OVER } };
    const short = { deadlineMs: LATER_MS + 1, command: { deadlineMs: LATER_MS + 1 } };
    expect(at(NOW_MS - 5)).toMatchObject(over);
    expect(at(NOW_MS)).toMatchObject(over);
    expect(at(NOW_MS + 0.01)).toMatchObject(short);
    expect(at(NOW_MS + 10_000_000)).toMatchObject({ deadlineMs: LATER_MS + 120_000 });
  });

  test('that is cut anywhere, or goes on, is refused', () => {
    const random = new SeededRandom(3);
    for (let i = 0; i < 100; i++) {
      const whole = bytesOf(forwarded(random));
      const cuts = Array.from(whole, (_, length) => whole.subarray(0, length));
      const taken = cuts.filter((cut) => typeof decodeForwarded(cut, LATER_MS) !== 'string');
      expect([i, taken]).toEqual([i, []]);
      expect(decodeForwarded(joined([whole, new Uint8Array(1)]), LATER_MS)).toBe('content');
    }
  });

  test('with any bits flipped is refused, or is one that could have been sent', () => {
    const random = new SeededRandom(4);
    for (let i = 0; i < 2500; i++) {
      const bytes = bytesOf(forwarded(random)).slice();
      for (let flips = 1 + random.below(3); flips > 0; flips--) {
        const at = random.below(bytes.length);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      }
      const decoded = decodeForwarded(bytes, NOW_MS);
      if (typeof decoded === 'string') continue;
      const again = decodeForwarded(bytesOf(decoded), NOW_MS);
      expect([i, again]).toEqual([i, decoded]);
    }
  });

  test('of random bytes behind a good head never throws', () => {
    const random = new SeededRandom(5);
    for (let i = 0; i < 15_000; i++) {
      const w = new ByteWriter(64);
      w.u8(FORMAT);
      w.u64(random.below(9));
      w.varint(random.below(100));
      w.u8(0);
      w.u8(random.below(16));
      w.text(TENANT);
      for (let left = random.below(60); left > 0; left--) w.u8(random.below(256));
      decodeForwarded(w.finish(), NOW_MS);
      const noise = Uint8Array.from({ length: random.below(80) }, () => random.below(256));
      decodeForwarded(noise, NOW_MS);
    }
  });

  test.each(['push', 'give-back', 'ack', 'configure', 'transaction'] as const)(
    'of kind %s that promises more than is there costs nothing',
    (kind) => {
      const kinds = ['push', 'pop', 'give-back', 'ack', 'extend', 'configure', '', 'transaction'];
      for (const count of [65, 99_999, 100_001, 2 ** 31, 2 ** 53 - 1]) {
        const w = new ByteWriter(64);
        w.u8(FORMAT);
        w.u64(1);
        w.varint(5);
        w.u8(0);
        w.u8(kinds.indexOf(kind));
        const at = kind === 'give-back' || kind === 'configure' ? w.beginSized() : null;
        w.text(TENANT);
        if (kind === 'push') w.u8(0);
        else if (kind !== 'transaction') w.text('g');
        if (kind === 'give-back') w.text('');
        if (kind === 'configure') w.u8(0);
        w.varint(count);
        if (at !== null) w.endSized(at, 0);
        const before = process.memoryUsage().heapUsed;
        expect([count, decodeForwarded(w.finish(), 0)]).toEqual([count, 'content']);
        expect(process.memoryUsage().heapUsed - before).toBeLessThan(4_000_000);
      }
    },
  );

  test('says whether a pop makes its queue', () => {
    for (const scope of [
      { kind: 'queue', queue: 'q' },
      { kind: 'queue', queue: 'q', creates: false },
    ] as const) {
      const command: Command = { ...popCommand(NOW_MS), scope };
      const bytes = bytesOf({ term: 1, deadlineMs: NOW_MS, origin: null, command });
      expect(decodeForwarded(bytes, NOW_MS)).toMatchObject({ command: { scope } });
    }
  });

  test('with names that no key can hold is refused', () => {
    const one = (queue: string, partition: string) => {
      const scope = { kind: 'partition', queue, partition } as const;
      const rest = { batch: 1, partitions: 1, autoAck: true, wait: false, leaseSeconds: null };
      const command: Command = {
        kind: 'pop',
        tenant: TENANT,
        scope,
        consumerGroup: '',
        deadlineMs: NOW_MS + 5,
        subscription: { mode: 'all' },
        conflation: null,
        autopilot: null,
        ...rest,
      };
      return decodeForwarded(bytesOf({ term: 1, deadlineMs: NOW_MS, origin: null, command }), 0);
    };
    expect(typeof one('x'.repeat(211), 'y'.repeat(200))).toBe('object');
    expect(one('x'.repeat(211), 'y'.repeat(201))).toBe('content');
  });

  test.each([
    ['a surrogate alone', [0xed, 0xa0, 0x80]],
    ['a longer spelling than needed', [0xc0, 0x80]],
    ['a code point above all', [0xf4, 0x90, 0x80, 0x80]],
    ['a trail byte without a lead', [0x80]],
    ['a lead byte without a trail', [0xe2, 0x82]],
  ])('whose text holds %s is refused', (_, text) => {
    const w = new ByteWriter(64);
    w.u8(FORMAT);
    w.u64(1);
    w.varint(5);
    w.u8(0);
    w.u8(6);
    const at = w.beginSized();
    w.text(TENANT);
    w.blob(Uint8Array.from(text));
    w.endSized(at, 0);
    expect(decodeForwarded(w.finish(), 0)).toBe('content');
  });

  test('of another format or kind is named', () => {
    const bytes = bytesOf(forwarded(new SeededRandom(6)));
    bytes[0] = FORMAT - 1;
    expect(decodeForwarded(bytes, 0)).toBe('format');
    const w = new ByteWriter(64);
    w.u8(FORMAT);
    w.u64(1);
    w.varint(5);
    w.u8(0);
    w.u8(255);
    w.text(TENANT);
    expect(decodeForwarded(w.finish(), 0)).toBe('kind');
  });
});

function answerOf(outcome: Outcome): Uint8Array {
  return encodeAnswer({ index: 7, term: 2 ** 40, outcome });
}

describe('an answer', () => {
  test('comes back as it was sent', () => {
    const random = new SeededRandom(7);
    for (let i = 0; i < 1000; i++) {
      const outcome = randomOutcome(random);
      const decoded = decodeAnswer(answerOf(outcome));
      expect([i, decoded]).toEqual([i, { index: 7, term: 2 ** 40, outcome }]);
    }
  });

  test('that is cut or has bits flipped is refused, or is one that could have been sent', () => {
    const random = new SeededRandom(8);
    for (let i = 0; i < 1500; i++) {
      const whole = answerOf(randomOutcome(random));
      const length = random.below(whole.length);
      expect([i, typeof decodeAnswer(whole.subarray(0, length))]).toEqual([i, 'string']);
      const bytes = whole.slice();
      const at = random.below(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      const decoded = decodeAnswer(bytes);
      if (typeof decoded === 'string') continue;
      expect([i, decodeAnswer(encodeAnswer(decoded))]).toEqual([i, decoded]);
    }
  });

  test('of random bytes never throws and has no more items than a command', () => {
    const random = new SeededRandom(9);
    for (let i = 0; i < 15_000; i++) {
      const bytes = Uint8Array.from({ length: 18 + random.below(60) }, () => random.below(256));
      bytes[0] = FORMAT;
      bytes[17] = random.below(20);
      decodeAnswer(bytes);
    }
    for (const kind of [0, 2]) {
      const w = new ByteWriter(64);
      w.u8(FORMAT);
      w.u64(1);
      w.u64(1);
      w.u8(kind);
      w.varint(100_001);
      w.u8(4);
      w.varint(100_001);
      expect(decodeAnswer(w.finish())).toBe('content');
    }
  });

  test('to a batch that stands side by side is small', () => {
    const random = new SeededRandom(10);
    let outcome = randomOutcome(random);
    while (outcome.kind !== 'pushed' || outcome.messageIds.length < 2)
      outcome = randomOutcome(random);
    const first = '01a2b3c4-0000-7000-8000-0400000000';
    const messageIds = Array.from(
      { length: 100 },
      (_, i) => first + (i + 16).toString(16).padStart(2, '0'),
    );
    const batch: Outcome = { kind: 'pushed', status: new Uint8Array(100), messageIds };
    expect(decodeAnswer(answerOf(batch))).toMatchObject({ outcome: batch });
    expect(answerOf(batch).length).toBeLessThan(48);
  });
});
