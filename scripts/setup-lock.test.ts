// Goal: one process at a time, and a lock that survives the death of its holder.
// Method: child processes that note when they enter and leave, around a lock in a temporary folder.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const MODULE = new URL('./setup-lock.mjs', import.meta.url).href;

let folder: string;
let lock: string;
let notes: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-lock-'));
  lock = join(folder, 'lock');
  notes = join(folder, 'notes');
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/**
 * A process that holds the lock for a moment and writes "enter" and "leave"; gives its messages.
 */
async function hold(): Promise<string> {
  const program = `
    import { appendFileSync } from 'node:fs';
    import { withLock } from ${JSON.stringify(MODULE)};
    const note = (word) => appendFileSync(${JSON.stringify(notes)}, word + ' ');
    await withLock(${JSON.stringify(lock)}, async () => {
      note('enter');
      await new Promise((resolve) => setTimeout(resolve, 100));
      note('leave');
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  await once(child, 'close');
  return said;
}

test('four processes enter one after the other, and those that wait say so', async () => {
  const said = await Promise.all([hold(), hold(), hold(), hold()]);
  expect(readFileSync(notes, 'utf8')).toBe('enter leave '.repeat(4));
  expect(said.join('')).toMatch(/waiting for another setup of this checkout \(process \d+\)/);
  expect(existsSync(lock)).toBe(false);
});

test('the lock of a dead process is taken over, by one of several', async () => {
  const dead = spawn(process.execPath, ['-e', '0']);
  await once(dead, 'close');
  writeFileSync(lock, JSON.stringify({ pid: dead.pid, host: hostname() }));
  await Promise.all([hold(), hold(), hold()]);
  expect(readFileSync(notes, 'utf8')).toBe('enter leave '.repeat(3));
});

test.each([
  ['of another host', JSON.stringify({ pid: 1, host: 'elsewhere' })],
  ['of a living process that took over the number', JSON.stringify({ pid: 1, host: hostname() })],
  ['that names nobody', ''],
])('a lock that nobody touches is taken over: one %s', async (_name, text) => {
  writeFileSync(lock, text);
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(lock, longAgo, longAgo);
  await hold();
  expect(readFileSync(notes, 'utf8')).toBe('enter leave ');
});

test('a holder that fails gives the lock back', async () => {
  const { withLock } = await import(MODULE);
  const work = () => Promise.reject(new Error('no'));
  await expect(withLock(lock, work)).rejects.toThrow('no');
  expect(existsSync(lock)).toBe(false);
});
