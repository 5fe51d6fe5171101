// Goal: questions and answers about members come through as they were, and nothing else that
// another node sends is taken for one. Method: round trips; random damage to valid bytes, from a
// printed seed.
import type { MembershipChange } from '@svc/http';
import { describe, expect, test } from 'vitest';
import {
  decodeQuestion,
  decodeReply,
  encodeQuestion,
  encodeReply,
  type MembershipQuestion,
} from './call.js';
import { refusedChange } from './plan.js';

const CHANGES: readonly MembershipChange[] = [
  { kind: 'add-learner', node: 4, raftAddress: 'svc-4:7400', httpAddress: 'svc-4:6632' },
  { kind: 'promote', nodes: [4, 5], force: true },
  { kind: 'set-voters', nodes: [], force: false },
  { kind: 'remove', node: 1 },
  { kind: 'transfer', node: 2 },
];

function bytesOf(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

describe('what was sent comes out', () => {
  const questions: readonly MembershipQuestion[] = [
    { ask: 'view' },
    ...CHANGES.map((change) => ({ ask: 'change', change }) as const),
  ];
  test.each(questions)('%j', (question) => {
    expect(decodeQuestion(bytesOf(encodeQuestion(question)))).toEqual(question);
  });

  test('answers', () => {
    for (const reply of [
      refusedChange('in_flight', 'why'),
      { kind: 'elsewhere', changed: 'no' } as const,
      { kind: 'elsewhere', changed: 'maybe' } as const,
    ]) {
      expect(decodeReply(bytesOf(encodeReply(reply)))).toEqual(reply);
    }
  });
});

test.each([
  '',
  'null',
  '[]',
  '{}',
  '{"ask":"x"}',
  '{"ask":"change"}',
  '{"ask":"change","change":{"kind":"remove"}}',
  '{"ask":"change","change":{"kind":"remove","node":"4"}}',
  '{"ask":"change","change":{"kind":"remove","node":1e300}}',
  '{"ask":"change","change":{"kind":"promote","nodes":[1.5],"force":true}}',
  '{"ask":"change","change":{"kind":"promote","nodes":[1]}}',
  '{"ask":"change","change":{"kind":"add-learner","node":4,"raftAddress":"a:1"}}',
  '{"kind":"membership"}',
  '{"kind":"membership","membership":[]}',
  '{"kind":"membership-refused","code":1,"error":"x"}',
  `"${'x'.repeat(300_000)}"`,
])('%.60s is neither', (text) => {
  expect(decodeQuestion(Buffer.from(text))).toBeNull();
  expect(decodeReply(Buffer.from(text))).toBeNull();
});

test('damaged bytes are refused or something that could have been sent', () => {
  const seed = Number(process.env.SVC_SEED ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed}`);
  let state = seed >>> 0;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let round = 0; round < 20_000; round++) {
    const change = CHANGES[random(CHANGES.length)] as MembershipChange;
    const bytes = bytesOf(encodeQuestion({ ask: 'change', change }));
    for (let hit = 0; hit <= random(3); hit++) bytes[random(bytes.length)] = random(256);
    const question = decodeQuestion(bytes.subarray(0, bytes.length - random(2)));
    if (question?.ask !== 'change') continue;
    const again = decodeQuestion(bytesOf(encodeQuestion(question)));
    expect(again, `seed ${seed}, round ${round}`).toEqual(question);
  }
});
