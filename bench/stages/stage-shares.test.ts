// Goal: no time of a node is nobody's, and what the kernel says of a thread is what the stages add
// up to. Method: every source file of the product against the table; a small profile worked out by
// hand.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkoutRoot } from '../checkout.js';
import { mainThread } from './stage-shares.js';
import { RULES, ruleOf, stageOf } from './stage-table.js';

/** Folders beside the product: they run no part of a node. */
const NOT_THE_PRODUCT = ['bench', 'dashboard', 'deploy', 'docs', 'scripts', 'test'].concat([
  'data',
  'node_modules',
]);

function sourcesOf(folder: string): readonly string[] {
  return readdirSync(join(checkoutRoot(), folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      const apart = entry.name === 'dist' || entry.name.startsWith('.');
      return apart || NOT_THE_PRODUCT.includes(path) || path.includes('node_modules')
        ? []
        : sourcesOf(path);
    }
    return /\.ts$/.test(path) && path.includes('/') ? [path] : [];
  });
}

test('every file of the product has a stage, and every line of the table a file', () => {
  const sources = sourcesOf('');
  expect(sources.length).toBeGreaterThan(400);
  expect(sources.filter((path) => ruleOf(path) === undefined)).toEqual([]);
  for (const beginning of Object.keys(RULES)) {
    expect([beginning, sources.some((path) => path.startsWith(beginning))]).toEqual([
      beginning,
      true,
    ]);
  }
});

test('the same code belongs to whoever called it', () => {
  const [planner, apply] = [
    'packages/engine/dist/planner/planner.js',
    'packages/engine/dist/state/apply.js',
  ];
  expect(stageOf(['packages/engine/dist/base/append.js', planner])).toBe('plan');
  expect(stageOf(['packages/engine/dist/base/append.js', apply])).toBe('apply');
  expect(stageOf(['storage/dist/state/overlay.js', '', planner, apply])).toBe('plan');
  expect(stageOf(['http/dist/json/json-reader.js', 'http/dist/exchange/exchange.js'])).toBe(
    'parse',
  );
  expect(stageOf(['http/dist/routing/reply.js', 'packages/broker/dist/leader/leader.js'])).toBe(
    'render',
  );
  expect(stageOf(['http/dist/exchange/exchange.js', 'packages/broker/dist/leader/leader.js'])).toBe(
    'socket',
  );
  expect(stageOf(['storage/dist/log/group.js'])).toBe('log');
  expect(stageOf(['', ''])).toBe('other');
});

test('samples are scaled to what the thread ran, and the rest of it is the library', () => {
  const frame = (functionName: string, path: string) => ({
    callFrame: { functionName, url: path === '' ? '' : `file:///c/${path}`, lineNumber: 0 },
  });
  const profile = {
    startTime: 1000,
    nodes: [
      { id: 1, ...frame('(root)', ''), children: [2, 3, 4, 6] },
      { id: 2, ...frame('(idle)', '') },
      { id: 3, ...frame('(garbage collector)', '') },
      { id: 4, ...frame('turn', 'packages/engine/dist/planner/planner.js'), children: [5] },
      { id: 5, ...frame('put', 'storage/dist/state/overlay.js') },
      { id: 6, ...frame('elsewhere', 'node_modules/x/index.js') },
    ],
    // At 1,100, 1,200, ... ; the first one lies before the window, the last one behind it.
    samples: [4, 4, 5, 3, 2, 2, 6, 4],
    timeDeltas: [100, 100, 100, 100, 100, 100, 100, 100],
  };
  // Half of the time in which it was ready the thread had a processor.
  const ran = { ranUs: 250, waitedUs: 250, systemUs: 0 };
  const window = { beginUs: 1200, endUs: 1800 };
  const main = mainThread(profile, window, ran, 'file:///c/');
  expect(main.stages.plan).toBe(100);
  expect(main.stages.other).toBe(50);
  expect(main.collectorUs).toBe(50);
  expect(main.libraryUs).toBe(50);
  expect(main.idleUs).toBe(100);
});
