/**
 * Requests of standbys: what is accepted, lowered and refused, and the order of the decision
 * (standby-link 9).
 */
import { expect, test } from 'vitest';
import {
  decideRead,
  encodeReadRequest,
  type LogView,
  parseReadRequest,
  READ_BYTES_MAX,
  READ_REQUEST_BYTES_MAX,
  type ReadRequest,
} from './read.js';

const REQUEST: ReadRequest = {
  after: 41_233,
  afterTerm: 7,
  maxBytes: 1_000_000,
  waitMs: 2000,
  reader: 'standby-5e1f09c2',
  holdOnly: false,
  holdAfter: 41_200,
};

test('a request comes back as it was sent', () => {
  expect(parseReadRequest(encodeReadRequest(REQUEST))).toEqual(REQUEST);
  const halted = { ...REQUEST, holdAfter: null };
  expect(parseReadRequest(encodeReadRequest(halted))).toEqual(halted);
});

test('absent fields have defaults, and bounds are lowered to those of a source', () => {
  const names = { reader: 'standby', holdOnly: false };
  const nothing = { after: 0, afterTerm: 0, waitMs: 0, ...names, holdAfter: 0 };
  expect(parseReadRequest('{}')).toEqual({ ...nothing, maxBytes: 8 * 1024 * 1024 });
  const much = parseReadRequest('{"maxBytes":1e12,"waitMs":90000}');
  expect(much).toEqual({ ...nothing, maxBytes: READ_BYTES_MAX, waitMs: 30_000 });
  expect(parseReadRequest('{"after":9}')).toMatchObject({ holdAfter: 9 });
});

test.each([
  ['nonsense', 'the body is not JSON'],
  ['[]', 'the body is not an object'],
  ['null', 'the body is not an object'],
  ['7', 'the body is not an object'],
  ['{"after":-1}', 'after is not an integer from 0 to 2^53 - 1'],
  ['{"after":1.5}', 'after is not an integer from 0 to 2^53 - 1'],
  ['{"after":9007199254740992}', 'after is not an integer from 0 to 2^53 - 1'],
  ['{"afterTerm":"7"}', 'afterTerm is not an integer from 0 to 2^53 - 1'],
  ['{"maxBytes":[]}', 'maxBytes is not an integer from 0 to 2^53 - 1'],
  ['{"waitMs":{}}', 'waitMs is not an integer from 0 to 2^53 - 1'],
  ['{"reader":7}', 'reader is not a string'],
  [`{"reader":"${'n'.repeat(201)}"}`, 'reader has more than 200 characters'],
  ['{"reader":"a\\nb"}', 'reader has a character that is no text'],
  ['{"reader":"a\\ud800"}', 'reader has a character that is no text'],
  ['{"holdOnly":"yes"}', 'holdOnly is not a boolean'],
  ['{"holdAfter":-1}', 'holdAfter is neither null nor an integer from 0 to 2^53 - 1'],
])('%s is refused', (text, error) => {
  expect(parseReadRequest(text)).toEqual({ error });
});

test('the largest request fits the bound of a body', () => {
  const most = Number.MAX_SAFE_INTEGER;
  const reader = '\u2028'.repeat(200);
  const text = encodeReadRequest({
    ...REQUEST,
    after: most,
    afterTerm: most,
    holdAfter: most,
    reader,
  });
  const escaped = text.replaceAll('\u2028', '\\u2028');
  expect(escaped.length).toBeLessThan(READ_REQUEST_BYTES_MAX);
  expect(parseReadRequest(escaped)).toMatchObject({ reader, after: most });
});

/** Entries 11 to 50 of terms 1 (to 30) and 2. The log knows the term of the entry that is gone. */
const LOG: LogView = {
  applied: 50,
  purged: 10,
  termAt: (index) => {
    if (index < 10 || index > 50) return null;
    return index <= 30 ? 1 : 2;
  },
};

test.each([
  // What is below the purge point needs a seed, whatever else the request says.
  [{ after: 9, afterTerm: 1 }, { kind: 'purged' }],
  [{ after: 9, afterTerm: 8, holdOnly: true }, { kind: 'purged' }],
  [{ after: 0, afterTerm: 0 }, { kind: 'purged' }],
  [
    { after: 10, afterTerm: 1 },
    { kind: 'entries', from: 10, to: 50 },
  ],
  [
    { after: 30, afterTerm: 1 },
    { kind: 'entries', from: 30, to: 50 },
  ],
  [
    { after: 30, afterTerm: 2 },
    { kind: 'mismatch', term: 1 },
  ],
  [
    { after: 31, afterTerm: 1 },
    { kind: 'mismatch', term: 2 },
  ],
  [
    { after: 31, afterTerm: 1, holdOnly: true },
    { kind: 'mismatch', term: 2 },
  ],
  [
    { after: 50, afterTerm: 2 },
    { kind: 'entries', from: 50, to: 50 },
  ],
  // A node that is behind its standby cannot judge the term.
  [
    { after: 51, afterTerm: 9 },
    { kind: 'entries', from: 50, to: 50 },
  ],
  [
    { after: 30, afterTerm: 1, holdOnly: true },
    { kind: 'entries', from: 30, to: 30 },
  ],
])('%o is decided', (request, decision) => {
  expect(decideRead({ ...REQUEST, ...request }, LOG)).toEqual(decision);
});

test('a log that does not tell the term of an applied entry is a mismatch without a term', () => {
  const request = { ...REQUEST, after: 20, afterTerm: 1 };
  const log = { applied: 50, purged: 0, termAt: () => null };
  expect(decideRead(request, log)).toEqual({ kind: 'mismatch', term: null });
  // Before the first entry there is none to compare.
  const first = decideRead({ ...REQUEST, after: 0, afterTerm: 0 }, log);
  expect(first).toEqual({ kind: 'entries', from: 0, to: 50 });
});
