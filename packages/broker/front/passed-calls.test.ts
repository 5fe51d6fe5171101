// Goal: of an answer that is passed on, its thread holds no more than a socket would. Method: a
// front that hands over a long answer, and a reader who takes a part of it.
import type { CallClient } from '@svc/http';
import { expect, test } from 'vitest';
import { PassedCalls } from './passed-calls.js';
import { callParts, splitHead, TO_THREAD } from './thread-frames.js';

const HELD_BYTES_MAX = 32_768;

test('an answer that is not read stays with the front of the core', () => {
  const answer = new Uint8Array(1_000_000);
  let client: CallClient | null = null;
  let taken = 0;
  const give = () => {
    taken += client?.onBytes(answer.subarray(taken)) ?? 0;
  };
  const front = {
    call: (_: unknown, made: CallClient) => {
      client = made;
      made.onHead({ status: '200 OK', headers: [], length: answer.length, closes: false });
      give();
      return { sendBody: () => true, takesMore: give, abort: () => {} };
    },
  };
  const lengths: number[] = [];
  const calls = new PassedCalls(
    front,
    () => null,
    (kind, _, parts) => {
      const bytes = Buffer.concat(parts);
      lengths.push(kind === TO_THREAD.head ? splitHead(bytes)[1].length : bytes.length);
    },
  );
  const head = { method: 'GET', target: '/', headers: [], owner: '\x7f\0\0\x01' };
  calls.begin(1, Buffer.concat(callParts(head, new Uint8Array(0), 'none')));
  expect(taken).toBe(HELD_BYTES_MAX);
  calls.taken(1, 1000);
  expect(taken).toBe(HELD_BYTES_MAX + 1000);
  expect(lengths).toEqual([HELD_BYTES_MAX, 1000]);
});
