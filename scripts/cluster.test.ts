// Goal: the program ends whatever keeps it from starting. Method: the built program in a process of
// its own, with a port that somebody else has and with a directory that is a file.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const PROGRAM = fileURLToPath(new URL('dist/cluster.js', import.meta.url));

let directory: string;
let taken: Server;
let child: ChildProcess | null;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-cluster-'));
  taken = createServer();
  child = null;
  await new Promise<void>((resolve) => void taken.listen(0, '127.0.0.1', resolve));
});

afterEach(() => {
  child?.kill('SIGKILL');
  taken.close();
  rmSync(directory, { recursive: true, force: true });
});

async function run(args: readonly string[]): Promise<{ code: number | null; errors: string }> {
  const running = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child = running;
  let errors = '';
  running.stderr.on('data', (text: Buffer) => {
    errors += text.toString();
  });
  const code = await new Promise<number | null>((resolve) => running.on('exit', resolve));
  return { code, errors };
}

test('a taken port: an error, and the end', async () => {
  const address = taken.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const { code, errors } = await run(['--dir', join(directory, 'data'), '--port', String(port)]);
  expect(errors).toBe(`cluster: port ${port} is in use\n`);
  expect(code).toBe(1);
});

test('a file where the directory is wanted: an error, and the end', async () => {
  const file = join(directory, 'file');
  writeFileSync(file, '');
  const { code, errors } = await run(['--dir', file]);
  expect(errors).toMatch(/^cluster: .*file.* is not a directory/);
  expect(code).toBe(1);
});
