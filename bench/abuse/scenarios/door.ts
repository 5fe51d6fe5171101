// The door: requests that a node must refuse, or answer, and how. No load, but answers.

import type { AttackContext, Scenario } from '../scenario.js';

const KIND = 'the door';
const ANSWER_MS_MAX = 3000;
const ITEM = '{"items":[{"queue":"door","payload":0}]}';

interface Row {
  readonly what: string;
  /** Parts that leave one after the other. */
  readonly parts: readonly string[];
  readonly statuses: readonly number[];
}

function request(line: string, headers: readonly string[], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${body.length}`];
  return `${line}\r\n${[...headers, ...length].join('\r\n')}\r\n\r\n${body}`;
}

const PUSH = 'POST /api/v1/push HTTP/1.1';
const HOST = 'Host: 127.0.0.1';
const JSON_TYPE = 'Content-Type: application/json';

const FOREIGN: readonly Row[] = [
  {
    what: 'a page of another origin pushes',
    parts: [
      request(
        PUSH,
        [
          HOST,
          'Origin: http://evil.example',
          'Sec-Fetch-Site: cross-site',
          'Content-Type: text/plain',
        ],
        ITEM,
      ),
    ],
    statuses: [403],
  },
  {
    what: 'a page of another origin pops by an image',
    parts: [
      request('GET /api/v1/pop/queue/door?autoAck=true HTTP/1.1', [
        HOST,
        'Sec-Fetch-Site: cross-site',
        'Sec-Fetch-Mode: no-cors',
      ]),
    ],
    statuses: [403],
  },
  {
    what: 'a name that was bound to this address',
    parts: [request('GET /api/v1/resources/queues HTTP/1.1', ['Host: evil.example'])],
    statuses: [403],
  },
  {
    what: 'health under a foreign name',
    parts: [request('GET /health HTTP/1.1', ['Host: evil.example'])],
    statuses: [200],
  },
];

const HEADS: readonly Row[] = [
  {
    what: 'two lengths',
    parts: [request(PUSH, [HOST, JSON_TYPE, 'Content-Length: 5'], ITEM)],
    statuses: [400],
  },
  {
    what: 'two hosts',
    parts: [request('GET /health HTTP/1.1', [HOST, 'Host: other'])],
    statuses: [400],
  },
  {
    what: 'two tenants',
    parts: [request(PUSH, [HOST, JSON_TYPE, 'x-svc-tenant: a', 'x-svc-tenant: b'], ITEM)],
    statuses: [400],
  },
  {
    what: 'two tokens',
    parts: [
      request(PUSH, [HOST, JSON_TYPE, 'Authorization: Bearer a', 'Authorization: Bearer b'], ITEM),
    ],
    statuses: [400],
  },
  {
    what: 'a compressed body',
    parts: [request(PUSH, [HOST, JSON_TYPE, 'Content-Encoding: gzip'], ITEM)],
    statuses: [415],
  },
  {
    what: 'HTTP/1.0',
    parts: ['GET /health HTTP/1.0\r\n\r\n'],
    statuses: [200, 400, 505],
  },
  {
    what: 'no host',
    parts: ['GET /health HTTP/1.1\r\n\r\n'],
    statuses: [200, 400],
  },
  {
    what: 'a head of 6,000 bytes in two pieces',
    parts: [
      `GET /health HTTP/1.1\r\n${HOST}\r\nCookie: ${'c'.repeat(5000)}`,
      `${'c'.repeat(900)}\r\n\r\n`,
    ],
    statuses: [200, 431],
  },
  {
    what: '50 headers',
    parts: [
      request('GET /health HTTP/1.1', [
        HOST,
        ...Array.from({ length: 50 }, (_, i) => `X-H${i}: 1`),
      ]),
    ],
    statuses: [200, 431],
  },
  {
    what: 'an absolute target',
    parts: [request('GET http://127.0.0.1/health HTTP/1.1', [HOST])],
    statuses: [200, 400, 505],
  },
];

const QUERIES: readonly Row[] = [
  'subscriptionMode=latest',
  'subscriptionFrom=2026-11-25T18:20:38+02:00',
].map((query) => ({
  what: query,
  parts: [request(`GET /api/v1/pop/queue/door?consumerGroup=late&${query} HTTP/1.1`, [HOST])],
  statuses: [400],
}));

async function knock(context: AttackContext): Promise<void> {
  for (const { what, parts, statuses } of [...FOREIGN, ...HEADS, ...QUERIES]) {
    const socket = await context.open();
    if (socket === null) {
      context.check(what, false, 'refused');
      continue;
    }
    for (const part of parts.slice(0, -1)) {
      socket.send(part);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { status, start } = await socket.exchange(parts.at(-1) ?? '', ANSWER_MS_MAX);
    socket.destroy();
    context.count(status);
    const seen = status === 0 ? 'no answer' : `${status} ${start.slice(0, 60)}`;
    context.check(what, statuses.includes(status), seen);
  }
}

export const DOOR: readonly Scenario[] = [
  {
    name: 'door',
    does: 'sends what must be refused or answered: foreign pages, odd heads, bad queries',
    kind: KIND,
    against: ['node'],
    attack: knock,
  },
];
