// Goal: a text counts what it holds while it grows, gives its bytes from any place, and lets go of
// its room with its last holder. Method: texts above a room that counts.
import { expect, test } from 'vitest';
import { AnswerText, type TextRoom } from './answer-text.js';
import { joined, ListText } from './list-text.js';

class CountedRoom implements TextRoom {
  readonly #bytesMax: number;
  bytes = 0;

  constructor(bytesMax = Number.POSITIVE_INFINITY) {
    this.#bytesMax = bytesMax;
  }

  reserve(bytes: number): boolean {
    if (bytes > this.#bytesMax) return false;
    this.bytes = bytes;
    return true;
  }

  release(): void {
    this.bytes = 0;
  }
}

function bytesOf(text: AnswerText): string {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < text.length; at += chunks.at(-1)?.length ?? 0) chunks.push(text.from(at));
  return Buffer.concat(chunks).toString('utf8');
}

test('what it holds counts as it grows', () => {
  const room = new CountedRoom();
  const text = new AnswerText(room);
  const piece = 'é'.repeat(1000);
  let made = '';
  for (let i = 0; i < 200; i++) {
    expect(text.add(piece)).toBe(true);
    made += piece;
    // All but what is not made bytes of yet.
    expect(room.bytes).toBeGreaterThanOrEqual(2 * (made.length - 66_000));
  }
  expect(text.finish()).toBe(true);
  expect(room.bytes).toBe(400_000);
  expect(text.length).toBe(400_000);
  expect(bytesOf(text)).toBe(made);
  expect(Buffer.from(text.from(399_998)).toString()).toBe('é');
  expect(text.from(400_000)).toHaveLength(0);
  text.retain();
  text.release();
  expect(room.bytes).toBe(400_000);
  text.release();
  expect(room.bytes).toBe(0);
});

test('without room it says so, and nothing more is made', () => {
  const room = new CountedRoom(100_000);
  const form = { open: '[', row: joined(() => 'x'.repeat(999)), close: () => ']', token: String };
  const list = new ListText<number>(new AnswerText(room), form);
  let taken = 0;
  while (list.take(taken)) taken++;
  // Two chunks of 65,536 chars do not fit.
  expect(taken).toBeLessThan(132);
  expect(list.end({ nextAfter: null })).toBe(false);
  expect(room.bytes).toBeLessThan(100_000);
  list.drop();
  expect(room.bytes).toBe(0);
});
