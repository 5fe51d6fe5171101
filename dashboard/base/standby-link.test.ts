// Goal: the block of the standby link says what the node said, in its figures, for every role and
// state; what is wrong is an notice, and nothing else is. Method: views as `/health` has them.
import type { LinkView } from '@svc/wire';
import { expect, test } from 'vitest';
import { duration, factsOf, noteOf, noticesOf, readerRows, size } from './standby-link.js';

const STAMP_US = 1_791_467_186_467_710;
const FOLLOWER = {
  state: 'following',
  source: 's-0:7400',
  scanned: 41_233,
  sourceApplied: 41_233,
  lagEntries: 0,
  lagMs: 0,
  lastAnswerMs: 1026,
  entries: 16,
  error: null,
} as const;
const STANDBY: LinkView = {
  role: 'standby',
  id: '2a340216',
  name: '<b>east</b>',
  source: 's-0:7400,s-1:7400',
  sinceUs: STAMP_US,
  position: { index: 41_233, term: 7, nowUs: STAMP_US },
  configuredSource: ['s-0:7400', 's-1:7400'],
  follower: FOLLOWER,
};
const READER = { name: 'west', after: 18, idleMs: 597, heldBytes: 734_003_200 };
const LIMITS = { idleMs: 3_600_000, diskPct: 80, usedPct: 41.5 };
const SOURCE: LinkView = { role: 'primary', readers: [READER], holding: true, limits: LIMITS };

const follower = (more: object): LinkView => ({ ...STANDBY, follower: { ...FOLLOWER, ...more } });
const limits = (more: object, holding = true) => ({
  ...SOURCE,
  holding,
  limits: { ...LIMITS, ...more },
});

/** "label: text" of each fact. */
function told(link: LinkView | undefined, leaderId: number | null = null): string[] {
  const facts = factsOf(link, leaderId, STAMP_US / 1000 + 1026);
  return facts.map(({ label, text }) => `${label}: ${text}`);
}

test('a standby', () => {
  expect(told(STANDBY)).toEqual([
    'Role: standby, since 2026-10-08 13:46:26 UTC',
    'Name: <b>east</b>',
    'Source: s-0:7400, s-1:7400',
    'Position: entry 41233, term 7, of 2026-10-08 13:46:26 UTC',
    'State: following',
    'Reads: s-0:7400',
    'Behind: 0 entries, 0 ms',
    'Last contact: 2026-10-08 13:46:26 UTC, 1026 ms ago',
  ]);
  const error = 'http://s-0:7400: no answer within 22s';
  const waiting = told(follower({ state: 'waiting', error, lastAnswerMs: null, lagMs: 61_000 }));
  expect(waiting.slice(4)).toEqual([
    'State: waiting',
    `Reason: ${error}`,
    'Reads: s-0:7400',
    'Behind: 0 entries, 61000 ms (1 min 1 s)',
    'Last contact: none since this node leads',
  ]);
  expect(told(follower({ state: 'idle' }), 2).at(-1)).toBe(
    'State: idle here: the leader, node 2, reads the source',
  );
});

test('a promoted cluster, an ordinary one that is told of a source, and one without a link', () => {
  const { name, follower: _, ...promoted } = STANDBY;
  const more = { role: 'promoted', promotedAtUs: STAMP_US, configuredSource: ['x:1'] } as const;
  expect(told({ ...promoted, ...more })).toEqual([
    'Role: promoted, 2026-10-08 13:46:26 UTC',
    'Source: s-0:7400, s-1:7400',
    'Went on after: entry 41233, term 7, of 2026-10-08 13:46:26 UTC',
  ]);
  const idle = { ...FOLLOWER, state: 'idle' } as const;
  expect(told({ role: 'primary', configuredSource: ['x:1'], follower: idle })).toEqual([
    'Role: primary',
    'Source: x:1',
    'State: idle',
  ]);
  expect([told(undefined), readerRows(undefined, 1), noticesOf(undefined)]).toEqual([[], [], []]);
  expect(noteOf(undefined)).toMatch(
    /follows no other one, and no standby reads .*docs\/operations/,
  );
});

test('a source: who reads, what is held, and until when', () => {
  expect(readerRows(SOURCE, 20)).toEqual([
    {
      name: 'west',
      after: 18,
      behind: 2,
      heldBytes: 734_003_200,
      idleMs: 597,
      endsInMs: 3_599_403,
      isNearEnd: false,
    },
  ]);
  expect([size(734_003_200), duration(3_599_403)]).toEqual([
    '734003200 B (700 MiB)',
    '3599403 ms (59 min 59 s)',
  ]);
  expect(noteOf(SOURCE)).toMatch(
    /silent for 3600000 ms \(1 h\), or .* 80 % full.* 41\.5 % full: no/,
  );
  expect(noteOf(limits({ usedPct: 83 }, false))).toMatch(/It is 83 % full: that is over/);
  expect(noteOf(limits({ diskPct: 100 }))).not.toMatch('volume');
});

test.each([
  ['all is well', STANDBY, []],
  ['and at the source', SOURCE, []],
  ['halted', follower({ state: 'halted', error: 'why' }), ['bad The standby is halted: why']],
  ['waiting', follower({ state: 'waiting', error: 'why' }), ['wait The standby waits: why']],
  ['one entry after an idle hour', follower({ lagEntries: 1, lagMs: 3_600_000 }), []],
  [
    'far behind',
    follower({ lagEntries: 1000, lagMs: 30_000 }),
    ['wait The standby is behind by 1000 entries and 30000 ms'],
  ],
  ['silent', follower({ lastAnswerMs: 30_000 }), ['wait The source is silent for 30000 ms']],
  ['not the leader', follower({ state: 'idle', lastAnswerMs: null }), []],
  ['the disk is near', limits({ usedPct: 75 }), [expect.stringMatching(/^wait Holds end soon/)]],
  ['the disk is full', limits({ usedPct: 80 }, false), [expect.stringMatching(/^bad No hold/)]],
  ['the disk is no limit', limits({ usedPct: 99, diskPct: 100 }), []],
  [
    'a reader is silent',
    { ...SOURCE, readers: [{ ...READER, idleMs: 2_700_000 }] },
    ['wait The hold of standby west ends in 900000 ms (15 min): it is silent'],
  ],
])('notices: %s', (_name, link, expected) => {
  expect(noticesOf(link).map(({ tone, text }) => `${tone} ${text}`)).toEqual(expected);
});
