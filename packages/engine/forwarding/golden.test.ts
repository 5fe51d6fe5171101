/**
 * Goal: the bytes of commands and outcomes are pinned, and a build that has added a field to any of
 * them reads what the first build of this format sent or recorded, and writes it as it was.
 * Method: some of each kind against a file of bytes, `first-format.json`: lines are added to it,
 * and none is ever changed.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ByteWriter } from '../base/bytes.js';
import { commandFields, outcomeFields } from '../base/commands/catalogue.js';
import { count } from '../base/fields/field.js';
import { added, type FieldList, formOf } from '../base/fields/record.js';
import { GuardedReader } from '../base/guarded-reader.js';
import { decodeForwarded, encodeForwarded } from './command-codec.js';
import { decodeAnswer, encodeAnswer } from './outcome-codec.js';

interface Golden {
  readonly commands: readonly (readonly [string, string])[];
  readonly outcomes: readonly (readonly [string, string])[];
}

const GOLDEN: Golden = JSON.parse(
  readFileSync(new URL('./first-format.json', import.meta.url), 'utf8'),
);
/** Format, term, deadline of one byte, no origin; format, index, term. */
const COMMAND_HEAD_BYTES = 11;
const ANSWER_HEAD_BYTES = 17;

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'));
}

/** The fields of the first build, and one more behind them; after the kind's number. */
function expectGrown(kind: string, fields: FieldList, frame: Uint8Array): void {
  const grown = formOf<object>({ ...fields, gained: added(count, 7) }, { kind });
  const r = new GuardedReader(frame);
  const size = r.varint();
  const from = frame.length - r.left;
  r.enter(size);
  const read = grown.readFields(r);
  expect([r.refused, read]).toMatchObject([false, { kind, gained: 7 }]);
  const w = new ByteWriter(16);
  grown.writeFields(w, read);
  expect(Buffer.compare(w.bytes.subarray(0, w.length), frame.subarray(from, from + size))).toBe(0);
}

/** Every bit flipped: refused, or what has these bytes. */
function expectSound(frame: Uint8Array, from: number, again: (frame: Uint8Array) => string | null) {
  for (let bit = from * 8; bit < frame.length * 8; bit++) {
    const flipped = frame.slice();
    flipped[bit >>> 3] = (flipped[bit >>> 3] ?? 0) ^ (1 << (bit & 7));
    const form = again(flipped);
    if (form !== null) expect(form).toBe(Buffer.from(flipped).toString('hex'));
  }
}

describe('commands', () => {
  test.each(GOLDEN.commands)('%s has the bytes of the first build', (kind, hex) => {
    const decoded = decodeForwarded(bytesOf(hex), 0);
    if (typeof decoded === 'string') throw new Error(decoded);
    expect(decoded.command.kind).toBe(kind);
    expect(Buffer.concat(encodeForwarded(decoded, 0)).toString('hex')).toBe(hex);
    if (!Object.hasOwn(commandFields, kind)) return;
    const { fields } = commandFields[kind as keyof typeof commandFields];
    expectGrown(kind, fields, bytesOf(hex).subarray(COMMAND_HEAD_BYTES + 1));
    // The options of a configure are a map, whose order in the bytes is free.
    if (kind === 'configure') return;
    expectSound(bytesOf(hex), COMMAND_HEAD_BYTES + 1, (frame) => {
      const read = decodeForwarded(frame, 0);
      return typeof read === 'string'
        ? null
        : Buffer.concat(encodeForwarded(read, 0)).toString('hex');
    });
  });

  test('of every kind are here', () => {
    const known = new Set(GOLDEN.commands.map(([kind]) => kind));
    const byHand = ['push', 'pop', 'ack', 'transaction', 'stream-cycle'];
    expect([...Object.keys(commandFields), ...byHand].filter((kind) => !known.has(kind))).toEqual(
      [],
    );
  });
});

describe('outcomes', () => {
  test.each(GOLDEN.outcomes)('%s has the bytes of the first build', (kind, hex) => {
    const decoded = decodeAnswer(bytesOf(hex));
    if (typeof decoded === 'string') throw new Error(decoded);
    expect(decoded.outcome.kind).toBe(kind);
    expect(Buffer.from(encodeAnswer(decoded)).toString('hex')).toBe(hex);
    if (!Object.hasOwn(outcomeFields, kind)) return;
    const { fields } = outcomeFields[kind as keyof typeof outcomeFields];
    expectGrown(kind, fields, bytesOf(hex).subarray(ANSWER_HEAD_BYTES + 1));
    expectSound(bytesOf(hex), ANSWER_HEAD_BYTES + 1, (frame) => {
      const read = decodeAnswer(frame);
      return typeof read === 'string' ? null : Buffer.from(encodeAnswer(read)).toString('hex');
    });
  });

  test('of every kind are here', () => {
    const known = new Set(GOLDEN.outcomes.map(([kind]) => kind));
    const byHand = ['pushed', 'popped', 'acked', 'transacted', 'stream-cycled'];
    expect([...Object.keys(outcomeFields), ...byHand].filter((kind) => !known.has(kind))).toEqual(
      [],
    );
  });
});
