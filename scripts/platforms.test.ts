// Goal: `npm run platforms` takes the options that it names, makes a root only where one is needed,
// and says what is missing before it does anything. Method: the functions, with systems of every
// kind.
import { describe, expect, test } from 'vitest';
import { parsePlatformsOptions } from './platforms/options.js';
import { needsRoot, whatIsMissing } from './platforms/requirements.js';

describe('options', () => {
  test('none: both versions, every test', () => {
    expect(parsePlatformsOptions([])).toMatchObject({
      majors: [22, 24],
      minutes: 120,
      filters: [],
    });
  });

  test('all of them', () => {
    const args = '--node 24 --minutes 5 --suite sid --mirror http://m http test/a'.split(' ');
    expect(parsePlatformsOptions(args)).toEqual({
      majors: [24],
      minutes: 5,
      suite: 'sid',
      mirror: 'http://m',
      filters: ['http', 'test/a'],
      help: false,
    });
  });

  test.each([
    [['--node', '23'], '--node takes 22, 24 or 22,24'],
    [['--node'], '--node needs a value'],
    [['--minutes', '0'], '--minutes takes a number from 1 to 1440'],
    [['--minutes', 'x'], '--minutes takes a number from 1 to 1440'],
    [['--nodes', '24'], 'there is no option --nodes'],
  ])('%j: %s', (args, text) => {
    expect(parsePlatformsOptions(args)).toBe(text);
  });
});

describe('requirements', () => {
  test.each([
    [22, '2.31', false],
    [24, '2.36', true],
    [24, '2.38', false],
    [24, '2.41', false],
    [24, '3.0', false],
    [24, '0.0', true],
  ])('Node %i on glibc %s needs a root: %s', (major, glibc, needed) => {
    expect(needsRoot(major, glibc)).toBe(needed);
  });

  const everything = (): boolean => true;
  const onlyTools = (program: string): boolean => program === 'git' || program === 'tar';

  test('nothing is missing where all of it is there, or no root is needed', () => {
    expect(whatIsMissing([22, 24], '2.36', everything, 0)).toEqual([]);
    expect(whatIsMissing([22], '2.36', onlyTools, 1000)).toEqual([]);
    expect(whatIsMissing([22, 24], '2.41', onlyTools, 1000)).toEqual([]);
  });

  test('each missing thing is named, with its reason', () => {
    const lines = whatIsMissing([24], '2.36', onlyTools, 1000);
    expect(lines.map((line) => line.split(' ', 2).join(' '))).toEqual([
      'debootstrap is',
      'unshare is',
      'chroot is',
      'mount is',
      'only root',
    ]);
    for (const line of lines) expect(line).toContain('glibc 2.38');
  });
});
