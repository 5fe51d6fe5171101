/**
 * Goal: a node that cannot run as it was told, or whose files cannot be trusted, says so in one
 * FATAL line that names what, where and what to do, ends with code 1, and changes nothing. Method:
 * real processes on prepared directories. Damage is done to copies of one directory that a node
 * filled, with small segments so that there are several.
 */
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HttpClient } from './http-client.js';
import {
  type Environment,
  NodeUnderTest,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from './node-under-test.js';
import { freePort } from './ports.js';

const SMALL: Environment = { SVC_RAFT_SEGMENT_BYTES: '65536', SVC_RAFT_DURABLE_EVERY_MS: '100' };

/** What stands behind `FATAL: `; exactly one such line, and exit code 1. */
async function refusalOf(directory: string, environment: Environment): Promise<string> {
  const node = new NodeUnderTest({ directory, port: await freePort(), environment });
  const exit = await node.ended(20_000);
  const lines = node.output.split('\n').filter((line) => line.includes('FATAL: '));
  expect({ exit, lines: lines.length, output: node.output }).toMatchObject({
    exit: { code: 1, signal: null },
    lines: 1,
  });
  const [line = ''] = lines;
  expect(line).toContain('ERROR');
  return line.slice(line.indexOf('FATAL: ') + 'FATAL: '.length);
}

describe('settings', () => {
  let directory: TemporaryDirectory;

  beforeAll(() => {
    directory = temporaryDirectory();
  });

  afterAll(() => directory.remove());

  // Which settings are refused, and in which words, stands in the configuration's own tests. Here
  // are those that another part of the program refuses, and two to show how a refusal is said.
  it.each<[Environment, string]>([
    [
      { SVC_BIND_ADDR: '' },
      'SVC_BIND_ADDR is set to the empty string — give it a host or IP, or unset it for 0.0.0.0',
    ],
    [{ SVC_RAFT_PEERS: '1=a:1/b:2' }, 'SVC_RAFT_PEERS needs SVC_RAFT_REPLICATOR=openraft'],
  ])('%j', async (environment, error) => {
    expect(await refusalOf(directory.path, environment)).toBe(error);
    expect(existsSync(join(directory.path, 'data'))).toBe(false);
  });

  it.each<[Environment, string]>([
    [{ JWT_ENABLED: 'true' }, 'JWT_ENABLED=true'],
    [{ RUST_LOG: 'loud' }, 'RUST_LOG="loud" is not a log filter'],
    [{ SVC_CRASH_AT: 'after-lunch' }, 'SVC_CRASH_AT=after-lunch: expected <name>'],
    [{ SVC_CRASH_AT: 'after-plan:0' }, 'after-propose'],
    [{ SVC_RAFT_DIR: '/dev/null/x' }, '/dev/null'],
    [{ SVC_RAFT_DIR: '/proc/x/data' }, 'SVC_RAFT_DIR=/proc/x/data cannot be used'],
  ])('%j is refused by name', async (environment, text) => {
    expect(await refusalOf(directory.path, environment)).toContain(text);
  });
});

describe('what is taken already', () => {
  let directory: TemporaryDirectory;
  let node: NodeUnderTest;

  beforeAll(async () => {
    directory = temporaryDirectory();
    node = await startNode({ directory: directory.path, port: await freePort() });
  });

  afterAll(async () => {
    await node.kill();
    directory.remove();
  });

  it('a directory in use', async () => {
    const error = await refusalOf(directory.path, {});
    expect(error).toContain(join(directory.path, 'data'));
    expect(error).toContain('is in use by another running process');
    const client = new HttpClient(node.port);
    expect((await client.get('/health')).status).toBe(200);
    client.close();
  });

  it('a port in use', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const other = temporaryDirectory();
    try {
      const error = await refusalOf(other.path, { PORT: `${port}` });
      expect(error).toBe(`cannot listen on 127.0.0.1:${port}: the port is taken (EADDRINUSE)`);
    } finally {
      await new Promise((resolve) => taken.close(resolve));
      other.remove();
    }
  });
});

describe('files', () => {
  let original: TemporaryDirectory;
  let foreign: TemporaryDirectory;
  const copies: { readonly remove: () => void }[] = [];

  beforeAll(async () => {
    original = temporaryDirectory();
    foreign = temporaryDirectory();
    for (const { path } of [original, foreign]) await fill(path);
  });

  afterAll(() => {
    for (const each of [original, foreign, ...copies]) each.remove();
  });

  interface Copy {
    readonly root: string;
    /** Segment files, oldest first. */
    readonly segments: readonly string[];
    readonly hardState: string;
    readonly state: string;
    readonly identity: string;
  }

  function copy(): Copy {
    const directory = temporaryDirectory();
    copies.push(directory);
    const data = join(directory.path, 'data');
    cpSync(join(original.path, 'data'), data, { recursive: true });
    const segments = readdirSync(join(data, 'log'))
      .filter((name) => name.endsWith('.log'))
      .sort()
      .map((name) => join(data, 'log', name));
    expect(segments.length).toBeGreaterThan(3);
    return {
      root: directory.path,
      segments,
      hardState: join(data, 'raft', 'hard-state'),
      state: join(data, 'state', 'state.mdb'),
      identity: join(data, 'identity.json'),
    };
  }

  /** The refusal, after a check that no file of the copy was changed. */
  async function refusedUnchanged(root: string): Promise<string> {
    const before = digests(root);
    const error = await refusalOf(root, SMALL);
    expect(digests(root)).toEqual(before);
    return error;
  }

  const cases: readonly [string, (c: Copy) => string, (c: Copy) => string][] = [
    ['a flipped bit in the active segment', (c) => flip(at(c.segments, -1), 0.3), () => 'byte'],
    [
      'a flipped bit in a sealed segment header',
      (c) => flipAt(at(c.segments, 1), 20),
      () => 'byte',
    ],
    [
      'a sealed segment cut short',
      (c) => cut(at(c.segments, 1), 0.5),
      () => 'ends before its last record',
    ],
    ['an empty sealed segment', (c) => cut(at(c.segments, 1), 0), () => 'segment header'],
    [
      'a missing segment in the middle',
      (c) => remove(at(c.segments, 1)),
      () => 'it begins at entry',
    ],
    [
      'a segment of another directory',
      (c) => replace(at(c.segments, 1), foreignFile(at(c.segments, 1))),
      () => 'it belongs to another data directory',
    ],
    [
      'a segment under another name',
      (c) => replace(at(c.segments, 1), at(c.segments, 2)),
      () => 'its header says it is',
    ],
    [
      'something that is no segment',
      (c) => write(at(c.segments, 1), 'not a log\n'.repeat(9000)),
      () => 'no valid segment header',
    ],
    ['an active segment cut short', (c) => cut(at(c.segments, -1), 0.3), () => 'byte'],
    ['term and vote overwritten', (c) => write(c.hardState, 'x'.repeat(8192)), () => 'byte 0'],
    ['term and vote empty', (c) => cut(c.hardState, 0), () => 'byte 0'],
    [
      'term and vote of another directory',
      (c) => replace(c.hardState, foreignFile(c.hardState)),
      () => 'it belongs to another data directory',
    ],
    [
      'a state store of another directory',
      (c) => replace(c.state, foreignFile(c.state)),
      () => 'another data directory',
    ],
    ['an identity that is no JSON', (c) => bothOf(c, (path) => write(path, '{')), () => 'byte 0'],
    [
      'an identity that was edited',
      (c) => bothOf(c, (path) => edit(path, '"nodeId": 1', '"nodeId": 2')),
      () => 'checksum',
    ],
    [
      'an identity of the format before',
      (c) => bothOf(c, asFormatOne),
      () => 'the data directory has format 1, and this build reads 2',
    ],
    ['term and vote that are missing', (c) => remove(c.hardState), () => 'are missing'],
    ['an identity that is missing', (c) => bothOf(c, remove), () => 'the file is missing'],
  ];

  it.each(cases)('%s', async (_, damage, expected) => {
    const target = copy();
    const path = damage(target);
    const error = await refusedUnchanged(target.root);
    expect(error).toContain(path);
    expect(error).toMatch(/at byte \d+/);
    expect(error).toContain(expected(target));
    expect(error).toMatch(/Nothing was changed|Put the file back|Restore|name another/);
  });

  it('the newest segment missing', async () => {
    const target = copy();
    remove(at(target.segments, -1));
    const error = await refusedUnchanged(target.root);
    expect(error).toMatch(/missing/);
    expect(error).toContain(join(target.root, 'data', 'log'));
  });

  it('the directory of another node', async () => {
    const target = copy();
    const before = digests(target.root);
    const error = await refusalOf(target.root, { ...SMALL, SVC_RAFT_NODE_ID: '2' });
    expect(error).toContain('belongs to node 1, and this is node 2');
    expect(digests(target.root)).toEqual(before);
  });

  it('an undamaged copy starts and has everything', async () => {
    const target = copy();
    expect(await storedCount(target.root)).toBe(PUSHES);
  });

  it('a lost state store is rebuilt from the log', async () => {
    const target = copy();
    rmSync(join(target.root, 'data', 'state'), { recursive: true });
    expect(await storedCount(target.root)).toBe(PUSHES);
  });

  it.each<[string, (c: Copy) => string]>([
    ['cut short', (c) => cut(c.state, 0.4)],
    ['of zeros', (c) => write(c.state, '\0'.repeat(65_536))],
    ['of text', (c) => write(c.state, 'text '.repeat(20_000))],
  ])('a state store %s is moved aside and rebuilt from the log', async (_, damage) => {
    const target = copy();
    damage(target);
    const damaged = readFileSync(target.state);
    expect(await storedCount(target.root)).toBe(PUSHES);
    const aside = join(target.root, 'data', 'state.damaged-1', 'state.mdb');
    expect(readFileSync(aside).equals(damaged)).toBe(true);
  });

  it.each<[string, (c: Copy) => string]>([
    ['is no JSON', (c) => write(c.identity, '{')],
    ['was edited', (c) => edit(c.identity, '"nodeId": 1', '"nodeId": 2')],
    ['is missing', (c) => remove(c.identity)],
  ])('an identity that %s is repaired from its copy', async (_, damage) => {
    const target = copy();
    const whole = readFileSync(target.identity);
    damage(target);
    expect(await storedCount(target.root)).toBe(PUSHES);
    expect(readFileSync(target.identity).equals(whole)).toBe(true);
  });

  it('one damaged slot of term and vote is repaired from the other', async () => {
    const target = copy();
    flipAt(target.hardState, 30);
    expect(await storedCount(target.root)).toBe(PUSHES);
  });

  it('a flipped payload bit in a sealed segment is an error and never a message', async () => {
    const target = copy();
    const path = at(target.segments, 1);
    const bytes = readFileSync(path);
    flipAt(path, bytes.indexOf('"value":"') + 10);
    const node = await startNode({
      directory: target.root,
      port: await freePort(),
      environment: SMALL,
    });
    const client = new HttpClient(node.port);
    const statuses = new Set<number>();
    for (let offset = 0; offset < PUSHES; offset++) {
      const entries = [{ queue: 'q', partition: 'p', offset, maxBytes: 1 }];
      const answer = await client.post('/api/v1/fetch', { entries });
      statuses.add(answer.status);
      if (answer.status === 200) expect(answer.text).toContain(`"value":"v${offset}"`);
    }
    expect([...statuses].sort()).toEqual([200, 500]);
    client.close();
    expect((await node.signal('SIGTERM')).code).toBe(0);
  });

  it('a half written record at the end is cut, and nothing acknowledged with it', async () => {
    const target = copy();
    const path = at(target.segments, -1);
    const bytes = readFileSync(path);
    let end = bytes.length;
    while (end > 0 && bytes[end - 1] === 0) end--;
    const whole = bytes.subarray(0, (end + 7) & ~7);
    // The second of several sectors of a write arrived; the others are still zeros.
    const first = Buffer.alloc(512 - (whole.length % 512));
    const tail = [first, Buffer.alloc(512, 0x5a), Buffer.alloc(8192)];
    writeFileSync(path, Buffer.concat([whole, ...tail]));
    expect(await storedCount(target.root)).toBe(PUSHES);
  });

  /** The identity and its copy; answers with the path that a refusal names. */
  function bothOf(c: Copy, damage: (path: string) => string): string {
    damage(`${c.identity}.copy`);
    return damage(c.identity);
  }

  function foreignFile(path: string): string {
    return join(foreign.path, path.slice(path.indexOf('/data/')));
  }
});

const PUSHES = 700;
const ITEMS_PER_PUSH = 7;

async function fill(directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const node = await startNode({ directory, port: await freePort(), environment: SMALL });
  const client = new HttpClient(node.port);
  for (let first = 0; first < PUSHES; first += ITEMS_PER_PUSH) await push(client, first);
  client.close();
  expect((await node.signal('SIGTERM')).code).toBe(0);
}

async function push(client: HttpClient, first: number): Promise<void> {
  const items = Array.from({ length: ITEMS_PER_PUSH }, (_, i) => ({
    queue: 'q',
    partition: 'p',
    payload: { value: `v${first + i}`, pad: 'x'.repeat(300) },
  }));
  const answer = await client.post('/api/v1/push', { items });
  if (answer.status !== 201) throw new Error(answer.text);
}

async function storedCount(directory: string): Promise<number> {
  const node = await startNode({ directory, port: await freePort(), environment: SMALL });
  const client = new HttpClient(node.port);
  const entries = [{ queue: 'q', partition: 'p', offset: 0 }];
  const answer = await client.post('/api/v1/fetch', { entries });
  const parsed = JSON.parse(answer.text) as { entries: { highWatermark: number }[] };
  client.close();
  expect((await node.signal('SIGTERM')).code).toBe(0);
  return parsed.entries[0]?.highWatermark ?? -1;
}

function at(paths: readonly string[], index: number): string {
  const path = paths.at(index);
  if (path === undefined) throw new RangeError(`no file ${index} of ${paths.length}`);
  return path;
}

/** Each returns the path that the refusal has to name. */
function flip(path: string, share: number): string {
  const bytes = readFileSync(path);
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return flipAt(path, Math.floor(end * share));
}

function flipAt(path: string, position: number): string {
  const bytes = readFileSync(path);
  bytes[position] = (bytes[position] ?? 0) ^ 4;
  writeFileSync(path, bytes);
  return path;
}

/** Keeps a share of what is written, counted without the zeros at the end. */
function cut(path: string, share: number): string {
  const bytes = readFileSync(path);
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  truncateSync(path, Math.floor(end * share));
  return path;
}

function remove(path: string): string {
  rmSync(path);
  return path.endsWith('.log') ? join(path, '..') : path;
}

function replace(path: string, by: string): string {
  cpSync(by, path);
  return path;
}

function write(path: string, text: string): string {
  writeFileSync(path, text);
  return path;
}

function edit(path: string, from: string, to: string): string {
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(from);
  writeFileSync(path, text.replace(from, to));
  return path;
}

/** The identity as a build of the first format wrote it. */
function asFormatOne(path: string): string {
  const { format: _, crc: __, ...identity } = JSON.parse(readFileSync(path, 'utf8'));
  const { nodeId, clusterId, directoryId, incarnation } = identity;
  const life = incarnation === 0 ? '' : ` ${incarnation}`;
  const crc = crc32(`1 ${nodeId} ${clusterId} ${directoryId}${life}`);
  return write(path, `${JSON.stringify({ format: 1, ...identity, crc }, null, 2)}\n`);
}

/** Digests of every file below `root` but locks, which say nothing of what is stored. */
function digests(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const path = join(root, name);
    if (name.includes('lock') || !statSync(path).isFile()) continue;
    found[name] = createHash('sha256').update(readFileSync(path)).digest('hex');
  }
  return found;
}
