// Goal: answers are read the same however the socket cuts them, and what is not understood is
// refused. Method: one stream of answers, fed whole, split at every place, and byte by byte.

import { expect, test } from 'vitest';
import { HttpProtocolError, ResponseParser } from './response-parser.js';

const ANSWERS = [
  'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nCONTENT-length:  2 \r\n\r\n[]',
  'HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n',
  'HTTP/1.1 200 OK\r\nX: content-length\r\ncontent-length: 11\r\n\r\nab\r\n\r\nHTTP/',
  'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n',
];
const EXPECTED = ['201 []', '204 ', '200 ab\r\n\r\nHTTP/', '503 '];

function readAll(cuts: (text: string) => readonly string[]): readonly string[] {
  const parser = new ResponseParser();
  const seen: string[] = [];
  for (const answer of ANSWERS) {
    for (const part of cuts(answer)) {
      const reused = Buffer.from(part);
      if (parser.feed(reused)) {
        seen.push(`${parser.status} ${parser.body.toString()}`);
      }
      reused.fill(0x78);
    }
  }
  return seen;
}

test('an answer in one piece', () => {
  expect(readAll((text) => [text])).toEqual(EXPECTED);
});

test('an answer cut in two at every place', () => {
  const longest = Math.max(...ANSWERS.map((answer) => answer.length));
  for (let at = 1; at < longest; at += 1) {
    const cut = (text: string): readonly string[] =>
      at < text.length ? [text.slice(0, at), text.slice(at)] : [text];
    expect(readAll(cut), `cut at ${at}`).toEqual(EXPECTED);
  }
});

test('an answer that comes byte by byte', () => {
  expect(readAll((text) => [...text])).toEqual(EXPECTED);
});

test.each([
  ['not HTTP', 'SSH-2.0-x\r\n\r\n'],
  ['a transfer coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['no length', 'HTTP/1.1 200 OK\r\n\r\n'],
  ['a length that is no number', 'HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\n'],
  ['bytes after the end', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab'],
  ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}`],
])('refuses %s', (_what, text) => {
  expect(() => new ResponseParser().feed(Buffer.from(text))).toThrow(HttpProtocolError);
});

test('refuses bytes after the end of a body that came in parts', () => {
  const parser = new ResponseParser();
  expect(parser.feed(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na'))).toBe(false);
  expect(() => parser.feed(Buffer.from('bc'))).toThrow(HttpProtocolError);
});
