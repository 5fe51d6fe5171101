// Goal: a node never runs a program that is older than the build. Method: the built main.js beside
// a bundle that only speaks, in a folder of its own, with times that the test sets.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('dist/main.js', import.meta.url));
const BUNDLE = 'packages/broker/dist/bundle/node.js';
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-main-'));
  for (const folder of ['packages/broker/dist/bundle', 'packages/engine/dist', 'raft/dist']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  copyFileSync(MAIN, join(root, 'packages/broker/dist/main.js'));
});

afterEach(() => rmSync(root, { recursive: true }));

function written(file: string, atSeconds: number): void {
  writeFileSync(join(root, file), "console.log('runs');");
  utimesSync(join(root, file), atSeconds, atSeconds);
}

function run(): string {
  const program = join(root, 'packages/broker/dist/main.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
  return `${status} ${stdout}${stderr}`.replace(root, '').trim();
}

test('a bundle that is as new as all that it was made of runs', () => {
  written(BUNDLE, 2000);
  expect(run()).toBe('0 runs');
  for (const workspace of ['packages/broker', 'packages/engine', 'raft']) {
    written(`${workspace}/dist/.tsbuildinfo`, 2000);
  }
  expect(run()).toBe('0 runs');
});

test.each(['packages/broker', 'packages/engine', 'raft'])('not one that is older than %s', (at) => {
  written(BUNDLE, 2000);
  written(`${at}/dist/.tsbuildinfo`, 2001);
  expect(run()).toBe(`1 FATAL: /${BUNDLE} is older than the build: run npm run build`);
});

test('nor one that is not there', () => {
  expect(run()).toBe(`1 FATAL: /${BUNDLE} is older than the build: run npm run build`);
});
