/**
 * Goal: the exact text of a member's value is found wherever it stands.
 * Method: hand-written texts whose answer is plain to see.
 */
import { expect, it } from 'vitest';
import { rawMembers } from './raw-json.js';

it.each([
  ['{"data": {"b":1,"a":1.0} }', ['{"b":1,"a":1.0}']],
  ['{"m":[{"data":1.50},{"data":null,"x":"data"}]}', ['1.50', 'null']],
  ['{"data":"a \\"quoted\\" }"}', ['"a \\"quoted\\" }"']],
  ['{"data":{"data":2}}', ['{"data":2}', '2']],
  ['{"x":[],"y":{}, "data" : [ 1 , 2 ]}', ['[ 1 , 2 ]']],
  ['[]', []],
])('%s', (json, texts) => {
  expect(rawMembers(json, 'data')).toEqual(texts);
});
