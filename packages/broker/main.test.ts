// Goal: a node never runs a program of another build. Method: the built main.js beside a bundle
// that only speaks, in a folder of its own, with the digest of a build that the test makes up.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const DIST = fileURLToPath(new URL('dist', import.meta.url));
const BUNDLE = 'packages/broker/dist/bundle/node.js';
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-main-'));
  for (const folder of ['packages/broker/dist/bundle', 'packages/engine/dist', 'raft/dist']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  for (const file of ['main.js', 'bundle-digest.js']) {
    copyFileSync(join(DIST, file), join(root, 'packages/broker/dist', file));
  }
});

afterEach(() => rmSync(root, { recursive: true }));

function written(file: string, text: string): void {
  writeFileSync(join(root, file), text);
}

/** A build of two workspaces, and the bundle that was made of it. */
function built(): void {
  const files = ['packages/broker', 'packages/engine', 'raft'];
  const hash = createHash('sha256');
  for (const at of files) {
    written(`${at}/dist/.tsbuildinfo`, at);
    hash.update(at);
  }
  written(BUNDLE, "console.log('runs');");
  written('packages/broker/dist/bundle/made-of', hash.digest('hex'));
}

function run(): string {
  const program = join(root, 'packages/broker/dist/main.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
  return `${status} ${stdout}${stderr}`.replace(root, '').trim();
}

const REFUSED = `1 FATAL: /${BUNDLE} is not that of the build: run npm run build`;

test('a bundle of this build runs', () => {
  built();
  expect(run()).toBe('0 runs');
});

test('and one without the files of the compiler beside it', () => {
  written(BUNDLE, "console.log('runs');");
  expect(run()).toBe('0 runs');
});

test.each(['packages/broker', 'packages/engine', 'raft'])('not one of another %s', (at) => {
  built();
  written(`${at}/dist/.tsbuildinfo`, 'built anew');
  expect(run()).toBe(REFUSED);
});

test('nor one that is not there', () => {
  expect(run()).toBe(REFUSED);
});
