/**
 * Goal: nothing of a message that a queue encrypts lies in clear text in a node's directory or in
 * what it logs, whatever becomes of the message: pushed, part of a transaction or of a stream's
 * cycle, fired by a timer, leased, failed, retried, dead-lettered, replayed. A key that does not
 * open what is stored is told. Method: a real node, messages that all hold one rare word, and a
 * search for the word in every file after checkpoints, a stop and a start.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer } from '@svc/http/api';
import type { PopAnswer } from '@svc/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HttpClient } from './http-client.js';
import {
  type NodeUnderTest,
  sleep,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from './node-under-test.js';
import { freePort } from './ports.js';

type DeadLetterListAnswer = Answer<'GET /api/v1/dlq'>;
type StreamRegisteredAnswer = Answer<'POST /streams/v1/queries'>;

const KEY = 'ab'.repeat(32);
const OTHER_KEY = 'cd'.repeat(32);
const WORD = 'xylophonquartz';
/** Long enough that no checkpoint is still to come. */
const CHECKPOINTS_MS = 500;

let directory: TemporaryDirectory;
let node: NodeUnderTest;
let client: HttpClient;
const output: string[] = [];

async function start(key: string): Promise<void> {
  const environment = {
    SVC_ENCRYPTION_KEY: key,
    SVC_RAFT_DURABLE_EVERY_MS: '50',
    LOG_LEVEL: 'trace',
  };
  node = await startNode({ directory: directory.path, port: await freePort(), environment });
  client = new HttpClient(node.port);
}

async function stop(): Promise<void> {
  client.close();
  await node.signal('SIGTERM');
  output.push(node.output);
}

beforeEach(async () => {
  directory = temporaryDirectory();
  output.length = 0;
  await start(KEY);
});

afterEach(async () => {
  client.close();
  await node.kill();
  directory.remove();
});

async function call<T>(path: string, body: unknown): Promise<T> {
  const answer = await client.post(path, body === null ? '' : JSON.stringify(body));
  expect([200, 201], `${path}: ${answer.text}`).toContain(answer.status);
  return JSON.parse(answer.text) as T;
}

const encrypt = (queue: string, encryptionEnabled = true) =>
  call('/api/v1/configure', { queue, options: { encryptionEnabled } });

const push = (queue: string, name: string) =>
  call('/api/v1/push', { items: [{ queue, payload: { name, WORD }, transactionId: name }] });

async function pop(queue: string, group: string): Promise<PopAnswer> {
  const path = `/api/v1/pop/queue/${queue}?consumerGroup=${group}&batch=10`;
  const { status, text } = await client.get(path);
  expect([queue, status]).toEqual([queue, 200]);
  return JSON.parse(text) as PopAnswer;
}

async function settle(queue: string, group: string, status: string): Promise<void> {
  const { leaseId, partitionId, messages } = await pop(queue, group);
  for (const { transactionId, data } of messages) {
    expect(data).toMatchObject({ WORD });
    const ack = { transactionId, partitionId, leaseId, consumerGroup: group, status, error: 'no' };
    await call('/api/v1/ack', ack);
  }
}

async function deadLetters(queue: string): Promise<DeadLetterListAnswer['messages']> {
  const { text } = await client.get(`/api/v1/dlq?queue=${queue}`);
  return (JSON.parse(text) as DeadLetterListAnswer).messages;
}

async function runStream(): Promise<void> {
  const query = { name: 'q', source_queue: 'in', sink_queue: 'sink', config_hash: 'h' };
  const { query_id } = await call<StreamRegisteredAnswer>('/streams/v1/queries', query);
  const group = `streams.${query_id}`;
  await push('in', 'stream');
  const { leaseId, partitionId, messages } = await pop('in', group);
  await call('/streams/v1/cycle', {
    query_id,
    partition_id: partitionId,
    consumer_group: group,
    push_items: [{ queue: 'sink', payload: { name: 'sink', WORD } }],
    ack: { leaseId, status: 'completed', count: messages.length },
  });
}

/** Files that hold the word in any form in which a text is kept. */
function filesWithWord(at = join(directory.path, 'data')): string[] {
  const forms = [Buffer.from(WORD), Buffer.from(WORD, 'utf16le')];
  return readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => forms.some((form) => readFileSync(file).includes(form)));
}

test('nothing of an encrypted message is ever in clear text', async () => {
  for (const queue of ['q', 'late', 'in', 'sink']) await encrypt(queue);
  await push('q', 'dlq');
  await settle('q', 'g', 'dlq');
  const items = [{ queue: 'q', payload: { name: 'transaction', WORD } }];
  await call('/api/v1/transaction', { operations: [{ type: 'push', items }] });
  await settle('q', 'g', 'retry');
  await settle('q', 'g', 'failed');
  await settle('q', 'g', 'dlq');
  const payload = Buffer.from(JSON.stringify({ WORD })).toString('base64');
  const timer = { op: 'schedule', timerKey: 't', txn: 't', delayMs: 0, payload };
  await call('/api/v1/timers', [{ ...timer, queue: 'late' }]);
  await sleep(CHECKPOINTS_MS);
  await settle('late', 'g', 'dlq');
  await runStream();
  await settle('sink', 'g', 'dlq');
  const letters = await deadLetters('q');
  expect(letters.map(({ data }) => data)).toMatchObject([{ WORD }, { WORD }]);
  for (const { id } of letters) await call(`/api/v1/dlq/${id}/replay`, null);
  await client.get(`/api/v1/messages?queue=q&search=${WORD}`);
  await sleep(CHECKPOINTS_MS);
  expect(filesWithWord()).toEqual([]);
  await stop();
  expect(filesWithWord()).toEqual([]);
  await start(KEY);
  await settle('q', 'after', 'completed');
  await sleep(CHECKPOINTS_MS);
  await stop();
  expect(filesWithWord()).toEqual([]);
  expect(output.join('')).not.toContain(WORD);
}, 60_000);

test('a replay into a plain queue is plain, as that queue says', async () => {
  await encrypt('q');
  await push('q', 'a');
  await settle('q', 'g', 'dlq');
  const [{ id = '' } = {}] = await deadLetters('q');
  await call(`/api/v1/dlq/${id}/replay`, { queue: 'plain' });
  expect((await pop('plain', 'g')).messages.map(({ data }) => data)).toEqual([{ name: 'a', WORD }]);
  expect(filesWithWord().length).toBeGreaterThan(0);
}, 60_000);

test('a key that opens nothing of it is told', async () => {
  await encrypt('q');
  await push('q', 'a');
  await stop();
  await start(OTHER_KEY);
  const [{ data } = {}] = (await pop('q', 'g')).messages;
  expect(Object.keys(data as object)).toEqual(['encrypted', 'iv', 'authTag']);
  const { text } = await client.get('/metrics/prometheus');
  expect(text).toContain('\nsvc_payloads_not_decrypted_total 1\n');
  expect(node.output).toMatch(/ WARN +encryption SVC_ENCRYPTION_KEY does not open/);
}, 60_000);
