// Goal: a verdict says what is missed, and calls a time that is the machine's noisy, not missed.

import { describe, expect, test } from 'vitest';
import { judge, type Measured } from './judgement.js';
import { renderMeasured, renderPair } from './table.js';

const CALM = { ms: 20, quietMs: 15 };
const MIB = 2 ** 20;

function measured(changes: Partial<Measured> = {}): Measured {
  return {
    scenario: 'attack',
    against: 'node',
    kind: 'names',
    date: '2026-01-01T00:00:00.000Z',
    build: 'build',
    seconds: 5,
    honest: honest(),
    healthKept: CALM,
    healthFresh: CALM,
    idleBytes: 100 * MIB,
    filledBytes: 110 * MIB,
    peakBytes: 200 * MIB,
    termBefore: 3,
    termAfter: 3,
    leaderStays: true,
    ended: 0,
    ownLatenessMs: 1,
    processorShare: 0.95,
    outcomes: [],
    checks: [],
    failure: null,
    ...changes,
  };
}

function honest(changes: Partial<Measured['honest']> = {}): Measured['honest'] {
  const timings = { count: 100, p99: CALM, max: CALM };
  return {
    pushes: timings,
    polls: timings,
    leftOut: 0,
    errors: 0,
    errorTexts: [],
    undelivered: 0,
    ...changes,
  };
}

describe('judge', () => {
  test('what is within all bounds is met', () => {
    expect(judge(measured())).toEqual({ word: 'met', missed: [] });
  });

  test.each<readonly [string, Partial<Measured>, string]>([
    ['memory', { peakBytes: 700 * MIB }, 'memory +600 MiB'],
    ['a process that ended', { ended: 1 }, '1 ended'],
    ['a new term', { termAfter: 4, leaderStays: false }, 'term 3 to 4'],
    ['another leader of the same term', { leaderStays: false }, 'term 3 to 3'],
    [
      'an error',
      { honest: honest({ errors: 2, errorTexts: ['2 x push: 503'] }) },
      '2 errors (2 x push: 503)',
    ],
    ['a lost message', { honest: honest({ undelivered: 1 }) }, '1 not delivered'],
    ['a check', { checks: [{ what: 'bulk', held: false, seen: '503' }] }, 'bulk: 503'],
    ['an attack that broke off', { failure: 'gone' }, 'attack failed: gone'],
    ['health', { healthFresh: { ms: 300, quietMs: 280 } }, 'health 300 (280) ms'],
  ])('%s is missed', (_what, changes, text) => {
    expect(judge(measured(changes))).toEqual({ word: 'MISSED', missed: [text] });
  });

  test('a time that the machine may have taken is noisy', () => {
    const healthKept = { ms: 900, quietMs: 100 };
    expect(judge(measured({ healthKept })).word).toBe('noisy');
  });

  test('on a machine that is not quiet only a multiple of a bound counts', () => {
    const late = (quietMs: number) =>
      judge(measured({ healthKept: { ms: 5000, quietMs }, processorShare: 0.4 })).word;
    expect(late(900)).toBe('noisy');
    expect(late(1100)).toBe('MISSED');
  });

  test('a new term counts where the leader had a processor', () => {
    expect(judge(measured({ termAfter: 4, processorShare: 0.3 })).word).toBe('noisy');
  });

  test('counts are missed on any machine', () => {
    expect(judge(measured({ ended: 1, processorShare: 0.1 })).word).toBe('MISSED');
  });
});

describe('tables', () => {
  test('two results of one attack share a row, and what is missing has dashes', () => {
    const before = [measured({ termAfter: 5 }), measured({ scenario: 'old' })];
    const after = [measured(), measured({ scenario: 'attack', against: 'cluster' })];
    const lines = renderPair(before, after).split('\n').slice(2);
    expect(lines.map((line) => line.split(/ +/)[0])).toEqual(['attack', 'old', 'attack@cluster']);
    expect(lines[0]).toMatch(/\+2 +\+0 +0 +0 +MISSED +met$/);
    expect(lines[1]).toMatch(/met +-$/);
  });

  test('a time stands with what is left without the share of the machine', () => {
    expect(renderMeasured([measured()])).toContain('20 (15)');
  });
});
