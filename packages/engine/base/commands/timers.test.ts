// Goal: bytes that are no call on timers are refused, and a call costs no copy of its payloads.
// That calls come out as they went in is a test of `forwarding/`. Method: examples.
import { describe, expect, test } from 'vitest';
import { utf8 } from '../../testing/engine.fake.js';
import { cancelOf, scheduleOf, timerCall } from '../../testing/timers.fake.js';
import { ByteWriter } from '../bytes.js';
import { choice } from '../fields/choice.js';
import { GuardedReader } from '../guarded-reader.js';
import { type TimerCall, timerCommands } from './timers.js';

const calls = choice('kind', timerCommands);

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

describe('a call', () => {
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
