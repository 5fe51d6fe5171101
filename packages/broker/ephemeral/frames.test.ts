// Goal: what nodes ask each other comes through as it was meant, bytes of any other kind are
// refused without an exception, and the form can grow. Method: each question and answer there and
// back; then each of them cut short, made longer or changed at random, from a seed that is printed;
// and the bytes that the first build of this form wrote.
import { readFileSync } from 'node:fs';
import { added, choice, fields, GuardedReader, kind } from '@svc/engine';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../testing/recovery.fake.js';
import {
  ackParts,
  adoptOf,
  adoptParts,
  answerKinds,
  answerParts,
  payloadsOf,
  popOf,
  popParts,
  poppedOf,
  poppedParts,
  pushParts,
  questionKinds,
  questionParts,
  readAnswer,
  readQuestion,
} from './frames.js';
import { partsOf } from './ring-parts.js';

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
const back = { tenant: names.tenant, queue: 'q', group: 'g', ids: ['a'] };
const popped = {
  bytes,
  start: 2,
  end: 9,
  partition: 'p',
  incarnation: 9,
  sequence: -3,
  attempts: 2,
};

const QUESTIONS = {
  push: pushParts({ ...place, bytes, start: [2, 9], end: [9, 12] }),
  pop: popParts({ ...names, partition: null, batch: 7, autoAck: true, deadlineMs: 1500 }, 1000),
  ack: ackParts({ ...names, ids: [...IDS, 'x'], verdicts: ['completed', 'failed', 'failed'] }),
  'give-back': questionParts({ ask: 'give-back', ...back }),
  reset: questionParts({ ask: 'reset', tenant: names.tenant, queue: 'q' }),
  applied: questionParts({ ask: 'applied', index: 2 ** 40 }),
  ready: questionParts({ ask: 'ready' }),
  leaving: questionParts({ ask: 'leaving', epoch: 5 }),
  adopt: adoptParts(3, partsOf(ring, 8), 1000),
};

const ANSWERS = {
  done: answerParts({ kind: 'done' }),
  refused: answerParts({ kind: 'refused', code: 'owner_moved' }),
  popped: poppedParts([popped]),
  acked: answerParts({ kind: 'acked', outcomes: ['acked', 'redelivered', 'stale', 'unknown'] }),
  ready: answerParts({ kind: 'ready', epoch: 5 }),
  adopted: answerParts({ kind: 'adopted', refused: [1, 2] }),
};

const FRAMES: readonly (readonly [string, Uint8Array, (frame: Uint8Array) => unknown])[] = [
  ...Object.entries(QUESTIONS).map(
    ([name, parts]) => [`ask ${name}`, Buffer.concat(parts), readQuestion] as const,
  ),
  ...Object.entries(ANSWERS).map(
    ([name, parts]) => [`answer ${name}`, Buffer.concat(parts), readAnswer] as const,
  ),
];

function asked<Ask extends keyof typeof QUESTIONS>(ask: Ask) {
  const heard = readQuestion(Buffer.concat(QUESTIONS[ask]));
  if (heard === null || heard.said.ask !== ask) throw new Error(`${ask} was refused`);
  return heard as { said: Extract<typeof heard.said, { ask: Ask }>; payloads: Uint8Array };
}

function answered(kind: keyof typeof ANSWERS) {
  const heard = readAnswer(Buffer.concat(ANSWERS[kind]));
  if (heard === null) throw new Error(`${kind} was refused`);
  return heard;
}

const textOf = (one: { bytes: Uint8Array; start: number; end: number }) =>
  Buffer.from(one.bytes).toString('utf8', one.start, one.end);

test('each comes through', () => {
  const push = asked('push');
  expect(push.said).toMatchObject(place);
  const { bytes: all, start, end } = payloadsOf(push);
  const texts = start.map((from, i) => textOf({ bytes: all, start: from, end: end[i] ?? 0 }));
  expect(texts).toEqual(['{"a":1}', '"b"']);
  const pop = { ...names, partition: null, batch: 7, autoAck: true, deadlineMs: 5500 };
  expect(popOf(asked('pop').said, 5000)).toEqual(pop);
  const verdicts = ['completed', 'failed', 'failed'];
  expect(asked('ack').said).toEqual({ ask: 'ack', ...names, ids: [...IDS, ''], verdicts });
  expect(asked('give-back').said).toEqual({ ask: 'give-back', ...back });
  expect(asked('reset').said).toEqual({ ask: 'reset', tenant: names.tenant, queue: 'q' });
  expect(asked('applied').said.index).toBe(2 ** 40);
  expect(asked('leaving').said.epoch).toBe(5);
  expect(answered('refused').said).toEqual({ kind: 'refused', code: 'owner_moved' });
  expect(answered('acked').said).toMatchObject({
    outcomes: ['acked', 'redelivered', 'stale', 'unknown'],
  });
  expect(answered('ready').said).toEqual({ kind: 'ready', epoch: 5 });
  expect(answered('adopted').said).toEqual({ kind: 'adopted', refused: [1, 2] });
  const messages = poppedOf(answered('popped')) ?? [];
  expect(messages).toMatchObject([{ partition: 'p', incarnation: 9, sequence: -3, attempts: 2 }]);
  expect(messages.map(textOf)).toEqual(['{"a":1}']);
  expect(poppedOf(answered('done'))).toBeNull();
});

test('a ring goes in parts, its messages as old as they were, its groups with the last', () => {
  const adopted = adoptOf(asked('adopt'), 2000);
  expect(adopted.epoch).toBe(3);
  expect(adopted.parts).toMatchObject([
    { place, incarnation: 7, number: 0, groups: null },
    { place, incarnation: 7, number: 1, groups: ring.groups },
  ]);
  const messages = adopted.parts.flatMap((part) => [...part.messages]);
  expect(messages.map(textOf)).toEqual(['{"a":1}', '"b"']);
  expect(messages.map(({ atMs }) => atMs)).toEqual([1900, 1900]);
});

test('questions whose fields do not agree are refused', () => {
  const read = (parts: Uint8Array[]) => readQuestion(Buffer.concat(parts));
  expect(read(pushParts({ ...place, bytes, start: [], end: [] }))).toBeNull();
  expect(read(ackParts({ ...names, ids: IDS, verdicts: ['failed'] }))).toBeNull();
  const group = { ...ring.groups[0], name: 'g', isWhole: true, skipped: 0 };
  for (const [next, outstanding] of [
    [1, [[1, 0]]],
    [
      1,
      [
        [0, 0],
        [0, 0],
      ],
    ],
  ] as const) {
    const groups = [{ ...group, next, outstanding }];
    expect(read(adoptParts(3, partsOf({ ...ring, groups }, 99), 1000))).toBeNull();
  }
});

const seed = Date.now() % 1_000_000;
test(`what is no frame is refused, seed ${seed}`, () => {
  const random = seededRandom(seed);
  for (const [name, frame, read] of FRAMES) {
    for (let length = 0; length < frame.length; length++) {
      expect(read(frame.subarray(0, length)), `${name} cut at ${length}`).toBeNull();
    }
    expect(read(Buffer.concat([frame, Buffer.of(0)])), `${name} and more`).toBeNull();
    for (let i = 0; i < 300; i++) {
      const changed = Buffer.from(frame);
      changed[random.below(changed.length)] = random.below(256);
      expect(() => read(changed), `${name}: ${changed.toString('hex')}`).not.toThrow();
    }
  }
  expect([readQuestion(Buffer.of(99, 0)), readAnswer(Buffer.of(99, 0))]).toEqual([null, null]);
});

describe('the first build of this form', () => {
  /** Lines are added to it, and none is ever changed. */
  const golden: readonly (readonly [string, string])[] = JSON.parse(
    readFileSync(new URL('./first-frames.json', import.meta.url), 'utf8'),
  );

  test('wrote frames of all kinds as this one does', () => {
    const written = FRAMES.map(([name, frame]) => [name, Buffer.from(frame).toString('hex')]);
    expect(written).toEqual(golden);
    const known = [
      ...Object.keys(questionKinds).map((name) => `ask ${name}`),
      ...Object.keys(answerKinds).map((name) => `answer ${name}`),
    ];
    expect(golden.map(([name]) => name).sort()).toEqual(known.sort());
  });

  test.each(golden)('wrote %s, which is read when it has gained a field', (name, hex) => {
    const [tag = '', kindName = ''] = name.split(' ');
    const kinds = tag === 'ask' ? questionKinds : answerKinds;
    const { number, fields: list } = kinds[kindName as keyof typeof kinds];
    const gained = added(fields.count, 7);
    const grown = choice('is', { [kindName]: kind(number, { ...(list as object), gained }) });
    const read = grown.read(new GuardedReader(Buffer.from(hex, 'hex')));
    expect(read).toMatchObject({ is: kindName, gained: 7 });
  });
});
