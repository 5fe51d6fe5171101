import { expect, test } from 'vitest';
import { timerPayload } from './timer-payload.js';

const of = (bytes: Buffer | string) => timerPayload(Buffer.from(bytes).toString('base64'));

test('a payload is JSON as it is stored, text, or bytes', () => {
  expect(of('{"n":1.0,"ü":[]}')).toMatchObject({ bytes: 17, json: { text: '{"n":1.0,"ü":[]}' } });
  expect(of('hello')).toEqual({ bytes: 5, json: null, text: 'hello' });
  expect(of(Buffer.from([0xff, 0xfe]))).toEqual({ bytes: 2, json: null, text: '//4=' });
  expect(of('')).toEqual({ bytes: 0, json: null, text: '' });
});
