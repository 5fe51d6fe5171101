/**
 * Goal: nodes of a cluster start as they may and as nothing else: a directory belongs to its
 * cluster and its node, one survivor can go on alone once, a directory of one node can become a
 * member of several, and a node that waits says for what and ends at once when it is told to.
 * Method: real processes; two founders fill their directories, and each test starts copies of them.
 */
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HttpClient } from './http-client.js';
import {
  type Environment,
  NodeUnderTest,
  sleep,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from './node-under-test.js';
import { freePort } from './ports.js';

const WAIT_MS = 20_000;
const directories: TemporaryDirectory[] = [];
const nodes: NodeUnderTest[] = [];

afterAll(async () => {
  for (const node of nodes) await node.kill();
  for (const directory of directories) directory.remove();
});

function emptyDirectory(): string {
  const directory = temporaryDirectory();
  directories.push(directory);
  return directory.path;
}

function copyOf(directory: string): string {
  const copy = emptyDirectory();
  cpSync(join(directory, 'data'), join(copy, 'data'), { recursive: true });
  return copy;
}

interface Place {
  readonly id: number;
  readonly raft: number;
  readonly http: number;
}

async function places(count: number): Promise<readonly Place[]> {
  const all: Place[] = [];
  for (let id = 1; id <= count; id++) {
    all.push({ id, raft: await freePort(), http: await freePort() });
  }
  return all;
}

function peersOf(all: readonly Place[]): string {
  return all.map(({ id, raft, http }) => `${id}=127.0.0.1:${raft}/127.0.0.1:${http}`).join(',');
}

function spawn(
  directory: string,
  place: Place,
  all: readonly Place[],
  environment: Environment = {},
): NodeUnderTest {
  const node = new NodeUnderTest({
    directory,
    port: place.http,
    environment: {
      SVC_RAFT_REPLICATOR: 'openraft',
      SVC_RAFT_NODE_ID: `${place.id}`,
      SVC_RAFT_PEERS: peersOf(all),
      SVC_RAFT_LISTEN: `127.0.0.1:${place.raft}`,
      ...environment,
    },
  });
  nodes.push(node);
  return node;
}

/** What stands behind `FATAL: `. */
async function refusalOf(node: NodeUnderTest): Promise<string> {
  const exit = await node.ended(WAIT_MS);
  const [line = '', ...more] = node.output.split('\n').filter((each) => each.includes('FATAL: '));
  expect({ exit, more, output: node.output }).toMatchObject({ exit: { code: 1 }, more: [] });
  return line.slice(line.indexOf('FATAL: ') + 'FATAL: '.length);
}

async function said(node: NodeUnderTest, text: string): Promise<void> {
  const untilMs = performance.now() + WAIT_MS;
  while (!node.output.includes(text)) {
    if (performance.now() > untilMs) throw new Error(`not said: ${text}\n${node.output}`);
    await sleep(20);
  }
}

/** SIGTERM ends it with code 0, and soon. */
async function endsSoon(node: NodeUnderTest): Promise<void> {
  const beganMs = performance.now();
  expect((await node.signal('SIGTERM')).code).toBe(0);
  expect(performance.now() - beganMs).toBeLessThan(5000);
}

async function push(port: number, value: string): Promise<void> {
  const client = new HttpClient(port);
  const answer = await client.post('/api/v1/push', { items: [{ queue: 'q', payload: value }] });
  client.close();
  expect(answer.status, answer.text).toBe(201);
}

async function stored(port: number): Promise<string> {
  const client = new HttpClient(port);
  const entries = [{ queue: 'q', partition: 'Default', offset: 0 }];
  const { text } = await client.post('/api/v1/fetch', { entries });
  client.close();
  return text;
}

describe('directories of a cluster', () => {
  let all: readonly Place[] = [];
  const roots: string[] = [];

  beforeAll(async () => {
    all = await places(2);
    const founders = all.map((place) => {
      const root = emptyDirectory();
      roots.push(root);
      return spawn(root, place, all);
    });
    for (const node of founders) expect(await node.healthy()).toBe(true);
    await push(all[0]?.http ?? 0, 'kept');
    await Promise.all(founders.map((node) => node.signal('SIGTERM')));
  }, 60_000);

  const founder = (index: number) => {
    const [place, root] = [all[index], roots[index]];
    if (place === undefined || root === undefined) throw new Error(`no founder ${index}`);
    return { place, root };
  };
  const one = () => founder(0);
  const two = () => founder(1);

  it('are refused to a node without a raft port', async () => {
    const directory = copyOf(one().root);
    const node = new NodeUnderTest({ directory, port: one().place.http });
    nodes.push(node);
    expect(await refusalOf(node)).toBe(
      `${join(directory, 'data')} was written by the openraft replicator: ` +
        'run it with SVC_RAFT_REPLICATOR=openraft',
    );
  });

  it('belong to their node', async () => {
    const error = await refusalOf(spawn(copyOf(two().root), one().place, all));
    expect(error).toContain('this directory belongs to node 2, and this is node 1');
    expect(error).toContain('SVC_RAFT_FORCE_RECOVER');
  });

  it('wait for a leader, say so, and end when they are told to', async () => {
    const node = spawn(copyOf(one().root), one().place, all);
    await said(node, 'not ready yet: no leader is known');
    await endsSoon(node);
  });

  it('go on alone by force, once, as any node', async () => {
    const root = copyOf(two().root);
    const { place } = one();
    const force = { SVC_RAFT_FORCE_RECOVER: '1' };
    const node = spawn(root, place, all, force);
    expect(await node.healthy()).toBe(true);
    expect(node.output).toContain('node 1 is the only voter from entry');
    expect(await stored(place.http)).toContain('kept');
    await push(place.http, 'more');
    await node.kill();
    expect(await refusalOf(spawn(root, place, all, force))).toContain(
      'SVC_RAFT_FORCE_RECOVER=1 is still set, but this node already recovered',
    );
    const again = spawn(root, place, all);
    expect(await again.healthy()).toBe(true);
    expect(await stored(place.http)).toContain('more');
    const empty = spawn(emptyDirectory(), two().place, all);
    await said(empty, 'this fresh node joins an existing cluster');
    await said(empty, 'waits to be added to its cluster');
    await endsSoon(empty);
    await again.signal('SIGTERM');
  });

  it('have to be there to be recovered', async () => {
    const force = { SVC_RAFT_FORCE_RECOVER: '1' };
    const error = await refusalOf(spawn(emptyDirectory(), one().place, all, force));
    expect(error).toMatch(/^SVC_RAFT_FORCE_RECOVER=1, but .* holds nothing to recover$/);
  });
});

describe('a fresh node', () => {
  it('waits for the others, says for whom, and ends when it is told to', async () => {
    const all = await places(2);
    const [place] = all;
    if (place === undefined) throw new Error('no place');
    const node = spawn(emptyDirectory(), place, all);
    await said(node, `node 2 (127.0.0.1:${all[1]?.raft}) does not answer`);
    await endsSoon(node);
  });

  it('is refused a raft port that is taken', async () => {
    const [place] = await places(1);
    if (place === undefined) throw new Error('no place');
    const taken: Server = createServer();
    await new Promise<void>((resolve) => taken.listen(place.raft, '127.0.0.1', resolve));
    const error = await refusalOf(spawn(emptyDirectory(), place, [place]));
    await new Promise((resolve) => taken.close(resolve));
    expect(error).toBe(
      `cannot listen for other nodes on 127.0.0.1:${place.raft}: the port is taken (EADDRINUSE); ` +
        'SVC_RAFT_LISTEN names another address',
    );
  });

  it('that is to join founds nothing, not even alone', async () => {
    const [place] = await places(1);
    if (place === undefined) throw new Error('no place');
    const directory = emptyDirectory();
    const node = spawn(directory, place, [place], { SVC_RAFT_JOIN: 'true' });
    await said(node, 'waits to be added to a cluster (SVC_RAFT_JOIN)');
    const client = new HttpClient(place.http);
    const { status, text } = await client.get('/health');
    client.close();
    expect([status, JSON.parse(text)]).toMatchObject([
      503,
      { status: 'settling', raft: { role: 'learner', leader: false, term: 0 } },
    ]);
    await endsSoon(node);
    expect(existsSync(join(directory, 'data', 'identity.json'))).toBe(false);
  });
});

it('a node alone becomes a member of two without another directory', async () => {
  const all = await places(2);
  const [first, second] = all;
  if (first === undefined || second === undefined) throw new Error('no place');
  const directory = emptyDirectory();
  const local = await startNode({ directory, port: first.http });
  await push(first.http, 'alone');
  await local.signal('SIGTERM');
  const node = spawn(directory, first, [first]);
  const joining = spawn(emptyDirectory(), second, [second], { SVC_RAFT_JOIN: '1' });
  expect(await node.healthy()).toBe(true);
  await said(joining, 'waits to be added to a cluster');
  const client = new HttpClient(first.http);
  const body = { id: 2, raft: `127.0.0.1:${second.raft}`, http: `127.0.0.1:${second.http}` };
  const added = await client.post('/api/v1/system/raft/membership/learners', body);
  expect(added.text).toContain(`"raft":"127.0.0.1:${first.raft}"`);
  expect(added.status).toBe(200);
  expect(await joining.healthy()).toBe(true);
  const promoted = await client.post('/api/v1/system/raft/membership/promote', { ids: [2] });
  expect(promoted.text).toContain('"voters":[1,2]');
  client.close();
  expect(await stored(second.http)).toContain('alone');
  const identity = readFileSync(join(directory, 'data', 'identity.json'), 'utf8');
  expect(identity).toContain('"nodeId": 1');
  await Promise.all([node.signal('SIGTERM'), joining.signal('SIGTERM')]);
});
