/**
 * Goal: what a node stores is for its user alone, however it is started; a directory that cannot be
 * used is refused with what to do; one that others can read is told of. Method: real processes
 * under a wide umask; as another user where this one may change to it.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HttpClient } from './http-client.js';
import { NodeUnderTest, type TemporaryDirectory, temporaryDirectory } from './node-under-test.js';
import { freePort } from './ports.js';

const WIDE = ['/bin/sh', '-c', 'umask 022; exec "$0" "$@"'];
const NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];

let directory: TemporaryDirectory;
let node: NodeUnderTest | null;

beforeEach(() => {
  directory = temporaryDirectory();
  node = null;
});

afterEach(async () => {
  await node?.kill();
  directory.remove();
});

async function start(place: string, launcher: readonly string[]): Promise<NodeUnderTest> {
  node = new NodeUnderTest({
    directory: directory.path,
    port: await freePort(),
    environment: { SVC_RAFT_DIR: place },
    launcher,
  });
  return node;
}

async function refusal(place: string, launcher: readonly string[] = WIDE): Promise<string> {
  const started = await start(place, launcher);
  expect(await started.ended(20_000)).toEqual({ code: 1, signal: null });
  return started.output.slice(started.output.indexOf('FATAL: '));
}

function modesUnder(path: string): string[] {
  const own = statSync(path);
  const below = own.isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [];
  return [(own.mode & 0o777).toString(8), ...below.flatMap(modesUnder)];
}

test('directories are 0700 and files 0600 under every umask', async () => {
  const place = join(directory.path, 'a', 'b');
  const started = await start(place, WIDE);
  expect(await started.healthy()).toBe(true);
  const client = new HttpClient(started.port);
  const push = { items: [{ queue: 'q', payload: 1 }] };
  expect((await client.post('/api/v1/push', push)).status).toBe(201);
  client.close();
  // The socket of the lock has the bits of a directory.
  expect([...new Set(modesUnder(join(directory.path, 'a')))].sort()).toEqual(['600', '700']);
  expect(started.output).not.toContain('is open to others');
});

test('a directory that others can read is told of', async () => {
  const place = join(directory.path, 'wide');
  mkdirSync(place);
  chmodSync(place, 0o755);
  const started = await start(place, WIDE);
  expect(await started.healthy()).toBe(true);
  expect(started.output).toContain(`${place} is open to others of this machine (mode 755)`);
  expect(started.output).toContain(`chmod -R go= ${place}`);
});

test('a file where the directory is wanted, or above it', async () => {
  const file = join(directory.path, 'file');
  writeFileSync(file, '');
  for (const place of [file, join(file, 'below')]) {
    expect(await refusal(place)).toMatch(/^FATAL: SVC_RAFT_DIR=\S+ is a file, or lies below one/);
  }
});

test('a directory without permission', async (context) => {
  const probe = spawnSync(NOBODY[0] ?? '', [...NOBODY.slice(1), process.execPath, '-e', '0']);
  if (process.getuid?.() !== 0 || probe.status !== 0) {
    console.log('skipped: only root can start a node as another user');
    context.skip();
  }
  const place = join(directory.path, 'theirs');
  mkdirSync(place, { mode: 0o700 });
  chmodSync(directory.path, 0o755);
  for (const wanted of [place, join(place, 'below'), join(directory.path, 'new')]) {
    expect(await refusal(wanted, NOBODY)).toMatch(
      /^FATAL: SVC_RAFT_DIR=\S+ may not be written by this process \(EACCES, user 65534\): give/,
    );
  }
});
