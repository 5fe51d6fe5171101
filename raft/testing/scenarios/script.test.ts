/**
 * Goal: a script that no longer fits the core is red and says where, and rewriting changes nothing
 * but expected output. Method: small scripts, some of them wrong.
 */
import { describe, expect, it } from 'vitest';
import { play } from './commands.js';
import { differences } from './comparison.js';
import { openingComment, rewritten, stepsOf } from './script.js';
import { ScriptError } from './words.js';

const SCRIPT = [
  '# A rule.',
  '# And its reason.',
  '',
  'nodes 1',
  '# Alone.',
  'elect 1',
  '    1: leads term 1, commit 1',
  '',
].join('\n');

function verdict(script: string): string {
  const steps = stepsOf(script);
  return differences('rule.txt', steps, play(steps));
}

describe('scripts', () => {
  it('are commands with the lines below them', () => {
    expect(stepsOf(SCRIPT)).toEqual([
      { line: 4, command: 'nodes 1', expected: [] },
      { line: 6, command: 'elect 1', expected: ['1: leads term 1, commit 1'] },
    ]);
    expect(openingComment(SCRIPT)).toBe('# A rule.\n# And its reason.');
  });

  it('are silent when everything is as expected', () => {
    expect(verdict(SCRIPT)).toBe('');
  });

  it('name file, line and difference when something else is printed', () => {
    const text = verdict(SCRIPT.replace('commit 1', 'commit 2'));
    expect(text).toContain('rule.txt:6: elect 1');
    expect(text).toContain('- 1: leads term 1, commit 2');
    expect(text).toContain('+ 1: leads term 1, commit 1');
  });

  it('notice output that is missing or too much', () => {
    expect(verdict(`${SCRIPT}state 1\n`)).toContain('+ 1: leader, may plan');
    expect(verdict(SCRIPT.replace('elect 1\n', 'elect 1\n    1: more\n'))).toContain('- 1: more');
  });

  it('are rewritten in their expected output only', () => {
    const wrong = SCRIPT.replace('    1: leads term 1, commit 1\n', '    nonsense\n    more\n');
    expect(rewritten(wrong, play(stepsOf(wrong)))).toBe(SCRIPT);
    expect(rewritten(SCRIPT, play(stepsOf(SCRIPT)))).toBe(SCRIPT);
  });

  it('stop at what they misspell, with the line', () => {
    expect(() => play(stepsOf('nodes 1\ncampain 1'))).toThrow(
      /line 2: campain 1: there is no such/,
    );
    expect(() => play(stepsOf('nodes 1\nstate 2'))).toThrow('there is no node 2');
    expect(() => play(stepsOf('nodes 1\nelect 1 now'))).toThrow('"now" is not understood here');
    expect(() => play(stepsOf('nodes 1 electionTimeout=3'))).toThrow('is no setting');
    expect(() => stepsOf('    output first')).toThrow(ScriptError);
  });

  it('print a broken promise as such', () => {
    const script = 'nodes 1 voters 1\nnodes 2 voters 2\nelect 1\nelect 2';
    const printed = play(stepsOf(script)).flat();
    expect(printed.some((line) => line.startsWith('BROKEN PROMISE: nodes 1 and 2'))).toBe(true);
  });
});
