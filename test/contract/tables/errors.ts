/** The error envelope and typed queries (message-plane 1.4). */
import { expect } from 'vitest';
import type { ContractRow, ContractTable } from '../table.js';

const NO_ROUTE: readonly (readonly [string, string])[] = [
  ['GET', '/api/v1/nothing'],
  ['GET', '/api/'],
  ['POST', '/api/v1/push/'],
  ['GET', '/api/v1/pop/queue/'],
  ['GET', '/api/v1/pop/queue/a/b'],
  ['GET', '/streams/v1/nothing'],
  ['GET', '/internal/api/x'],
  ['POST', '/'],
  ['PATCH', '/anything'],
];

const WRONG_METHOD: readonly (readonly [string, string])[] = [
  ['GET', '/api/v1/push'],
  ['PUT', '/api/v1/push'],
  ['OPTIONS', '/api/v1/push'],
  ['POST', '/api/v1/pop'],
  ['DELETE', '/api/v1/ack'],
  ['GET', '/api/v1/configure'],
  ['POST', '/api/v1/resources/queues'],
];

function noRoute(row: string): (one: readonly [string, string]) => ContractRow {
  return ([method, path]) => ({
    row,
    does: `${method} ${path} is no route`,
    send: `${method} ${path}`,
    ...(method === 'GET' ? {} : { body: '{}' }),
    answer: {
      status: 404,
      text: `{"error":"no_such_route","code":"no_such_route","path":"${path}"}`,
    },
  });
}

const BAD_QUERIES = [
  'batch=ten',
  'batch=',
  'batch=1.5',
  'batch=2147483648',
  'batch=-2147483649',
  'batch=1e3',
  'batch=%201',
  'partitions=many',
  'leaseSeconds=long',
  'leaseSeconds=99999999999',
  'timeout=-1',
  'timeout=soon',
  'timeout=18446744073709551616',
  'wait=1',
  'wait=yes',
  'wait=True',
  'wait=',
  'autoAck=0',
  'autoAck=on',
  'conflation=maybe',
  'autopilot=2',
];
const BAD_SPELLINGS = ['consumerGroup=%ZZ', 'consumerGroup=%ff', 'consumerGroup=%00'];
const BAD_PATHS = ['/queue/%ZZ', '/queue/%ff%fe', '/queue/%00', '/queue/a/partition/%e0%80'];

export const errorEnvelope: ContractTable = {
  section: 'message-plane 1.4',
  rows: [
    {
      row: '400 bad_body',
      does: 'a push body of the wrong shape names the field',
      send: 'POST /api/v1/push',
      body: { items: [{ queue: '{queue}', data: 1 }] },
      answer: { status: 400, error: 'bad push body: missing field `payload`', code: 'bad_body' },
    },
    {
      row: '400 bad_body',
      does: 'an ack body of the wrong shape',
      send: 'POST /api/v1/ack',
      body: { acknowledgments: {} },
      answer: { status: 400, error: 'bad ack body: ', code: 'bad_body' },
    },
    {
      row: '400 bad_body',
      does: 'the parser’s text for what is no JSON, whatever its content type',
      send: 'POST /api/v1/fetch',
      body: 'nonsense',
      headers: { 'content-type': 'application/json' },
      answer: { status: 400, error: 'expected', code: 'bad_body' },
    },
    {
      row: '400 bad_request',
      does: 'a field that cannot be',
      send: 'POST /api/v1/fetch',
      body: { entries: [{ queue: '{queue}', offset: -1 }] },
      answer: { status: 400, error: 'offset must be non-negative', code: 'bad_request' },
    },
    {
      row: '413 name_too_long',
      does: 'names over their budget',
      send: 'POST /api/v1/configure',
      body: { queue: 'q'.repeat(500) },
      answer: { status: 413, error: 'queue name is 500 bytes', code: 'name_too_long' },
    },
    {
      row: '413 body over SVC_MAX_BODY_BYTES',
      does: 'announced or in chunks; one of exactly the bound is taken',
      run: async ({ client, queue }) => {
        const bytesMax = 4_194_304;
        const [head, tail] = [`{"items":[{"queue":"${queue}","payload":"`, '"}]}'];
        const body = (bytes: number) => head + 'x'.repeat(bytes - head.length - tail.length) + tail;
        const options = { headers: { 'transfer-encoding': 'chunked' } };
        const path = '/api/v1/push';
        expect((await client.post(path, body(bytesMax + 1))).status).toBe(413);
        expect((await client.post(path, body(bytesMax + 1), options)).status).toBe(413);
        expect((await client.post(path, body(bytesMax))).status).toBe(201);
      },
    },
    ...NO_ROUTE.map(noRoute('404 no_such_route')),
    ...WRONG_METHOD.map(noRoute('a wrong method')),
    {
      row: 'typed query',
      does: `each refused before the handler: ${BAD_QUERIES.join(' ')}`,
      run: async ({ client, queue }) => {
        for (const query of BAD_QUERIES) {
          const name = query.slice(0, query.indexOf('='));
          for (const path of [`/queue/${queue}`, `/queue/${queue}/partition/p`, '']) {
            const answer = await client.get(`/api/v1/pop${path}?namespace=x&${query}`);
            expect(answer.status, query).toBe(400);
            const { error } = JSON.parse(answer.text);
            expect(error).toContain(`Failed to deserialize query string: ${name}`);
          }
        }
        expect((await client.get(`/api/v1/resources/queues/${queue}`)).status).toBe(404);
      },
    },
    {
      row: 'typed query',
      does: `what does not decode: ${[...BAD_SPELLINGS, ...BAD_PATHS].join(' ')}`,
      run: async ({ client }) => {
        const paths = [...BAD_SPELLINGS.map((one) => `/queue/q?${one}`), ...BAD_PATHS];
        for (const path of paths) {
          const answer = await client.get(`/api/v1/pop${path}`);
          expect(answer.status, path).toBe(400);
          expect(JSON.parse(answer.text).error).toMatch(/^(path|query string)/);
        }
      },
    },
    {
      row: 'typed query',
      does: 'true and false alone; unknown names are ignored; the last duplicate wins',
      send: 'GET /api/v1/pop/queue/{queue}?wait=false&autoAck=true&affinity=x&batch=x&batch=1',
      answer: { status: 204 },
    },
  ],
};
