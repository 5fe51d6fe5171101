/**
 * Goal: every malformed body, query, name, size and path gets its status and a text that says what
 * is wrong; nothing is stored and nothing else is disturbed. Method: tables of requests against one
 * node with a small body limit. After each table the node still stores, and no queue of a refused
 * request exists.
 */
import type { QueueListAnswer } from '@svc/wire';
import { afterEach, describe, expect, it } from 'vitest';
import type { Answer } from '../process/http-client.js';
import { useNode } from './node-fixture.js';

const BODY_BYTES_MAX = 200_000;
const node = useNode({ SVC_MAX_BODY_BYTES: `${BODY_BYTES_MAX}` });

/** Queues of requests that must be refused have this prefix. */
const BAD = 'bad';

interface Refused {
  readonly error: string;
  readonly code?: string;
}

function expectRefusal(answer: Answer, status: number, text: string, code?: string): void {
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('application/json');
  const body = JSON.parse(answer.text) as Refused;
  expect(body.error).toContain(text);
  if (code !== undefined) expect(body.code).toBe(code);
}

let pushed = 0;

afterEach(async () => {
  const answer = await node.client.get('/api/v1/resources/queues');
  const { queues } = JSON.parse(answer.text) as QueueListAnswer;
  expect(queues.map(({ name }) => name).filter((name) => name.startsWith(BAD))).toEqual([]);
  pushed++;
  const [result] = await node.api.pushIds('good', 'p', [`t${pushed}`]);
  expect(result?.status).toBe('queued');
  expect((await node.api.fetch('good', 'p')).highWatermark).toBe(pushed);
});

const item = (members: string) => `{"items":[{${members}}]}`;
const queueItem = (members: string) => item(`"queue":"${BAD}",${members}`);

describe('push bodies', () => {
  it.each<[string | Uint8Array, string]>([
    ['', 'the body is empty'],
    ['   ', 'no value'],
    ['nonsense', 'expected'],
    ['[]', 'must be an object'],
    ['"x"', 'must be an object'],
    ['null', 'must be an object'],
    ['{}', 'missing field `items`'],
    ['{"items":null}', 'must be an array'],
    ['{"items":{}}', 'must be an array'],
    ['{"items":"x"}', 'must be an array'],
    ['{"items":[1]}', 'must be an object'],
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
    [item('"payload":1'), 'missing field `queue`'],
    [item('"queue":null,"payload":1'), 'queue must be a string'],
    [item('"queue":7,"payload":1'), 'queue must be a string'],
    [item('"queue":["x"],"payload":1'), 'queue must be a string'],
    [item('"queue":"\\ud800","payload":1'), 'lone surrogate'],
    [`{"items":[{"queue":"${BAD}"}]}`, 'missing field `payload`'],
    [queueItem('"data":1'), 'missing field `payload`'],
    [queueItem('"payload":1,"partition":3'), 'partition must be a string'],
    [queueItem('"payload":1,"partition":true'), 'partition must be a string'],
    [queueItem('"payload":1,"partition":"\\udc00"'), 'lone surrogate'],
    [queueItem('"payload":1,"transactionId":3'), 'transactionId must be a string'],
    [queueItem('"payload":1,"transactionId":{}'), 'transactionId must be a string'],
    [queueItem('"payload":1,"payload":2'), 'duplicate field `payload`'],
    [queueItem('"payload":1,"queue":"other"'), 'duplicate field `queue`'],
    [queueItem('"payload":'), 'expected'],
    [queueItem('"payload":01'), 'invalid number'],
    [queueItem('"payload":1.'), 'invalid number'],
    [queueItem('"payload":.5'), 'expected'],
    [queueItem('"payload":+1'), 'expected'],
    [queueItem('"payload":1e'), 'invalid number'],
    [queueItem('"payload":-'), 'invalid number'],
    [queueItem('"payload":0x10'), 'expected'],
    [queueItem('"payload":NaN'), 'expected'],
    [queueItem('"payload":Infinity'), 'expected'],
    [queueItem('"payload":True'), 'expected'],
    [queueItem('"payload":nul'), 'expected'],
    [queueItem('"payload":undefined'), 'expected'],
    [queueItem('"payload":"\t"'), 'control character'],
    [queueItem('"payload":"\\x41"'), 'invalid escape'],
    [queueItem('"payload":"\\u12g4"'), 'invalid \\u escape'],
    [queueItem('"payload":"open}]}'), 'unterminated string'],
    [queueItem('"payload":[1,]'), 'expected'],
    [queueItem('"payload":{"a":1,}'), 'expected'],
    [queueItem('"payload":{a:1}'), 'expected'],
    [queueItem('"payload":[1 2]'), 'expected'],
    [queueItem('"payload":{"a" 1}'), 'expected'],
    [queueItem(`"payload":${'['.repeat(127)}${']'.repeat(127)}`), 'levels of nesting'],
    [queueItem(`"payload":${'['.repeat(50_000)}`), 'levels of nesting'],
    [Buffer.from(`${queueItem('"payload":"\u00e9"')}`, 'latin1'), 'invalid UTF-8'],
    [Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]), 'invalid UTF-8'],
    [Buffer.alloc(64), 'expected'],
    [Buffer.from('{"items":[]}', 'utf16le'), 'expected'],
  ])('%s', async (body, text) => {
    const answer = await node.client.post('/api/v1/push', body);
    expectRefusal(answer, 400, text, 'bad_body');
    expect((JSON.parse(answer.text) as Refused).error).toContain('bad push body: ');
  });

  it('one bad item refuses its whole call', async () => {
    const answer = await node.client.post(
      '/api/v1/push',
      `{"items":[{"queue":"${BAD}","payload":1},{"queue":"${BAD}","data":2}]}`,
    );
    expectRefusal(answer, 400, 'missing field `payload`');
  });

  it('takes what the standard allows', async () => {
    const accepted = await node.client.post(
      '/api/v1/push',
      ` \r\n\t{ "\\u0069tems" : [ ] , "other" : [[{"x":-0.5E+3}]] } `,
      { headers: { 'content-type': 'text/plain' } },
    );
    expect(accepted.status).toBe(201);
    expect(accepted.text).toBe('[]');
  });
});

describe('sizes', () => {
  const LIMIT = 'the composite store key limit leaves 447 bytes for names';
  const long = (letter: string, count: number) => `${BAD}${letter.repeat(count - BAD.length)}`;

  it.each<[string, string, string]>([
    [long('q', 500), 'p', `queue name is 500 bytes; ${LIMIT}`],
    [long('q', 412), '', `queue name is 412 bytes; ${LIMIT}`],
    [BAD, 'p'.repeat(409), `partition name is 409 bytes; ${LIMIT}`],
    [long('q', 206), 'p'.repeat(206), `queue name is 206 bytes; ${LIMIT}`],
    [BAD, '\u00e9'.repeat(205), `partition name is 410 bytes; ${LIMIT}`],
  ])('push to names that are too long', async (queue, partition, error) => {
    const items = [{ queue, partition, payload: 1 }];
    const answer = await node.client.post('/api/v1/push', { items });
    expectRefusal(answer, 413, error, 'name_too_long');
    expect((JSON.parse(answer.text) as Refused).error).toBe(error);
  });

  it('the longest names work', async () => {
    const queue = 'q'.repeat(200);
    const [result] = await node.api.pushIds(queue, 'p'.repeat(211), ['a']);
    expect(result?.status).toBe('queued');
    const popped = await node.api.popQueue(queue, { consumerGroup: 'g'.repeat(211) });
    expect(popped?.messages.length).toBe(1);
  });

  it('one long name refuses its whole call', async () => {
    const items = [
      { queue: BAD, payload: 1 },
      { queue: 'q'.repeat(500), payload: 1 },
    ];
    expectRefusal(await node.client.post('/api/v1/push', { items }), 413, 'queue name');
  });

  it('a transaction id has 65,535 bytes at most', async () => {
    const push = (queue: string, transactionId: string) =>
      node.client.post('/api/v1/push', { items: [{ queue, transactionId, payload: 1 }] });
    const refused = await push(BAD, 't'.repeat(65_536));
    expectRefusal(refused, 400, 'transactionId exceeds the 65535-byte limit', 'bad_request');
    expect((await push(BAD, '\u00e9'.repeat(32_768))).status).toBe(400);
    expect((await push('longest-id', 't'.repeat(65_535))).status).toBe(201);
  });

  it('a body over the limit is refused, announced or not', async () => {
    const body = `{"items":[{"queue":"${BAD}","payload":"${'x'.repeat(BODY_BYTES_MAX)}"}]}`;
    const announced = await node.client.post('/api/v1/push', body);
    expect(announced.status).toBe(413);
    const chunked = await node.client.send('POST', '/api/v1/push', body, {
      headers: { 'transfer-encoding': 'chunked' },
    });
    expect(chunked.status).toBe(413);
  });

  it('a body of exactly the limit is taken', async () => {
    const [head, tail] = ['{"items":[{"queue":"exact","payload":"', '"}]}'];
    const body = head + 'x'.repeat(BODY_BYTES_MAX - head.length - tail.length) + tail;
    expect((await node.client.post('/api/v1/push', body)).status).toBe(201);
  });

  it('a nesting of 125 inside a payload is taken', async () => {
    const payload = '['.repeat(125) + ']'.repeat(125);
    const body = `{"items":[{"queue":"deep","payload":${payload}}]}`;
    expect((await node.client.post('/api/v1/push', body)).status).toBe(201);
  });
});

describe('pop queries', () => {
  it.each([
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
    'consumerGroup=%ZZ',
    'consumerGroup=%ff',
    'consumerGroup=%00',
  ])('%s', async (query) => {
    for (const path of [`/queue/${BAD}`, `/queue/${BAD}/partition/p`, '']) {
      const answer = await node.client.get(`/api/v1/pop${path}?namespace=x&${query}`);
      expect(answer.status).toBe(400);
      const name = query.slice(0, query.indexOf('='));
      if (name !== 'consumerGroup') expect(answer.text).toContain(name);
    }
  });

  it.each<[string, string]>([
    ['', 'namespace or task is required'],
    ['?namespace=&task=', 'namespace or task is required'],
    [
      `/queue/${BAD}?conflation=true`,
      'conflation requires consumerGroup: queue mode is a shared cursor with no group identity ' +
        'to hang a delivery policy on',
    ],
    [
      `/queue/${BAD}?conflation=true&consumerGroup=g&autoAck=true`,
      'conflation cannot be combined with autoAck: auto-ack commits at delivery with no lease, ' +
        'so a failed handler loses the tail and the at-least-once guarantee conflation exists to ' +
        'provide degrades to at-most-once',
    ],
  ])('%s', async (path, error) => {
    const answer = await node.client.get(`/api/v1/pop${path}`);
    expect(answer.status).toBe(400);
    expect(answer.text).toBe(`{"success":false,"error":${JSON.stringify(error)},"messages":[]}`);
  });

  it('ignores what it does not know', async () => {
    const answer = await node.client.get('/api/v1/pop/queue/good?affinity=x&maxWait=y&batch=1');
    expect(answer.status).toBe(200);
  });

  it.each([
    [`/queue/${'q'.repeat(412)}`, 'queue name is 412 bytes'],
    [`/queue/${BAD}?consumerGroup=${'g'.repeat(409)}`, 'group name is 409 bytes'],
    [`/queue/${BAD}/partition/${'p'.repeat(409)}`, 'partition name is 409 bytes'],
    [`?namespace=x&consumerGroup=${'g'.repeat(500)}`, 'group name is 500 bytes'],
  ])('names that are too long: %s', async (path, error) => {
    expectRefusal(await node.client.get(`/api/v1/pop${path}`), 413, error, 'name_too_long');
  });

  it.each(['/queue/%ZZ', '/queue/%ff%fe', '/queue/%00', '/queue/a/partition/%e0%80'])(
    'path %s does not decode',
    async (path) => {
      expectRefusal(await node.client.get(`/api/v1/pop${path}`), 400, 'path');
    },
  );
});

describe('ack bodies', () => {
  it.each<[string, string]>([
    ['', 'the body is empty'],
    ['[]', 'must be an object'],
    ['{"acknowledgments":{}}', 'must be an array'],
    ['{"acknowledgments":[1]}', 'must be an object'],
    ['{"acknowledgments":[{"transactionId":1}]}', 'transactionId must be a string'],
    ['{"acknowledgments":[{"partitionId":12}]}', 'partitionId must be a string'],
    ['{"acknowledgments":[{"leaseId":true}]}', 'leaseId must be a string'],
    ['{"acknowledgments":[{"status":1}]}', 'status must be a string'],
    ['{"acknowledgments":[{"error":{}}]}', 'error must be a string'],
    ['{"transactionId":"a","partitionId":12}', 'partitionId must be a string'],
    ['{"consumerGroup":5}', 'consumerGroup must be a string'],
    ['{"transactionId":"a"', 'unexpected end'],
    ['{"transactionId":"a","transactionId":"b"}', 'duplicate field'],
  ])('%s', async (body, text) => {
    for (const path of ['/api/v1/ack', '/api/v1/ack/batch']) {
      const answer = await node.client.post(path, body);
      expectRefusal(answer, 400, text, 'bad_body');
      expect((JSON.parse(answer.text) as Refused).error).toContain('bad ack body: ');
    }
  });

  it('an ack of nothing is answered, not refused', async () => {
    const answer = await node.client.post('/api/v1/ack', '{}');
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject([
      { success: false, error: 'partitionId is not a partition id' },
    ]);
  });

  it('a group name that is too long', async () => {
    const body = { consumerGroup: 'g'.repeat(500), transactionId: 'a', partitionId: '1' };
    const answer = await node.client.post('/api/v1/ack', body);
    expectRefusal(answer, 413, 'group name is 500 bytes', 'name_too_long');
  });
});

describe('lease extension', () => {
  it.each(['', '{}', 'nonsense', '[]', '{"seconds":"x"}', '{"seconds":1.5}', '{"seconds":-3}'])(
    'body %s is taken',
    async (body) => {
      const answer = await node.client.post('/api/v1/lease/none/extend', body);
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.text)).toMatchObject({ success: false, renewed: 0 });
    },
  );
});

describe('configure bodies', () => {
  const options = (text: string) => `{"queue":"${BAD}","options":{${text}}}`;

  it.each<[string, string]>([
    ['', 'the body is empty'],
    ['{}', 'queue is required'],
    ['{"queue":null}', 'queue is required'],
    ['{"queue":5}', 'queue is required'],
    [`{"queue":"${BAD}","options":[]}`, 'options must be an object'],
    [`{"queue":"${BAD}","mode":"patch"}`, 'mode must be "merge" or "replace", got "patch"'],
    [`{"queue":"${BAD}","mode":1}`, 'mode must be "merge" or "replace", got 1'],
    [options('"leaseTime":"60"'), 'leaseTime must be an integer'],
    [options('"leaseTime":1.5'), 'leaseTime must be an integer'],
    [options('"leaseTime":2147483648'), 'leaseTime must be an integer'],
    [options('"priority":true'), 'priority must be an integer'],
    [options('"retryLimit":[]'), 'retryLimit must be an integer'],
    [options('"dedupWindowSeconds":{}'), 'dedupWindowSeconds must be an integer'],
    [options('"deadLetterQueue":1'), 'deadLetterQueue must be a boolean'],
    [options('"dlqAfterMaxRetries":"true"'), 'dlqAfterMaxRetries must be a boolean'],
    [options('"retentionSinkHold":"a b"'), 'retentionSinkHold must match [A-Za-z0-9._-]{0,64}'],
    [
      options('"retentionSinkHoldMaxSeconds":59'),
      'retentionSinkHoldMaxSeconds must be between 60 and 31536000',
    ],
    [`{"queue":"${BAD}","leaseTime":"x"}`, 'leaseTime must be an integer'],
  ])('%s', async (body, text) => {
    expectRefusal(await node.client.post('/api/v1/configure', body), 400, text);
  });

  it('a refused call changes nothing', async () => {
    await node.api.configure('settled', { leaseTime: 77 });
    const body = '{"queue":"settled","options":{"leaseTime":5,"priority":"x"}}';
    expectRefusal(await node.client.post('/api/v1/configure', body), 400, 'priority');
    expect((await node.api.detail('settled')).options.leaseTime).toBe(77);
  });

  it('a name that is too long', async () => {
    const answer = await node.client.post('/api/v1/configure', { queue: 'q'.repeat(500) });
    expectRefusal(answer, 413, 'queue name is 500 bytes', 'name_too_long');
  });
});

describe('fetch bodies', () => {
  const entry = { queue: 'good', partition: 'p', offset: 0 };

  it.each<[string, string]>([
    ['', 'the body is empty'],
    ['{}', 'entries'],
    ['{"entries":{}}', 'must be an array'],
    ['{"entries":[1]}', 'must be an object'],
    ['{"entries":[{}]}', 'queue'],
    ['{"entries":[{"queue":1,"offset":0}]}', 'queue must be a string'],
    ['{"entries":[{"queue":"good"}]}', 'offset'],
    ['{"entries":[{"queue":"good","offset":-1}]}', 'offset must be non-negative'],
    ['{"entries":[{"queue":"good","offset":1.5}]}', 'offset'],
    ['{"entries":[{"queue":"good","offset":"0"}]}', 'offset'],
    ['{"entries":[{"queue":"good","partition":true,"offset":0}]}', 'partition'],
    [JSON.stringify({ entries: Array(1025).fill(entry) }), 'too many entries'],
    [JSON.stringify({ entries: [entry], maxWaitMs: -1 }), 'maxWaitMs'],
    [JSON.stringify({ entries: [entry], maxWaitMs: 'x' }), 'maxWaitMs'],
  ])('%.60s', async (body, text) => {
    expectRefusal(await node.client.post('/api/v1/fetch', body), 400, text);
  });

  it('1,024 entries are taken', async () => {
    const answer = await node.client.post('/api/v1/fetch', { entries: Array(1024).fill(entry) });
    expect(answer.status).toBe(200);
  });
});

describe('paths', () => {
  it.each([
    ['GET', '/api/v1/nothing'],
    ['GET', '/api/'],
    ['GET', '/api/v1/push'],
    ['PUT', '/api/v1/push'],
    ['POST', '/api/v1/push/'],
    ['POST', '/api/v1/pop'],
    ['DELETE', '/api/v1/ack'],
    ['GET', '/api/v1/pop/queue/'],
    ['GET', '/api/v1/pop/queue/a/b'],
    ['GET', '/streams/v1/queries'],
    ['GET', '/internal/api/x'],
    ['POST', '/'],
    ['PATCH', '/anything'],
    ['OPTIONS', '/api/v1/push'],
  ])('%s %s is no route', async (method, path) => {
    const answer = await node.client.send(method, path, method === 'GET' ? undefined : '{}');
    expect(answer.status).toBe(404);
    expect(answer.text).toBe(`{"error":"no_such_route","code":"no_such_route","path":"${path}"}`);
  });

  it.each(['', '/depth'])('an unknown queue%s is 404', async (suffix) => {
    const answer = await node.client.get(`/api/v1/resources/queues/${BAD}${suffix}`);
    expect(answer.status).toBe(404);
    expect(answer.text).toBe('{"error":"Queue not found"}');
  });
});
