// Goal: an answer of another shape than its endpoint declares is told in words, and none that fits.
// Method: a table over one schema that has every part which is read.
import { expect, test } from 'vitest';
import { faultOfAnswer } from './answer-check.js';
import { RawJson } from './raw-json.js';

const NAMED = { Queue: { type: 'object', properties: { name: { type: 'string' } } } };
const SCHEMA = {
  type: 'object',
  required: ['queues', 'lag'],
  properties: {
    queues: { type: 'array', items: { $ref: 'Queue' } },
    lag: { anyOf: [{ type: 'number' }, { type: 'null' }] },
    next: { type: ['string', 'null'] },
    rates: { type: 'object', additionalProperties: { type: 'integer' } },
    payload: { type: 'string' },
  },
};

test.each([
  [{ queues: [], lag: 1 }, null],
  [{ queues: [{ name: 'a', more: 1 }], lag: null, next: null, rates: { a: 1 }, new: 1 }, null],
  [{ queues: [{}], lag: 0, payload: new RawJson('1.0') }, null],
  [{}, 'queues is missing'],
  [null, 'it is not an object'],
  [[], 'it is not an object'],
  ['text', 'it is not an object'],
  [{ queues: {}, lag: 1 }, 'queues is not a list'],
  [{ queues: [{ name: 'a' }, null], lag: 1 }, 'queues[1] is not an object'],
  [{ queues: [{ name: 7 }], lag: 1 }, 'queues[0].name is not a text'],
  [{ queues: [], lag: 'x' }, 'lag is not a number'],
  [{ queues: [], lag: Number.POSITIVE_INFINITY }, 'lag is not a number'],
  [{ queues: [], lag: 1, next: 5 }, 'next is not a text or null'],
  [{ queues: [], lag: 1, rates: { a: 1, b: true } }, 'rates.b is not a number'],
  [JSON.parse('{"queues":[],"__proto__":{"lag":1}}'), 'lag is missing'],
])('%j: %s', (answer, fault) => {
  expect(faultOfAnswer(answer, SCHEMA, NAMED)).toBe(fault);
});
