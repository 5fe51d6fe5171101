// Goal: a batch shows the payloads that were pushed, whatever of it was encrypted, beside the same
// offsets and ids; and no more is opened than a reader can take. Method: a batch of six messages,
// some of them sealed, by the cipher itself; slices of it; lengths by table.
import type { MessageBatch } from '@svc/http';
import { expect, test } from 'vitest';
import { TurnedLoop } from '../testing/turned-loop.fake.js';
import { PayloadOpener, withinPayloadBytes } from './opened-batch.js';
import { payloadCipher } from './payload-cipher.js';

const cipher = payloadCipher('ab'.repeat(32), (bytes) => bytes.fill(7));
if (cipher === null) throw new Error('no key');
const sealing = cipher;

const loop = new TurnedLoop();
const opener = new PayloadOpener(sealing, loop);

/** Opened, however many slices it takes; and how many. */
function open(batches: readonly MessageBatch[]): { opened: MessageBatch[]; pauses: number } {
  const found: MessageBatch[][] = [];
  opener.open(batches, (opened) => found.push(opened));
  let pauses = 0;
  for (; loop.waiting > 0; pauses++) loop.turn();
  return { opened: found[0] ?? [], pauses };
}

function openedBatch(one: MessageBatch): MessageBatch {
  return open([one]).opened[0] as MessageBatch;
}

const PAYLOADS = ['1', '"two"', '{"three":3}', '[4]', '"fünf"', 'null'];

/** `sealed` are the indexes of messages that are stored encrypted. */
function batch(sealed: readonly number[], first = 0, last = PAYLOADS.length - 1): MessageBatch {
  const stored = PAYLOADS.map((payload, i) =>
    sealed.includes(i) ? sealing.seal(Buffer.from(payload)) : Buffer.from(payload),
  );
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  let at = 3;
  for (const payload of stored) {
    payloadStart.push(at);
    at += payload.length;
    payloadEnd.push(at);
    at += 2;
  }
  const bytes = new Uint8Array(at);
  for (const [i, payload] of stored.entries()) bytes.set(payload, payloadStart[i]);
  const transactionIds = PAYLOADS.map((_, i) => (i % 2 === 0 ? `t${i}` : null));
  const traceIds = PAYLOADS.map((_, i) => (i === 4 ? 'trace' : null));
  const columns = { bytes, payloadStart, payloadEnd, transactionIds, producerSubs: null, traceIds };
  return { ...columns, stampUs: 5, baseOffset: 100, first, last };
}

function shown(opened: MessageBatch) {
  const rows: unknown[] = [];
  for (let i = opened.first; i <= opened.last; i++) {
    const payload = opened.bytes.subarray(opened.payloadStart[i], opened.payloadEnd[i]);
    rows.push([
      opened.baseOffset + i,
      Buffer.from(payload).toString('utf8'),
      opened.transactionIds[i],
      opened.traceIds?.[i],
    ]);
  }
  return rows;
}

test.each([
  ['all', [0, 1, 2, 3, 4, 5]],
  ['some', [1, 4]],
  ['the last', [5]],
])('%s encrypted', (_, sealed) => {
  for (let first = 0; first < PAYLOADS.length; first++) {
    for (let last = first; last < PAYLOADS.length; last++) {
      const expected = shown(batch([], first, last));
      expect(shown(openedBatch(batch(sealed, first, last))), `${first}..${last}`).toEqual(expected);
    }
  }
});

test('a batch without an envelope is handed on as it is', () => {
  const plain = batch([]);
  expect(openedBatch(plain)).toBe(plain);
  const other = batch([0], 1, 5);
  expect(openedBatch(other)).toBe(other);
});

test('what a reader can take is among what is opened for it, and little more', () => {
  const sealed = batch([0, 1, 2, 3, 4, 5]);
  const lengths = PAYLOADS.map((payload) => Buffer.byteLength(payload));
  for (let bytesMax = 0; bytesMax < 50; bytesMax++) {
    let room = 0;
    let fitting = 0;
    while (fitting < lengths.length && room + (lengths[fitting] ?? 0) <= bytesMax) {
      room += lengths[fitting] ?? 0;
      fitting++;
    }
    const [kept] = withinPayloadBytes([sealed], bytesMax);
    const count = (kept?.last ?? -1) + 1;
    expect(count, `${bytesMax}`).toBeGreaterThanOrEqual(Math.min(fitting + 1, lengths.length));
    expect(count, `${bytesMax}`).toBeLessThanOrEqual(fitting + 4);
  }
});

test('many are opened in slices, whatever batches they stand in; few at once', () => {
  const all = batch([0, 1, 2, 3, 4, 5]);
  const expected = shown(batch([]));
  for (const [batches, pauses] of [
    [1, 0],
    [8, 0],
    [9, 1],
    [25, 2],
    [26, 3],
  ] as const) {
    const found = open(Array.from({ length: batches }, () => all));
    expect(found.pauses, `${batches} batches`).toBe(pauses);
    for (const one of found.opened) expect(shown(one)).toEqual(expected);
    expect(found.opened).toHaveLength(batches);
  }
});
