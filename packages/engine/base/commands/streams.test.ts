/**
 * Goal: commands and outcomes of streams survive the way between nodes, and bytes that nobody sent
 * are refused. Method: random ones, written and read; then cut.
 */
import { expect, test } from 'vitest';
import { decodeForwarded, encodeForwarded } from '../../forwarding/command-codec.js';
import { readOutcome, writeOutcome } from '../../forwarding/outcome-codec.js';
import { pushCommand } from '../../testing/engine.fake.js';
import { SeededRandom } from '../../testing/random.fake.js';
import { randomStreamCommand, randomStreamOutcome } from '../../testing/stream-command.fake.js';
import { ByteWriter } from '../bytes.js';
import { GuardedReader } from '../guarded-reader.js';
import type { PushCommand, PushedOutcome } from './commands.js';

const ROUNDS = 400;
const PLAIN = pushCommand('out', 'p', ['a', 'grüße', 'c'], true) as PushCommand;
const NAMED = { ...PLAIN, messageIds: [null, '01a2b3c4-0000-4000-8000-0000000000ff', null] };
const PUSHED: PushedOutcome = {
  kind: 'pushed',
  status: Uint8Array.from([0]),
  messageIds: ['01a2b3c4-0000-7000-8000-000000000001'],
};

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

test('a command comes back as it was sent', () => {
  const random = new SeededRandom(11);
  for (let round = 0; round < ROUNDS; round++) {
    const command = randomStreamCommand(random, round % 2 === 0 ? PLAIN : NAMED);
    const forwarded = { term: 3, deadlineMs: 5000, origin: null, command };
    const bytes = joined(encodeForwarded(forwarded, 0));
    const read = decodeForwarded(bytes, 0);
    expect(read).toEqual(forwarded);
    const cut = bytes.subarray(0, random.below(bytes.length));
    expect(typeof decodeForwarded(cut, 0)).toBe('string');
  }
});

test('an outcome comes back as it was sent', () => {
  const random = new SeededRandom(12);
  for (let round = 0; round < ROUNDS; round++) {
    const outcome = randomStreamOutcome(random, PUSHED);
    const w = new ByteWriter(64);
    writeOutcome(w, outcome);
    const reader = new GuardedReader(w.finish());
    expect(readOutcome(reader)).toEqual(outcome);
    expect(reader.whole).toBe(true);
  }
});
