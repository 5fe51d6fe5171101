/**
 * Goal: one process per directory, and no lock that outlives its process. Method: a child process
 * that takes the same kind of lock is refused while this one holds it, and the other way round; a
 * killed holder leaves a socket file that must not matter. Long paths go through a descriptor.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockDirectory } from './directory-lock.js';
import { LockedError } from './faults.js';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'lock-'));
});

afterEach(() => rmSync(root, { recursive: true }));

function longDirectory(): string {
  const directory = join(root, 'a'.repeat(90), 'b'.repeat(90));
  mkdirSync(directory, { recursive: true });
  return directory;
}

test.each([
  ['short', () => root],
  ['long', longDirectory],
])('a %s path is locked once and free after release', async (_name, make) => {
  const directory = make();
  const lock = await lockDirectory(directory);
  await expect(lockDirectory(directory)).rejects.toThrow(LockedError);
  await expect(lockDirectory(directory)).rejects.toThrow(/another running process/);
  await lock.release();
  const again = await lockDirectory(directory);
  await again.release();
  expect(readdirSync(directory)).toEqual([]);
});

/** Another process that holds the lock until it is killed. */
async function holderProcess() {
  const script = `require('node:net').createServer().listen(process.argv[1], () => console.log(1))`;
  const socket = join(root, 'lock-00000000-0000-0000-0000-000000000000.socket');
  const holder = spawn(process.execPath, ['-e', script, socket]);
  const exited = new Promise((resolve) => holder.once('exit', resolve));
  await new Promise((resolve) => holder.stdout.once('data', resolve));
  const kill = async () => {
    holder.kill('SIGKILL');
    await exited;
    expect(existsSync(socket)).toBe(true);
  };
  return { kill };
}

test('a killed holder leaves no lock', async () => {
  const holder = await holderProcess();
  await expect(lockDirectory(root)).rejects.toThrow(LockedError);
  await holder.kill();
  const lock = await lockDirectory(root);
  await lock.release();
  expect(readdirSync(root)).toEqual([]);
});

test('of many who start at once with a stale lock, at most one gets it', async () => {
  for (let round = 0; round < 5; round++) {
    const holder = await holderProcess();
    await holder.kill();
    const starters = Array.from({ length: 8 }, () => lockDirectory(root));
    const tries = await Promise.allSettled(starters);
    const won = tries.filter((each) => each.status === 'fulfilled');
    expect(won.length).toBeLessThanOrEqual(1);
    for (const each of won) await each.value.release();
  }
  const lock = await lockDirectory(root);
  await lock.release();
});
