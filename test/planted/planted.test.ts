/**
 * Goal: the storms, the model and the simulator notice what they are there to notice. Method: every
 * bug of the table is planted in a process of its own, and the hunt that the table names must find
 * it within the seeds that the table allows; the program as it is must pass the seeds that found
 * one. `npm run planted -- --bug <name>` repeats one by hand. Runs the built program, as `npm test`
 * does after building it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { HuntName, PlantedBug } from './bug.js';
import { BUGS } from './bugs.js';
import { compiledPath, ROOT } from './compiled.js';
import type { HuntAnswer } from './hunt-task.js';
import { huntAll, seedsFrom } from './hunting.js';
import { patched } from './planted-text.js';
import { HEADING, rowOf } from './report.js';

/** The other workers of vitest have the other cores. */
const AT_A_TIME = 1;
const TEST_MS_MAX = 1_500_000;

/** The seeds that found a bug, by hunt. */
const finding = new Map<HuntName, Set<number>>();

test('every text of the table stands in the program once', () => {
  const compiled = new Map<string, string>();
  const faults: string[] = [];
  for (const { name, edits } of BUGS) {
    for (const edit of edits) {
      const source =
        compiled.get(edit.file) ?? readFileSync(join(ROOT, compiledPath(edit.file)), 'utf8');
      compiled.set(edit.file, source);
      try {
        patched(source, edit);
      } catch (error) {
        faults.push(`${name}: ${error instanceof Error ? error.message : error}`);
      }
    }
  }
  expect(faults).toEqual([]);
});

test('every planted bug is found within its seeds', { timeout: TEST_MS_MAX }, async () => {
  const tasks = BUGS.map((bug) => {
    return { hunt: bug.hunt, seeds: seedsFrom(bug.first ?? 1, bug.seeds), all: false, bug };
  });
  const rows: { readonly bug: PlantedBug; readonly answer: HuntAnswer }[] = [];
  await huntAll(tasks, AT_A_TIME, ({ bug }, answer) => rows.push({ bug, answer }));
  for (const { bug, answer } of rows) {
    const seeds = finding.get(bug.hunt) ?? new Set();
    finding.set(bug.hunt, new Set([...seeds, ...answer.found]));
  }
  console.log([HEADING, ...rows.map(({ bug, answer }) => rowOf(bug, answer))].join('\n'));
  const missed = rows.filter(({ answer }) => answer.needed === null);
  expect(missed.map(({ bug, answer }) => `${bug.name} ${answer.text}`)).toEqual([]);
});

test('the program as it is passes the seeds that found them', {
  timeout: TEST_MS_MAX,
}, async () => {
  expect([...finding.keys()].sort()).toEqual([...new Set(BUGS.map((bug) => bug.hunt))].sort());
  const tasks = [...finding].map(([hunt, seeds]) => {
    return { hunt, seeds: [...seeds], all: false, bug: null };
  });
  const answers = await huntAll(tasks, AT_A_TIME, () => undefined);
  expect(answers.map(({ found, text }) => ({ found, text }))).toEqual(
    answers.map(() => ({ found: [], text: '' })),
  );
});

test('a text that is not there, or there twice, plants nothing', () => {
  const edit = { file: 'some.ts', find: 'if (a)\n  b();', replace: 'c();' };
  expect(patched('{\n  if (a)\n    b();\n}', edit)).toBe('{\n  c();\n}');
  expect(() => patched('{ if (a) c(); }', edit)).toThrow('occurs 0 times');
  expect(() => patched('if (a)\n b();\nif (a)\n b();', edit)).toThrow('occurs 2 times');
});

test('the table has no bug twice, and none without an edit', () => {
  expect(new Set(BUGS.map(({ name }) => name)).size).toBe(BUGS.length);
  expect(BUGS.filter(({ edits }) => edits.length === 0)).toEqual([]);
});
