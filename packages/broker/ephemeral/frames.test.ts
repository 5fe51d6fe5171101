// Goal: what nodes ask each other comes through as it was meant, and bytes of any other kind are
// refused without an exception. Method: each form there and back; then each of them cut short, made
// longer or changed at random, from a seed that is printed.
import { GuardedReader } from '@svc/engine';
import { expect, test } from 'vitest';
import { seededRandom } from '../testing/recovery.fake.js';
import { adoptedParts, adoptParts, partsOf, readAdopt, readAdopted } from './carried-frames.js';
import {
  ackedParts,
  ackParts,
  answerWriter,
  giveBackParts,
  numberParts,
  popParts,
  poppedParts,
  pushParts,
  readAck,
  readAcked,
  readAnswerWord,
  readAsk,
  readGiveBack,
  readNumber,
  readPop,
  readPopped,
  readPush,
  readReset,
  readyParts,
  resetParts,
} from './frames.js';

const names = { tenant: '00000000-0000-0000-0000-000000000001', queue: 'q', group: 'ü' };
const bytes = Buffer.from('xx{"a":1}"b"xx');
const message = { bytes, start: 2, end: 9, atMs: 900 };
const place = { tenant: names.tenant, queue: 'q', partition: 'p' };
const ring = {
  ...place,
  incarnation: 7,
  messages: [message, { ...message, start: 9, end: 12 }],
  groups: [{ name: 'g', isWhole: true, next: 2, outstanding: [[1, 3]] as const, skipped: 4 }],
};
const IDS = ['e:1:p:0', 'e:2:ü:-1'];
const payloadsOf = (all: { bytes: Uint8Array; start: number; end: number }[]) =>
  all.map((one) => Buffer.from(one.bytes).toString('utf8', one.start, one.end));

/** The frame, and how it is read; the first byte says what is asked or how it was answered. */
const FORMS: readonly (readonly [string, Uint8Array[], (r: GuardedReader) => unknown])[] = [
  ['push', pushParts({ ...place, bytes, start: [2, 9], end: [9, 12] }), readPush],
  [
    'pop',
    popParts({ ...names, partition: null, batch: 7, autoAck: true, deadlineMs: 1500 }, 1000),
    (r) => readPop(r, 5000),
  ],
  ['ack', ackParts({ ...names, ids: IDS, verdicts: ['completed', 'failed'] }), readAck],
  ['give-back', giveBackParts({ ...names, ids: ['a'] }), readGiveBack],
  ['reset', resetParts(names.tenant, 'q'), readReset],
  ['applied', numberParts('applied', 2 ** 40), readNumber],
  ['adopt', adoptParts(3, partsOf(ring, 8), 1000), (r) => readAdopt(r, 2000)],
  [
    'popped',
    poppedParts([{ ...message, partition: 'p', incarnation: 9, sequence: -3, attempts: 2 }]),
    readPopped,
  ],
  ['acked', ackedParts(['acked', 'redelivered', 'stale', 'unknown']), readAcked],
  ['ready', readyParts(5), readNumber],
  ['adopted', adoptedParts(answerWriter(), [1, 2]), readAdopted],
];

function decoded(frame: Uint8Array, read: (r: GuardedReader) => unknown): unknown {
  const r = new GuardedReader(frame);
  r.u8();
  return read(r);
}

function formed(name: string): unknown {
  const [, parts = [], read = () => null] = FORMS.find(([form]) => form === name) ?? [];
  return decoded(Buffer.concat(parts), read);
}

test('each comes through', () => {
  const pushed = formed('push') as ReturnType<typeof readPush>;
  expect(pushed?.place).toEqual(place);
  const { start = [], end = [], bytes: all = bytes } = pushed?.payloads ?? {};
  const runs = start.map((from, i) => ({ bytes: all, start: from, end: end[i] ?? 0 }));
  expect(payloadsOf(runs)).toEqual(['{"a":1}', '"b"']);
  const pop = { ...names, partition: null, batch: 7, autoAck: true, deadlineMs: 5500 };
  expect(formed('pop')).toEqual(pop);
  const acks = { ...names, ids: IDS, verdicts: ['completed', 'failed'] };
  expect(formed('ack')).toEqual(acks);
  expect(formed('give-back')).toEqual({ ...names, ids: ['a'] });
  expect(formed('reset')).toEqual({ tenant: names.tenant, queue: 'q' });
  expect(formed('applied')).toBe(2 ** 40);
  expect(formed('acked')).toEqual(['acked', 'redelivered', 'stale', 'unknown']);
  expect(formed('ready')).toBe(5);
  expect(formed('adopted')).toEqual([1, 2]);
  const popped = formed('popped') as NonNullable<ReturnType<typeof readPopped>>;
  expect(popped).toMatchObject([{ partition: 'p', incarnation: 9, sequence: -3, attempts: 2 }]);
  expect(payloadsOf([...popped])).toEqual(['{"a":1}']);
});

test('a ring goes in parts, its messages as old as they were, its groups with the last', () => {
  const adopted = formed('adopt') as NonNullable<ReturnType<typeof readAdopt>>;
  expect(adopted.epoch).toBe(3);
  expect(adopted.parts).toMatchObject([
    { place, incarnation: 7, number: 0, groups: null },
    { place, incarnation: 7, number: 1, groups: ring.groups },
  ]);
  const messages = adopted.parts.flatMap((part) => [...part.messages]);
  expect(payloadsOf(messages)).toEqual(['{"a":1}', '"b"']);
  expect(messages.map(({ atMs }) => atMs)).toEqual([1900, 1900]);
});

const seed = Date.now() % 1_000_000;
test(`what is no frame is refused, seed ${seed}`, () => {
  const random = seededRandom(seed);
  for (const [name, parts, read] of FORMS) {
    const frame = Buffer.concat(parts);
    for (let length = 1; length < frame.length; length++) {
      expect(decoded(frame.subarray(0, length), read), `${name} cut at ${length}`).toBeNull();
    }
    expect(decoded(Buffer.concat([frame, Buffer.of(0)]), read), `${name} and more`).toBeNull();
    for (let i = 0; i < 300; i++) {
      const changed = Buffer.from(frame);
      changed[random.below(changed.length)] = random.below(256);
      expect(() => decoded(changed, read), `${name}: ${changed.toString('hex')}`).not.toThrow();
    }
  }
  expect(readAsk(new GuardedReader(Buffer.of(99)))).toBeNull();
  expect(readAnswerWord(new GuardedReader(Buffer.of(99)))).toBe('content');
});
