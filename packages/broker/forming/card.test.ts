// Goal: a card is read as it was written, and anything else is no card and never an error. Method:
// cards of every state there and back; every field of one replaced by what it cannot be; random
// changes of the bytes, from a printed seed.
import { expect, test } from 'vitest';
import { memberId } from '../config/member-id.js';
import { seededRandom } from '../testing/recovery.fake.js';
import { type Card, decodeCard, digestOfList, encodeCard } from './card.js';

const PEER = { id: 1, raftAddress: 'a:1', httpAddress: 'b:2' };
const MEMBER: Card = {
  node: 1,
  incarnation: 7,
  state: 'member',
  clusterId: '11111111-1111-4111-8111-111111111111',
  pledge: memberId(1, 7),
  founding: { founders: [memberId(1, 7), memberId(2, 9)], peers: [PEER] },
  members: [memberId(1, 7), memberId(2, 9)],
  addresses: [PEER],
  readableVersion: 5,
  listDigest: 'abc',
};
const FRESH: Card = {
  ...MEMBER,
  state: 'fresh',
  clusterId: '',
  pledge: null,
  founding: null,
  members: [],
  addresses: [],
};

function textOf(value: unknown): Uint8Array {
  return new Uint8Array(Buffer.from(JSON.stringify(value)));
}

test.each([MEMBER, FRESH, { ...FRESH, state: 'joining' } as const])(
  'there and back: %j',
  (card) => {
    expect(decodeCard(encodeCard(card))).toEqual(card);
  },
);

const WRONG: Readonly<Record<keyof Card | 'format', readonly unknown[]>> = {
  format: [0, 2, '1'],
  node: [0, -1, 1.5, 2 ** 21, '1', null],
  incarnation: [-1, 2 ** 32, '7', null],
  state: ['leader', 1, null],
  clusterId: ['x', 'A1111111-1111-4111-8111-111111111111', null],
  pledge: [0, -1, 2 ** 53, 'x'],
  founding: [1, {}, { founders: [], peers: [] }, { founders: [2, 1], peers: [] }],
  members: [null, {}, [0], [2, 1], [1, 1], ['1']],
  addresses: [null, [{}], [{ ...PEER, id: 0 }], [{ ...PEER, raftAddress: 1 }]],
  readableVersion: [-1, 1.5, null],
  listDigest: [null, 1],
};

test.each(Object.entries(WRONG))('%s has to be what it is', (field, values) => {
  for (const value of values) {
    expect(decodeCard(textOf({ format: 1, ...MEMBER, [field]: value }))).toBeNull();
  }
  const { [field as keyof Card]: _gone, ...rest } = { format: 1, ...MEMBER };
  expect(decodeCard(textOf(rest))).toBeNull();
});

test('bytes that are no card are none', () => {
  const seed = 11;
  console.log(`seed ${seed}`);
  const drawn = seededRandom(seed);
  const random = () => drawn.bits() / 2 ** 32;
  const whole = encodeCard(MEMBER);
  for (let round = 0; round < 2000; round++) {
    const bytes = whole.slice(0, 1 + Math.floor(random() * whole.length));
    for (let change = 0; change < 3; change++) {
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    }
    decodeCard(bytes);
  }
  for (const text of ['', 'null', '[]', '1', '{"format":1}']) {
    expect(decodeCard(new Uint8Array(Buffer.from(text)))).toBeNull();
  }
});

test('a list has one digest, in whatever order it names the nodes', () => {
  const other = { id: 2, raftAddress: 'c:1', httpAddress: 'd:2' };
  expect(digestOfList([PEER, other])).toBe(digestOfList([other, PEER]));
  expect(digestOfList([PEER, other])).not.toBe(digestOfList([PEER]));
  expect(digestOfList([PEER])).not.toBe(digestOfList([{ ...PEER, httpAddress: 'x:1' }]));
});
