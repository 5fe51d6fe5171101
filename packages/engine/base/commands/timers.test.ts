// Goal: calls on timers and their outcomes come out as they went in, and bytes that are none are
// refused, never half read. Method: examples of every kind, and each of them cut at every byte.
import { describe, expect, test } from 'vitest';
import { utf8 } from '../../testing/engine.fake.js';
import { cancelOf, scheduleOf, timerCall } from '../../testing/timers.fake.js';
import { ByteWriter } from '../bytes.js';
import { choice } from '../fields/choice.js';
import { GuardedReader } from '../guarded-reader.js';
import { type TimerCall, type TimersOutcome, timerCommands, timerOutcomes } from './timers.js';

const CALL = timerCall([
  scheduleOf('k', { delayMs: 0, payload: new Uint8Array([0, 255]), isJson: false }),
  scheduleOf('ключ/1', { delayMs: 7_776_000_000, encrypted: true, partition: '' }),
  cancelOf('k', 'other'),
  cancelOf('l', '', 'txn'),
]);

const OUTCOMES: TimersOutcome[] = [
  { kind: 'timers', flaw: { reason: 'timers_encrypted_conflict', index: 3 }, results: [] },
  {
    kind: 'timers',
    flaw: null,
    results: [
      {
        status: 'scheduled',
        messageId: '0199d0c4-7b1e-7c7e-9a10-3f5b2c8d9e01',
        deliverAtUs: 1_800_000_000_000_000,
      },
      {
        status: 'rescheduled',
        messageId: '0199d0c4-7b1e-7c7e-9a10-3f5b2c8d9e02',
        deliverAtUs: 1,
      },
      { status: 'cancelled', txn: 't' },
      { status: 'absent' },
    ],
  },
];

const calls = choice('kind', timerCommands);
const outcomes = choice('kind', timerOutcomes);

function writeTimerCall(w: ByteWriter, call: TimerCall): void {
  calls.write(w, call);
}

function readTimerCall(r: GuardedReader): TimerCall {
  return calls.read(r);
}

function bytesOf(write: (w: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter(16);
  write(writer);
  return writer.finish();
}

function expectCutsRefused(bytes: Uint8Array, read: (r: GuardedReader) => unknown): void {
  for (let length = 0; length < bytes.length; length++) {
    const reader = new GuardedReader(bytes.slice(0, length));
    read(reader);
    expect(reader.whole).toBe(false);
  }
}

describe('a call', () => {
  const bytes = bytesOf((w) => writeTimerCall(w, CALL));

  test('comes out as it went in', () => {
    const reader = new GuardedReader(bytes);
    expect(readTimerCall(reader)).toEqual(CALL);
    expect(reader.whole).toBe(true);
  });

  test('cut anywhere is refused', () => {
    expectCutsRefused(bytes, (r) => readTimerCall(r));
  });

  test.each([
    ['the same timer twice', [scheduleOf('k'), cancelOf('k')]],
    ['no key', [scheduleOf('')]],
    ['a NUL in a name', [cancelOf('a\0b')]],
    ['names that no key holds', [scheduleOf('k'.repeat(420))]],
    ['a delay beyond all horizons', [scheduleOf('k', { delayMs: 315_360_000_001 })]],
  ])('%s is refused', (_, ops) => {
    const reader = new GuardedReader(bytesOf((w) => writeTimerCall(w, timerCall(ops))));
    readTimerCall(reader);
    expect(reader.refused).toBe(true);
  });

  test('payloads are views of what was received', () => {
    const call = timerCall([scheduleOf('k', { payload: utf8('"text"') })]);
    const received = bytesOf((w) => writeTimerCall(w, call));
    const [op] = readTimerCall(new GuardedReader(received)).ops;
    expect(op?.op === 'schedule' && op.payload.buffer).toBe(received.buffer);
  });
});

describe('an outcome', () => {
  test.each(OUTCOMES)('comes out as it went in, and cut anywhere is refused', (outcome) => {
    const bytes = bytesOf((w) => outcomes.write(w, outcome));
    const reader = new GuardedReader(bytes);
    expect(outcomes.read(reader)).toEqual(outcome);
    expect(reader.whole).toBe(true);
    expectCutsRefused(bytes, outcomes.read);
  });
});
