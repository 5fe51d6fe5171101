// Goal: a dead name server can hold up one question and no more. Method: a resolver that a test
// answers by hand.
import { expect, test } from 'vitest';
import { PeerLookup, type Resolver } from './lookup.js';

type Answer = Parameters<Resolver>[1];

function made(): { asked: [string, Answer][]; lookup: PeerLookup; told: unknown[] } {
  const asked: [string, Answer][] = [];
  const lookup = new PeerLookup((host, done) => asked.push([host, done]));
  return { asked, lookup, told: [] };
}

const FOUR = { address: '10.0.0.1', family: 4 };
const SIX = { address: 'fd00::1', family: 6 };

test('one question at a time, and whoever wants the same name shares its answer', () => {
  const { asked, lookup, told } = made();
  const ask = (host: string) => {
    lookup.forSocket(host, { all: true }, (error, found) => told.push([host, error, found]));
  };
  for (const host of ['a', 'b', 'a', 'a', 'b']) ask(host);
  expect(asked.map(([host]) => host)).toEqual(['a']);
  asked[0]?.[1](null, [FOUR]);
  expect(told).toEqual([1, 2, 3].map(() => ['a', null, [FOUR]]));
  expect(asked.map(([host]) => host)).toEqual(['a', 'b']);
  const error = Object.assign(new Error('no'), { code: 'ENOTFOUND' });
  asked[1]?.[1](error, []);
  expect(told.slice(3)).toEqual([1, 2].map(() => ['b', error, []]));
  // Nothing is kept: the address may be another one next time.
  ask('a');
  expect(asked).toHaveLength(3);
});

test('an answer of the family that the socket wants', () => {
  const { asked, lookup, told } = made();
  for (const [i, options] of [{}, { family: 4 }, { family: 6 }].entries()) {
    lookup.forSocket('a', options, (error, address, family) => told.push([error, address, family]));
    if (i === 2) asked[0]?.[1](null, [SIX, FOUR]);
  }
  const six = [null, SIX.address, 6];
  expect(told).toEqual([six, [null, FOUR.address, 4], six]);
  lookup.forSocket('a', { family: 6 }, (error) => told.push(error?.code));
  asked[1]?.[1](null, [FOUR]);
  expect(told.at(-1)).toBe('ENOTFOUND');
});

test('those who wait are bounded', async () => {
  const { lookup, told } = made();
  for (let i = 0; i < 1500; i++) lookup.forSocket('a', {}, (error) => told.push(error?.code));
  await new Promise((resolve) => void setImmediate(resolve));
  expect(told).toHaveLength(1500 - 1024);
  expect(new Set(told)).toEqual(new Set(['ENOTFOUND']));
});
