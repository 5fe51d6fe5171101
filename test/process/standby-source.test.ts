/**
 * Goal: what a node sends a standby over its port between nodes is what its log holds, byte for
 * byte; it shows who reads it, and knows it after a restart. Without a token there is nothing.
 * Method: a real node, pushes of all sizes, reads as a standby makes them; then the node is killed,
 * and its files are read.
 */
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { AnswerReader, READ_PATH, type SourceEntry, TOKEN_HEADER } from '@svc/standby';
import { identityBytes, Log, RealDisk, readIdentity } from '@svc/storage';
import type { HealthAnswer, LinkAnswer } from '@svc/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HttpClient } from './http-client.js';
import {
  type Environment,
  type NodeUnderTest,
  sleep,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from './node-under-test.js';
import { freePorts } from './ports.js';

const TOKEN = 'the secret of the source';
const ENTRY_BYTES_MAX = 80 * 1024 * 1024;
const LARGE_BYTES = 3 * 1024 * 1024;

let directory: TemporaryDirectory;
let port: number;
let raftPort: number;
let node: NodeUnderTest;
let client: HttpClient;

async function start(environment: Environment): Promise<void> {
  node = await startNode({
    directory: directory.path,
    port,
    environment: {
      SVC_RAFT_REPLICATOR: 'openraft',
      SVC_RAFT_LISTEN: `127.0.0.1:${raftPort}`,
      ...environment,
    },
  });
  client = new HttpClient(port);
}

beforeAll(async () => {
  directory = temporaryDirectory();
  [port = 0, raftPort = 0] = await freePorts(2);
  await start({ SVC_LINK_TOKEN: TOKEN });
});

afterAll(async () => {
  client.close();
  await node.kill();
  directory.remove();
});

interface Read {
  readonly status: number;
  readonly clusterId: string;
  readonly entries: readonly SourceEntry[];
  readonly upto: number;
  readonly term: number;
}

function read(fields: object, token = TOKEN): Promise<Read> {
  const body = Buffer.from(JSON.stringify({ reader: 'standby-2a340216', ...fields }));
  const options = { host: '127.0.0.1', port: raftPort, path: READ_PATH, method: 'POST' };
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, headers: { [TOKEN_HEADER]: token } }, (response) => {
      const { statusCode: status = 0 } = response;
      const entries: SourceEntry[] = [];
      let [clusterId, upto, term] = ['', -1, -1];
      const reader = new AnswerReader(
        { after: 0, entryBytesMax: ENTRY_BYTES_MAX },
        {
          onHead: (head) => {
            clusterId = head.clusterId;
          },
          onEntry: (entry) => entries.push(entry),
          onEnd: (end) => {
            [upto, term] = [end.upto, end.term];
          },
        },
        crc32,
      );
      response.on('data', (piece: Buffer) => {
        if (status === 200) expect(reader.push(piece)).toBeNull();
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status, clusterId, entries, upto, term }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** As a standby does: answer after answer, each after the end of the one before. */
async function readAll(maxBytes: number): Promise<SourceEntry[]> {
  const all: SourceEntry[] = [];
  let [after, afterTerm] = [0, 0];
  for (;;) {
    const { status, entries, upto, term } = await read({ after, afterTerm, maxBytes });
    expect(status).toBe(200);
    if (upto === after) return all;
    all.push(...entries);
    [after, afterTerm] = [upto, term];
  }
}

function storedEntries(): SourceEntry[] {
  const disk = new RealDisk();
  const root = join(directory.path, 'data');
  const identity = readIdentity(disk, root);
  if (identity === null) throw new Error('the directory has no identity');
  const log = Log.open({
    disk,
    directory: join(root, 'log'),
    identity: identityBytes(identity),
    onFailure: (error) => {
      throw error;
    },
  });
  const stored: SourceEntry[] = [];
  for (let index = log.firstIndex; index <= log.lastIndex; index++) {
    const [entry] = log.entries(index, index + 1, 0);
    if (entry === undefined || entry.type !== 0 || entry.data.length === 0) continue;
    stored.push({ index, term: entry.term, body: entry.data });
  }
  return stored;
}

async function push(id: string, bytes: number): Promise<void> {
  const payload = { text: 'x'.repeat(bytes) };
  const items = [{ queue: 'q', partition: 'p', transactionId: id, payload }];
  expect((await client.post('/api/v1/push', { items })).status).toBe(201);
}

async function link(): Promise<LinkAnswer> {
  return JSON.parse((await client.get('/api/v1/system/link')).text) as LinkAnswer;
}

test('a standby reads what the log holds, and the node shows it', async () => {
  for (let i = 0; i < 120; i++) await push(`m${i}`, i % 40 === 39 ? LARGE_BYTES : 20 * i);
  const waiting = readAll(1_000_000);
  for (let i = 0; i < 30; i++) await push(`n${i}`, 100);
  await waiting;
  const found = await readAll(64 * 1024 * 1024);
  expect(found.length).toBeGreaterThanOrEqual(150);

  const shown = await link();
  const after = found.at(-1)?.index ?? 0;
  expect(shown).toMatchObject({ role: 'primary', leader: true, holding: true });
  const figure = expect.any(Number);
  expect(shown.readers).toEqual([
    { name: 'standby-2a340216', after: figure, idleMs: figure, heldBytes: figure },
  ]);
  expect(shown.limits).toEqual({ idleMs: 3_600_000, diskPct: figure, usedPct: figure });
  expect(shown.readers?.[0]?.after).toBeGreaterThanOrEqual(after);
  const health = JSON.parse((await client.get('/health')).text) as HealthAnswer;
  expect(health.raft.link).toMatchObject({ role: 'primary', holding: true });
  expect(health.raft.link).not.toHaveProperty('leader');
  const scraped = (await client.get('/metrics/prometheus')).text;
  expect(scraped).toMatch(/^svc_link_role\{role="primary"\} 1$/m);
  expect(scraped).toMatch(/^svc_link_reader_behind_entries\{reader="standby-2a340216"\} \d+$/m);
  expect(scraped).not.toMatch(/^# TYPE svc_link_lag/m);

  await node.kill();
  const stored = storedEntries().filter(({ index }) => index <= after);
  expect(found.map(({ index, term }) => [index, term])).toEqual(
    stored.map(({ index, term }) => [index, term]),
  );
  const differs = found.findIndex((entry, i) => {
    return Buffer.compare(entry.body, stored[i]?.body ?? new Uint8Array(0)) !== 0;
  });
  expect(differs).toBe(-1);
});

test('it is known after a restart, and one that waits is answered by the next write', async () => {
  const file = join(directory.path, 'data', 'raft', 'link_holds.json');
  const { readers } = JSON.parse(readFileSync(file, 'utf8')) as { readers: object };
  expect(Object.keys(readers)).toEqual(['standby-2a340216']);
  client.close();
  await start({ SVC_LINK_TOKEN: TOKEN });
  expect((await link()).readers).toMatchObject([{ name: 'standby-2a340216' }]);
  const { upto, term } = await read({ after: 0, holdOnly: false, maxBytes: 64 * 1024 * 1024 });
  let answered = false;
  const waiting = read({ after: upto, afterTerm: term, waitMs: 20_000 }).finally(() => {
    answered = true;
  });
  await sleep(300);
  expect(answered).toBe(false);
  await push('next', 10);
  expect((await waiting).entries).toHaveLength(1);
  expect((await read({}, 'another')).status).toBe(401);
  expect((await read({ after: upto, afterTerm: term + 1 })).upto).toBe(upto);
});

test('without a token nobody may follow, and what was held is held no more', async () => {
  client.close();
  expect((await node.signal('SIGTERM')).code).toBe(0);
  await start({});
  expect((await read({})).status).toBe(404);
  expect(await link()).toEqual({ role: 'primary', leader: true });
  const scraped = (await client.get('/metrics/prometheus')).text;
  expect(scraped).not.toContain('svc_link_');
  expect(existsSync(join(directory.path, 'data', 'raft'))).toBe(true);
});
