/** POST /api/v1/push (message-plane 2). */

import type { PushResult } from '@svc/wire';
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { bodyOf, idsOf } from '../broker-api.js';
import type { ContractRow, ContractTable } from '../table.js';

/** Every body that is refused as a whole, by what its error says. */
function refusals(row: string, bodies: readonly (readonly [string, string])[]): ContractRow {
  return {
    row,
    does: bodies.map(([body, error]) => `${body.slice(0, 60)} (${error})`).join('; '),
    run: async ({ client, queue }) => {
      for (const [text, error] of bodies) {
        const body = text.replaceAll('{queue}', queue);
        const answer = await client.post('/api/v1/push', body);
        expect(answer.status, body).toBe(400);
        expect(JSON.parse(answer.text)).toMatchObject({ code: 'bad_body' });
        expect(JSON.parse(answer.text).error).toContain('bad push body: ');
        expect(JSON.parse(answer.text).error).toContain(error);
      }
      expect((await client.get(`/api/v1/resources/queues/${queue}`)).status).toBe(404);
    },
  };
}

const item = (members: string) => `{"items":[{"queue":"{queue}",${members}}]}`;

export const push: ContractTable = {
  section: 'message-plane 2',
  rows: [
    refusals('queue', [
      ['{"items":[{"payload":1}]}', 'missing field `queue`'],
      ['{"items":[{"queue":null,"payload":1}]}', 'queue must be a string'],
      ['{"items":[{"queue":7,"payload":1}]}', 'queue must be a string'],
      ['{"items":[{"queue":"\\ud800","payload":1}]}', 'lone surrogate'],
      ['{"items":[{"queue":"\\u0000","payload":1}]}', 'NUL character'],
    ]),
    refusals('payload', [
      ['{"items":[{"queue":"{queue}"}]}', 'missing field `payload`'],
      [item('"data":1'), 'missing field `payload`'],
      [item('"payload":1,"payload":2'), 'duplicate field `payload`'],
      [item('"payload":01'), 'invalid number'],
      [item('"payload":NaN'), 'expected'],
      [item('"payload":"\t"'), 'control character'],
      [item('"payload":[1,]'), 'expected'],
    ]),
    {
      row: 'payload',
      does: 'an explicit null is valid and pops as data null',
      run: async ({ api, queue }) => {
        await api.push([{ queue, payload: null }]);
        expect((await api.popQueue(queue))?.messages[0]?.data).toBeNull();
      },
    },
    refusals('partition', [
      [item('"payload":1,"partition":3'), 'partition must be a string'],
      [item('"payload":1,"partition":true'), 'partition must be a string'],
    ]),
    refusals('transactionId', [
      [item('"payload":1,"transactionId":3'), 'transactionId must be a string'],
      [item('"payload":1,"transactionId":{}'), 'transactionId must be a string'],
    ]),
    {
      row: 'everything else is ignored',
      does: 'data beside payload, traceId, and what nobody knows',
      run: async ({ client, api, queue }) => {
        const others = { data: 2, traceId: '01a2b3c4-2222-7000-8000-0000000000ff', offset: 9 };
        const items = [{ queue, payload: 1, ...others, whatever: [{}] }];
        bodyOf(await client.post('/api/v1/push', { items, more: true }), 201);
        const popped = await api.popQueue(queue);
        expect(popped?.messages[0]).toMatchObject({ data: 1, traceId: null, offset: 0 });
      },
    },
    {
      row: 'producerSub is never taken from the body',
      does: 'it pops as null where nobody was authenticated',
      run: async ({ client, api, queue }) => {
        const items = [{ queue, payload: 1, producerSub: 'eve' }];
        bodyOf(await client.post('/api/v1/push', { items }), 201);
        expect((await api.popQueue(queue))?.messages[0]?.producerSub).toBeNull();
      },
    },
    refusals('a bad item fails the call', [
      [item('"payload":1},{"queue":"{queue}","data":2'), 'missing field `payload`'],
      ['{"items":[{"queue":"{queue}","payload":1},7]}', 'must be an object'],
      ['{}', 'missing field `items`'],
      ['{"items":null}', 'must be an array'],
      ['{"items":{}}', 'must be an array'],
      ['[]', 'must be an object'],
      ['', 'the body is empty'],
    ]),
    refusals('a bad item fails the call', [
      ['   ', 'no value'],
      ['nonsense', 'expected'],
      ['"x"', 'must be an object'],
      ['null', 'must be an object'],
      ['{"items":"x"}', 'must be an array'],
      ['{"items":[null]}', 'must be an object'],
      ['{"items":[[]]}', 'must be an object'],
      ['{"items":[]', 'unexpected end'],
      ['{"items":[],}', 'expected'],
      ['{"items":[]} x', 'trailing characters'],
      ['{"items":[]}{}', 'trailing characters'],
      ["{'items':[]}", 'expected'],
      ['{"items":[] /* none */}', 'expected'],
      ['{"items":[],"items":[]}', 'duplicate field `items`'],
      ['\ufeff{"items":[]}', 'byte order mark'],
    ]),
    refusals('payload', [
      [item('"payload":'), 'expected'],
      [item('"payload":1.'), 'invalid number'],
      [item('"payload":.5'), 'expected'],
      [item('"payload":+1'), 'expected'],
      [item('"payload":1e'), 'invalid number'],
      [item('"payload":-'), 'invalid number'],
      [item('"payload":0x10'), 'expected'],
      [item('"payload":Infinity'), 'expected'],
      [item('"payload":True'), 'expected'],
      [item('"payload":nul'), 'expected'],
      [item('"payload":undefined'), 'expected'],
      [item('"payload":"\\x41"'), 'invalid escape'],
      [item('"payload":"\\u12g4"'), 'invalid \\u escape'],
      [item('"payload":"open}]}'), 'unterminated string'],
      [item('"payload":{"a":1,}'), 'expected'],
      [item('"payload":{a:1}'), 'expected'],
      [item('"payload":[1 2]'), 'expected'],
      [item('"payload":{"a" 1}'), 'expected'],
      [item(`"payload":${'['.repeat(127)}${']'.repeat(127)}`), 'levels of nesting'],
      [item(`"payload":${'['.repeat(50_000)}`), 'levels of nesting'],
    ]),
    {
      row: 'payload',
      does: 'bytes that are no UTF-8 are refused; what the standard allows is taken',
      run: async ({ client, queue }) => {
        const body = item('"payload":"\u00e9"').replace('{queue}', queue);
        const wrong = [
          Buffer.from(body, 'latin1'),
          Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]),
          Buffer.alloc(64),
          Buffer.from(body, 'utf16le'),
        ];
        for (const bytes of wrong) {
          expect((await client.post('/api/v1/push', bytes)).status).toBe(400);
        }
        const right = [
          body,
          item(`"payload":${'['.repeat(125)}${']'.repeat(125)}`).replace('{queue}', queue),
          ' \r\n\t{ "\\u0069tems" : [ ] , "other" : [[{"x":-0.5E+3}]] } ',
        ];
        const headers = { 'content-type': 'text/plain' };
        for (const text of right) {
          expect((await client.post('/api/v1/push', text, { headers })).status, text).toBe(201);
        }
      },
    },
    {
      row: 'items: []',
      does: '201 with an empty array',
      send: 'POST /api/v1/push',
      body: { items: [] },
      answer: { status: 201, text: '[]' },
    },
    {
      row: 'name budget fails the call',
      does: '413, and the item with a short name is not stored either',
      run: async ({ client, queue }) => {
        const items = [
          { queue, payload: 1 },
          { queue: 'q'.repeat(412), payload: 1 },
        ];
        const answer = await client.post('/api/v1/push', { items });
        expect(answer.status).toBe(413);
        expect((await client.get(`/api/v1/resources/queues/${queue}`)).status).toBe(404);
      },
    },
    {
      row: 'transactionId over 65,535 bytes',
      does: '400 bad_request, counted in bytes; the longest is taken',
      run: async ({ client, queue }) => {
        const answerTo = (transactionId: string) =>
          client.post('/api/v1/push', { items: [{ queue, payload: 1, transactionId }] });
        for (const id of ['t'.repeat(65_536), 'é'.repeat(32_768)]) {
          const answer = await answerTo(id);
          expect([answer.status, JSON.parse(answer.text)]).toEqual([
            400,
            {
              error: 'transactionId exceeds the 65535-byte limit',
              code: 'bad_request',
            },
          ]);
        }
        expect((await answerTo('t'.repeat(65_535))).status).toBe(201);
      },
    },
    {
      row: 'collapse inside the request',
      does: 'by queue, partition and transactionId: the first wins',
      run: async ({ api, queue }) => {
        const results = await api.push([
          { queue, partition: 'p', transactionId: 't', payload: 1 },
          { queue, partition: 'q', transactionId: 't', payload: 2 },
          { queue, partition: 'p', transactionId: 't', payload: 3 },
        ]);
        expect(results.map(({ status }) => status)).toEqual(['queued', 'queued', 'duplicate']);
        expect(results[2]?.message_id).toBe(results[0]?.message_id);
        const popped = await api.popPartition(queue, 'p');
        expect(popped?.messages.map(({ data }) => data)).toEqual([1]);
      },
    },
    {
      row: 'one append per group',
      does: 'the items of one partition share a stamp though others lie between them',
      run: async ({ api, queue }) => {
        const partitions = ['p', 'q', 'p'];
        await api.push(partitions.map((partition, payload) => ({ queue, partition, payload })));
        const popped = await api.popPartition(queue, 'p');
        expect(popped?.messages.map(({ data }) => data)).toEqual([0, 2]);
        expect(popped?.messages[0]?.createdAt).toBe(popped?.messages[1]?.createdAt);
      },
    },
    {
      row: 'creates queue and partition',
      does: 'with implicit options',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        const detail = await api.detail(queue);
        expect(detail.partitions.map(({ name }) => name)).toEqual(['p']);
        expect(detail.options.leaseTime).toBe(60);
      },
    },
    {
      row: 'wakes parked pops',
      does: 'a waiting pop gets the message',
      run: async ({ api, queue }) => {
        const waiting = api.popQueue(queue, { wait: true, timeout: 8000 });
        await sleep(100);
        await api.pushIds(queue, 'p', ['a']);
        expect(idsOf(await waiting)).toEqual(['a']);
      },
    },
    {
      row: 'result element',
      does: 'exactly five keys in their order',
      run: async ({ client, queue }) => {
        const items = [{ queue, transactionId: 't"', payload: 1 }];
        const { text } = await client.post('/api/v1/push', { items });
        const [result] = JSON.parse(text) as PushResult[];
        expect(text).toBe(
          `[{"index":0,"message_id":"${result?.message_id}","transaction_id":"t\\"",` +
            `"queueName":"${queue}","status":"queued"}]`,
        );
      },
    },
    {
      row: 'queued',
      does: 'stored under the answered id',
      run: async (broker) => {
        const { api, queue } = broker.sameNode;
        const [result] = await api.pushIds(queue, 'p', ['a']);
        expect(result?.status).toBe('queued');
        expect((await api.fetch(queue, 'p')).highWatermark).toBe(1);
      },
    },
    {
      row: 'duplicate in the window',
      does: 'the original’s id, whatever node is asked',
      run: async ({ api, queue }) => {
        const [first] = await api.pushIds(queue, 'p', ['a']);
        for (let times = 0; times < 3; times++) {
          const [again] = await api.pushIds(queue, 'p', ['a']);
          expect(again).toEqual({ ...first, status: 'duplicate' });
        }
      },
    },
    {
      row: 'follower in this request',
      does: 'the original’s id where the first is a duplicate itself',
      run: async ({ api, queue }) => {
        const [first] = await api.pushIds(queue, 'p', ['a']);
        const again = await api.pushIds(queue, 'p', ['a', 'a']);
        expect(again.map(({ status }) => status)).toEqual(['duplicate', 'duplicate']);
        for (const one of again) expect(one.message_id).toBe(first?.message_id);
      },
    },
    {
      row: 'no atomicity across partitions',
      does: 'one call can mix outcomes',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        const results = await api.push([
          { queue, partition: 'p', transactionId: 'a', payload: 1 },
          { queue, partition: 'q', transactionId: 'a', payload: 1 },
        ]);
        expect(results.map(({ status }) => status)).toEqual(['duplicate', 'queued']);
      },
    },
  ],
};
