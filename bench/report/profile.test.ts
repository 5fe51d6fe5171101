// Goal: self times add up by function, and by the file that a function came from. Method: a small
// profile worked out by hand.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { type CpuProfile, folderTimes, selfTimes, unbundled } from './profile.js';

const frame = (functionName: string, url: string, lineNumber: number) => ({
  callFrame: { functionName, url, lineNumber },
});

test('samples add up by function and by folder, over all places it was called from', () => {
  const profile: CpuProfile = {
    nodes: [
      { id: 1, ...frame('(idle)', '', -1) },
      { id: 2, ...frame('push', 'file:///a/dist/push.js', 9) },
      { id: 3, ...frame('push', 'file:///a/dist/push.js', 9) },
      { id: 4, ...frame('', 'file:///a/dist/log.js', 0) },
    ],
    samples: [1, 2, 3, 4, 2],
    timeDeltas: [1000, 2000, 3000, -5, 4000],
  };
  expect(folderTimes(profile, 'file:///')).toEqual([
    { place: 'a', selfMs: 9, share: 0.9 },
    { place: '(idle)', selfMs: 1, share: 0.1 },
  ]);
  expect(selfTimes(profile)).toEqual([
    { place: 'push push.js:10', selfMs: 9, share: 0.9 },
    { place: '(idle)', selfMs: 1, share: 0.1 },
    { place: '(anonymous) log.js:1', selfMs: 0, share: 0 },
  ]);
});

test('a function of the bundle is shown as of its file', () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-bundle-'));
  try {
    mkdirSync(join(root, 'dist/bundle'), { recursive: true });
    const bundle = join(root, 'dist/bundle/node.js');
    const parts = ['// raft/dist/log.js', 'a();', 'b();', '// http/dist/exchange/uws.js', 'c();'];
    writeFileSync(bundle, ['import "node:fs";', ...parts].join('\n'));
    const { href } = pathToFileURL(bundle);
    const nodes = [0, 2, 3, 5].map((line, id) => ({ id, ...frame('f', href, line) }));
    const samples = [0, 1, 2, 3];
    const profile = unbundled({ nodes, samples, timeDeltas: [4000, 3000, 2000, 1000] }, 'file:///');
    expect(selfTimes(profile).map(({ place }) => place)).toEqual([
      'f node.js:1',
      'f log.js:1',
      'f log.js:2',
      'f uws.js:1',
    ]);
    expect(folderTimes(profile, 'file:///').map(({ place }) => place)).toContain('http/exchange');
  } finally {
    rmSync(root, { recursive: true });
  }
});
