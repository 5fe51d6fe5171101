// Goal: a form reads what it declares, tells the first fault in the order of the body, and is what
// the document says. Method: one form with a member of each kind, and bodies with their values or
// errors.
import { integer, list, optional, text } from '@svc/schema';
import { expect, test } from 'vitest';
import {
  alias,
  bodyForm,
  flagMember,
  given,
  ifPresent,
  integerMember,
  jsonMember,
  listMember,
  nameMember,
  objectForm,
  readEntries,
  textMember,
} from './body-form.js';

const MEMBERS = {
  name: nameMember(),
  note: given('', textMember()),
  id: given(null, integerMember(integer, 0, 9)),
  nodeId: alias('id', optional(integer)),
  force: given(false, flagMember()),
  seconds: ifPresent(60, integerMember(integer)),
  data: given('null', jsonMember(text)),
  tags: given(
    [],
    listMember(list(text, 2), (reader, name, index) => reader.readText(`${name}[${index}]`), {
      max: 2,
      tooMany: (reader, name, at) => reader.fail(`${name} has more than 2`, at),
    }),
  ),
};
const form = bodyForm(MEMBERS);
const NOTHING = { note: '', id: null, force: false, seconds: 60, data: 'null', tags: [] };

test.each([
  ['{"name":"a"}', { ...NOTHING, name: 'a' }],
  ['{"name":"a","note":null,"id":null,"force":null,"tags":null}', { ...NOTHING, name: 'a' }],
  ['{"id":1,"name":"a","nodeId":2}', { ...NOTHING, name: 'a', id: 2 }],
  ['{"id":1,"name":"a","nodeId":null}', { ...NOTHING, name: 'a', id: 1 }],
  ['{"name":"a","more":[{}],"seconds":5}', { ...NOTHING, name: 'a', seconds: 5 }],
  [
    '{"name":"a","data":{"n": 1.0},"tags":["x","y"]}',
    {
      ...NOTHING,
      name: 'a',
      data: '{"n": 1.0}',
      tags: ['x', 'y'],
    },
  ],
])('%s', (body, values) => {
  expect(form.read(Buffer.from(body))).toEqual(values);
});

test.each([
  ['', 'the body is empty at byte 0'],
  ['[]', 'the body must be an object at byte 0'],
  ['{} ', 'missing field `name` at byte 3'],
  ['{"name":null}', 'name must be a string at byte 8'],
  ['{"name":"a","name":"b"}', 'duplicate field `name` at byte 12'],
  ['{"force": 1,"name":2}', 'force must be a boolean at byte 10'],
  ['{"name":2,"force": 1}', 'name must be a string at byte 8'],
  ['{"id":10}', 'id must be between 0 and 9 at byte 6'],
  ['{"nodeId":10}', 'nodeId must be between 0 and 9 at byte 10'],
  ['{"seconds":null}', 'seconds must be an integer at byte 11'],
  ['{"tags":["a","b","c"]}', 'tags has more than 2 at byte 8'],
  ['{"tags":["a",1]}', 'tags[1] must be a string at byte 13'],
  ['{"name":"a"}x', 'trailing characters at byte 12'],
])('%s is refused', (body, error) => {
  expect(() => form.read(Buffer.from(body))).toThrow(error);
});

test('an empty body has no members where it may be empty', () => {
  expect(form.readOrEmpty(Buffer.alloc(0))).toEqual(NOTHING);
});

test('of two spellings the first counts where the form says so', () => {
  const first = bodyForm(MEMBERS, 'first');
  expect(first.read(Buffer.from('{"nodeId":1,"name":"a","id":2}')).id).toBe(1);
  expect(first.read(Buffer.from('{"nodeId":null,"name":"a","id":2}')).id).toBe(2);
});

test('values stand in the order of the body', () => {
  const values = form.read(Buffer.from('{"tags":[],"name":"a","id":1}'));
  expect(Object.keys(values).slice(0, 3)).toEqual(['tags', 'name', 'id']);
});

test('the document has each member, what is required, and the defaults', () => {
  expect(form.schema.json).toMatchObject({
    type: 'object',
    required: ['name'],
    properties: {
      id: { type: ['integer', 'null'] },
      nodeId: { type: 'integer' },
      force: { type: ['boolean', 'null'], default: false },
      seconds: { type: 'integer', default: 60 },
    },
  });
  const { json } = form.variant({ note: text });
  expect(json.required).toEqual(['name', 'note']);
});

test('entries beyond the ceiling end the reading', () => {
  const entry = objectForm('an entry', { queue: nameMember() });
  const read = (body: string) => readEntries(Buffer.from(body), 2, entry.readAt, false);
  expect(read('{"entries":[{"queue":"a"},{"queue":"b"}]}')).toEqual([
    { queue: 'a' },
    { queue: 'b' },
  ]);
  expect(read('{"entries":[{"queue":"a"},{"queue":"b"},oh')).toBeNull();
  expect(() => read('{}')).toThrow('missing field `entries` at byte 2');
  expect(() => read('{"entries":[{}]}')).toThrow('missing field `queue` at byte 14');
});
