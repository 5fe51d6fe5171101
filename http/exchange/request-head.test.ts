// Goal: a head in which something comes twice that is read as one value, or that says of its body
// what nobody here understands, is refused whatever the values, and nothing behind it is taken for
// a request. Method: bytes on real sockets, and a fake service that notes what reached it.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PUSHED, TestFront, until } from '../testing/front.fake.js';

const PUSH = '/api/v1/push';
const BODY = '{"items":[{"queue":"q","payload":1}]}';
const LENGTH = `Content-Length: ${BODY.length}`;

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start({ tenancyHeader: true });
  front.service.onSubmit = (_, reply) => reply.send(PUSHED);
});

afterEach(() => front.stop());

function push(...headers: string[]): string {
  return `POST ${PUSH} HTTP/1.1\r\n${['Host: t', ...headers].join('\r\n')}\r\n\r\n${BODY}`;
}

interface Outcome {
  readonly status: number;
  readonly error: string;
  readonly closes: boolean;
}

async function outcomeOf(bytes: string): Promise<Outcome> {
  const client = front.client();
  client.send(bytes);
  const { status, headers, body } = await client.answer();
  const closes = headers.get('connection') === 'close';
  if (closes) await client.closed();
  return { status, error: String(JSON.parse(body).error), closes };
}

test.each([
  ['content-length', [LENGTH, LENGTH]],
  ['content-length', [LENGTH, 'content-LENGTH: 5']],
  ['content-length', ['Content-Length: 5', 'A: b', LENGTH]],
  ['transfer-encoding', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity']],
  ['transfer-encoding', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
  ['authorization', [LENGTH, 'Authorization: Bearer a', 'Authorization: Bearer b']],
  ['x-svc-tenant', [LENGTH, 'x-svc-tenant: a', 'X-Svc-Tenant: b']],
  ['x-svc-tenant', [LENGTH, 'x-svc-tenant:', 'X-Svc-Tenant: b']],
  ['content-encoding', [LENGTH, 'Content-Encoding: identity', 'Content-Encoding: gzip']],
  ['origin', [LENGTH, 'Origin: http://t', 'Origin: http://u']],
  ['sec-fetch-site', [LENGTH, 'Sec-Fetch-Site: none', 'Sec-Fetch-Site: cross-site']],
])('%s twice is refused: %j', async (name, headers) => {
  const expected = { status: 400, error: `the header \`${name}\` comes twice`, closes: true };
  expect(await outcomeOf(push(...headers).slice(0, -BODY.length))).toEqual(expected);
  expect(front.service.submitted).toEqual([]);
});

test('it is refused before anything else is said, on every path', async () => {
  for (const path of ['/health', '/nowhere', '/api/v1/pop/queue/q']) {
    const head = `GET ${path} HTTP/1.1\r\nHost: t\r\nx-svc-tenant: a\r\nx-svc-tenant: a\r\n\r\n`;
    expect((await outcomeOf(head)).status, path).toBe(400);
  }
});

test('lists may come in several lines', async () => {
  const lists = ['Accept: a/b', 'Accept: c/d', 'Cookie: a=b', 'Cookie: c=d', 'Via: a', 'Via: b'];
  const client = front.client();
  client.send(push(LENGTH, ...lists));
  expect((await client.answer()).status).toBe(201);
});

test.each([
  ['Content-Length:', 400, 'Content-Length is not a number'],
  ['Transfer-Encoding: gzip', 501, 'only the transfer coding `chunked` is understood'],
  [`Transfer-Encoding:\r\n${LENGTH}`, 501, 'only the transfer coding `chunked` is understood'],
])('%j has no end that can be relied on', async (headers, status, error) => {
  expect(await outcomeOf(push(...headers.split('\r\n')).slice(0, -BODY.length))).toEqual({
    status,
    error,
    closes: true,
  });
});

test.each(['gzip', 'deflate', 'br', 'zstd', 'identity, gzip'])(
  'coded as %s: 415',
  async (coding) => {
    const client = front.client();
    client.send(push(LENGTH, `Content-Encoding: ${coding}`));
    const answer = await client.answer();
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      415,
      {
        error: 'a body is read as it comes: send it without Content-Encoding',
        code: 'bad_request',
      },
    ]);
    // The end of the body is known, so the connection goes on.
    client.send(push(LENGTH));
    expect((await client.answer()).status).toBe(201);
    expect(front.service.submitted).toHaveLength(1);
  },
);

test.each(['identity', 'Identity', ''])('coded as %j: taken', async (coding) => {
  const client = front.client();
  client.send(push(LENGTH, `Content-Encoding: ${coding}`));
  expect((await client.answer()).status).toBe(201);
});

test.each([
  ['two lengths', [LENGTH, 'Content-Length: 500']],
  ['two codings', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity']],
  ['an unknown coding', ['Transfer-Encoding: gzip']],
])('what stands behind a body of %s is no request', async (_, headers) => {
  const coded = headers.some((header) => header.startsWith('Transfer'));
  const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
  const head = push(...headers).slice(0, -BODY.length);
  const client = front.client();
  client.send(`${head}${coded ? chunked : BODY}${push(LENGTH)}`);
  await client.closed();
  expect(front.service.submitted).toEqual([]);
  await until(() => front.server.inFlight() === 0);
});
