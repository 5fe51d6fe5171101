// Goal: the native build is loaded, and where there is none the front says so instead of serving
// with something else. What the builds do with unusual heads, bodies and connections is what
// `uws.ts` says, whichever Node loads them. Method: the build of this Node and platforms that have
// none; bytes on real sockets to a server that notes what reaches its handler.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RawClient } from '../testing/raw-client.fake.js';
import type { TransportResponse } from './transport.js';
import { HEAD_BYTES_MAX, loadUws, NativeBuildMissingError, type UwsApp } from './uws.js';

const THIS = {
  platform: process.platform,
  arch: process.arch,
  node: process.versions.node.slice(0, process.versions.node.indexOf('.')),
  modules: process.versions.modules,
};

test('this platform has its build', () => {
  expect(loadUws().LIBUS_LISTEN_EXCLUSIVE_PORT).toBe(1);
});

test.each([
  { ...THIS, platform: 'plan9' },
  { ...THIS, arch: 'pdp11' },
  { ...THIS, node: '7', modules: '51' },
])('%j has none', (wanted) => {
  expect(() => loadUws(wanted)).toThrow(NativeBuildMissingError);
  expect(() => loadUws(wanted)).toThrow(
    `no usable native build for ${wanted.platform} ${wanted.arch}, Node ${wanted.node} ` +
      `(module version ${wanted.modules}): ` +
      `@uwsjs/${wanted.platform}-${wanted.arch}-${wanted.node} is not installed`,
  );
});

interface Handled {
  readonly head: string;
  /** Its headers, as they came. */
  readonly headers: readonly string[];
  readonly response: TransportResponse;
  aborted: boolean;
}

const handled: Handled[] = [];
let app: UwsApp;
let port = 0;

/** Answers `/at-once` in the turn it comes in, all else when the test does. */
beforeAll(async () => {
  const uws = loadUws();
  app = uws.App();
  app.any('/*', (response, request) => {
    const headers: string[] = [];
    request.forEach((name, value) => {
      headers.push(`${name}: ${value}`);
    });
    const head = `${request.getCaseSensitiveMethod()} ${request.getUrl()}`;
    const entry: Handled = { head, headers, response, aborted: false };
    handled.push(entry);
    response.onAborted(() => {
      entry.aborted = true;
    });
    if (request.getUrl() === '/at-once') response.end('done');
    else response.onData(() => {});
  });
  port = await new Promise((resolve) => {
    app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
      resolve(socket === false ? 0 : uws.us_socket_local_port(socket));
    });
  });
});

afterAll(() => {
  app.close();
});

/** What came back for `pieces`, sent one by one, until the server closed. */
async function closedAfter(...pieces: string[]): Promise<string> {
  const client = new RawClient(port);
  await client.sendInPieces(pieces.map((piece) => Buffer.from(piece, 'latin1')));
  await client.closed();
  return client.unread;
}

/** The status of the one answer to `pieces`, and what reached the handler. */
async function answered(...pieces: string[]): Promise<[number, Handled]> {
  const before = handled.length;
  const client = new RawClient(port);
  await client.sendInPieces(pieces.map((piece) => Buffer.from(piece, 'latin1')));
  const { status } = await client.answer();
  client.destroy();
  const [entry] = handled.slice(before);
  if (entry === undefined) throw new Error('nothing reached the handler');
  return [status, entry];
}

function piecesOf(text: string, length: number): string[] {
  const count = Math.ceil(text.length / length);
  return Array.from({ length: count }, (_, i) => text.slice(i * length, (i + 1) * length));
}

const GET = 'GET /at-once HTTP/1.1\r\n';
const HOST = 'Host: t\r\n';
const POST = `POST /later HTTP/1.1\r\n${HOST}`;
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`;
const HELLO = '5\r\nhello\r\n0\r\n\r\n';

describe('heads that no handler sees', () => {
  test.each([
    ['no Host', 400, `${GET}\r\n`],
    ['no Host among headers', 400, `${GET}A: b\r\n\r\n`],
    ['two Hosts', 400, `${GET}${HOST}Host: u\r\n\r\n`],
    ['a header that ends in a bare line feed', 400, `${GET}A: b\n${HOST}\r\n`],
    ['an end of the head without a carriage return', 400, `${GET}${HOST}\n`],
    ['a header without a colon', 400, `${GET}${HOST}A\r\n\r\n`],
    ['white space before the colon', 400, `${GET}${HOST}A : b\r\n\r\n`],
    ['a folded line', 400, `${GET}${HOST}A: b\r\n c\r\n\r\n`],
    ['a control character in a value', 400, `${GET}${HOST}A: b\0c\r\n\r\n`],
    ['a length and chunks', 400, `${POST}Content-Length: 5\r\n${CHUNKED.slice(POST.length)}`],
    ['HTTP/1.0', 505, 'GET /at-once HTTP/1.0\r\n\r\n'],
    ['HTTP/1.0 with Host', 505, `GET /at-once HTTP/1.0\r\n${HOST}\r\n`],
    ['no version', 505, 'GET /at-once\r\n\r\n'],
    ['bare line feeds only', 505, 'GET /at-once HTTP/1.1\nHost: t\n\n'],
    ['an absolute target', 505, `GET http://t/at-once HTTP/1.1\r\n${HOST}\r\n`],
    ['the target *', 505, `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`],
    ['a control character in the target', 505, `GET /at\x01once HTTP/1.1\r\n${HOST}\r\n`],
    ['a space in the target', 505, `GET /at once HTTP/1.1\r\n${HOST}\r\n`],
    ['another protocol', 505, '\x16\x03\x01\x02\0\x01\0\x01'],
    ['99 header lines', 431, `${GET}${HOST}${'A: b\r\n'.repeat(98)}\r\n`],
    ['1,000 header lines', 431, `${GET}${HOST}${'A: b\r\n'.repeat(999)}\r\n`],
    ['a head above the limit', 431, `${GET}${HOST}A: ${'b'.repeat(HEAD_BYTES_MAX)}\r\n\r\n`],
    ['a head without end', 431, `${GET}${HOST}A: ${'b'.repeat(100_000)}`],
  ])('%s: %i', async (_, status, bytes) => {
    const before = handled.length;
    const answer = await closedAfter(bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*\r\nConnection: close\r\n`));
    expect(handled.length).toBe(before);
  });
});

describe('heads that are read', () => {
  const LONG = `${GET}${HOST}A: ${'b'.repeat(16_384)}\r\n\r\n`;

  test.each([
    ['98 header lines', [`${GET}${HOST}${'A: b\r\n'.repeat(97)}\r\n`], 98],
    ['16 KiB in one piece', [LONG], 2],
    ['16 KiB in two pieces', [LONG.slice(0, 5_000), LONG.slice(5_000)], 2],
    ['16 KiB in pieces of 1,000', piecesOf(LONG, 1_000), 2],
    ['an empty Host', [`${GET}Host:\r\n\r\n`], 1],
  ])('%s', async (_, pieces, headersCount) => {
    const [status, { headers }] = await answered(...pieces);
    expect([status, headers.length]).toEqual([200, headersCount]);
  });

  test('a header that comes twice is there twice', async () => {
    const [, { headers }] = await answered(`${GET}${HOST}A: b\r\na: c\r\n\r\n`);
    expect(headers).toEqual(['host: t', 'a: b', 'a: c']);
  });
});

describe('bodies', () => {
  test.each([
    ['a length that is none', 400, `${POST}Content-Length: abc\r\n\r\nhello`],
    ['a negative length', 400, `${POST}Content-Length: -5\r\n\r\nhello`],
    ['a list of lengths', 400, `${POST}Content-Length: 5, 5\r\n\r\nhello`],
    ['a chunk size that is none', 400, `${CHUNKED}zz\r\nhello\r\n0\r\n\r\n`],
    ['a chunk size above 64 bits', 400, `${CHUNKED}FFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n`],
    ['trailers', 505, `${CHUNKED}5\r\nhello\r\n0\r\nA: b\r\n\r\n`],
  ])('%s: %i, and the request is given up', async (_, status, bytes) => {
    const before = handled.length;
    const answer = await closedAfter(bytes);
    expect(answer).toContain(`HTTP/1.1 ${status} `);
    expect(handled.slice(before).map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('two lengths: the first counts, and the rest is another request', async () => {
    const before = handled.length;
    const answer = await closedAfter(
      `POST /at-once HTTP/1.1\r\n${HOST}Content-Length: 5\r\nContent-Length: 99\r\n\r\nhello` +
        `${GET}${HOST}Connection: close\r\n\r\n`,
    );
    expect(answer.match(/HTTP\/1.1 200 OK/g)).toHaveLength(2);
    expect(handled.slice(before).map(({ head }) => head)).toEqual([
      'POST /at-once',
      'GET /at-once',
    ]);
  });

  test.each(['gzip', 'identity', 'chunked\r\nTransfer-Encoding: identity'])(
    'chunks are decoded when the coding is called %j',
    async (coding) => {
      const head = `POST /at-once HTTP/1.1\r\n${HOST}Connection: close\r\n`;
      const answer = await closedAfter(`${head}Transfer-Encoding: ${coding}\r\n\r\n${HELLO}`);
      expect(answer).toMatch(/^HTTP\/1.1 200 OK/);
    },
  );
});

describe('connections', () => {
  test('requests that are answered at once may follow one another', async () => {
    const request = `${GET}${HOST}\r\n`;
    const answer = await closedAfter(`${request}${request}${GET}${HOST}Connection: close\r\n\r\n`);
    expect(answer.match(/HTTP\/1.1 200 OK/g)).toHaveLength(3);
  });

  test('a request before the last one is answered closes without an answer', async () => {
    const before = handled.length;
    const request = `${POST}Content-Length: 5\r\n\r\nhello`;
    expect(await closedAfter(request + request)).toBe('');
    expect(handled.slice(before).map(({ aborted }) => aborted)).toEqual([true]);
  });
});
