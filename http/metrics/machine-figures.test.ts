// Goal: no figure of the machine ends the process: at the limit of open files each gives what it
// gave last. A bug in a figure is still thrown. Method: readers that fail; and a real process that
// takes every file descriptor it may have, and then asks for all figures.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isMachineRefusal, lastingFigure } from './machine-figures.js';

function refusal(): Error {
  return Object.assign(new Error('EMFILE: too many open files'), {
    code: 'EMFILE',
    syscall: 'open',
  });
}

test('what the machine refuses gives the last value, what it never gave the first one', () => {
  let fails = true;
  let value = 7;
  const figure = lastingFigure(0, () => {
    if (fails) throw refusal();
    return value;
  });
  expect(figure()).toBe(0);
  fails = false;
  expect(figure()).toBe(7);
  value = 8;
  expect(figure()).toBe(8);
  fails = true;
  expect(figure()).toBe(8);
});

test('a bug is thrown on', () => {
  const bug = new TypeError('a bug');
  expect(() =>
    lastingFigure(0, () => {
      throw bug;
    })(),
  ).toThrow(bug);
  expect(isMachineRefusal(bug)).toBe(false);
  expect(isMachineRefusal(refusal())).toBe(true);
});

test('with every file descriptor taken, all figures are given', () => {
  const built = fileURLToPath(new URL('../dist/metrics/machine-figures.js', import.meta.url));
  const program = `
    const fs = await import('node:fs');
    const figures = await import(${JSON.stringify(built)});
    const names = ['residentBytes', 'anonymousBytes', 'virtualBytes'];
    const read = () => names.map((name) => figures[name]());
    const before = read();
    let taken = 0;
    try { for (;;) { fs.openSync('/dev/null'); taken++; } } catch (error) {
      if (error.code !== 'EMFILE') throw error;
    }
    const after = read();
    console.log(JSON.stringify({ taken, same: before.join() === after.join(), after }));
  `;
  const { stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', 'ulimit -n 128; exec "$0" --input-type=module -e "$1"', process.execPath, program],
    { encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  const { taken, same, after } = JSON.parse(stdout);
  expect(taken).toBeGreaterThan(50);
  expect(same).toBe(true);
  expect(after[0]).toBeGreaterThan(10_000_000);
});
