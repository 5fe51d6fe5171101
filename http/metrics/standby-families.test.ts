// Goal: a node tells the families of its part in a link, and none of the others (standby-link 6).
// Method: the rows of the table over views of each role, written as a scrape writes them.
import { type LinkView, newMeters } from '@svc/wire';
import { expect, test } from 'vitest';
import { FakeService } from '../testing/service.fake.js';
import { Exposition } from './exposition.js';
import { STANDBY_FAMILIES } from './standby-families.js';

function told(link: LinkView | null): string[] {
  const service = new FakeService();
  service.linkView = link;
  const figures = service.figures();
  const out = new Exposition();
  for (const family of STANDBY_FAMILIES) {
    if (family.isShown?.(figures) === false) continue;
    out.family(family.name, family.type, family.help);
    for (const _ of family.samples(out, { meters: newMeters(), figures }));
  }
  const lines = out.finish().toString().split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('# HELP'));
}

const role = (name: string) => [
  '# TYPE svc_link_role gauge',
  ...['primary', 'standby', 'promoted'].map(
    (each) => `svc_link_role{role="${each}"} ${Number(each === name)}`,
  ),
];

const FOLLOWER = {
  state: 'waiting',
  source: 's-0:7400',
  scanned: 18,
  sourceApplied: 21,
  lagEntries: 3,
  lagMs: 1234,
  lastAnswerMs: 26,
  entries: 16,
  error: 'x',
} as const;

test('a node without a link tells nothing', () => {
  expect(told(null)).toEqual([]);
});

test('a standby tells how it follows', () => {
  const position = { index: 18, term: 1, nowUs: 7 };
  expect(told({ role: 'standby', position, follower: FOLLOWER })).toEqual([
    ...role('standby'),
    '# TYPE svc_link_position_index gauge',
    'svc_link_position_index 18',
    '# TYPE svc_link_follower_state gauge',
    'svc_link_follower_state{state="idle"} 0',
    'svc_link_follower_state{state="following"} 0',
    'svc_link_follower_state{state="waiting"} 1',
    'svc_link_follower_state{state="halted"} 0',
    '# TYPE svc_link_lag_entries gauge',
    'svc_link_lag_entries 3',
    '# TYPE svc_link_lag_seconds gauge',
    'svc_link_lag_seconds 1.234',
    '# TYPE svc_link_last_answer_seconds gauge',
    'svc_link_last_answer_seconds 0.026',
    '# TYPE svc_link_entries_total counter',
    'svc_link_entries_total 16',
  ]);
  const unheard = { ...FOLLOWER, lastAnswerMs: null };
  expect(told({ role: 'standby', position, follower: unheard })).not.toContainEqual(
    expect.stringMatching(/^svc_link_last_answer_seconds /),
  );
});

test('a promoted cluster tells where it went on, and a primary no more than its role', () => {
  const position = { index: 41, term: 1, nowUs: 7 };
  expect(told({ role: 'promoted', position })).toEqual([
    ...role('promoted'),
    '# TYPE svc_link_position_index gauge',
    'svc_link_position_index 41',
  ]);
  expect(told({ role: 'primary', follower: FOLLOWER })).toEqual(role('primary'));
});

test('a source tells who reads it, and how far they are', () => {
  const { appliedIndex } = new FakeService().raftStatus();
  const readers = [
    { name: 'a "b"', after: 0, idleMs: 1500, heldBytes: 9 },
    { name: 'c', after: (appliedIndex ?? 0) + 9, idleMs: 0, heldBytes: 9 },
  ];
  expect(told({ role: 'primary', readers, holding: false })).toEqual([
    ...role('primary'),
    '# TYPE svc_link_readers gauge',
    'svc_link_readers 2',
    '# TYPE svc_link_reader_behind_entries gauge',
    `svc_link_reader_behind_entries{reader="a \\"b\\""} ${appliedIndex}`,
    'svc_link_reader_behind_entries{reader="c"} 0',
    '# TYPE svc_link_reader_idle_seconds gauge',
    'svc_link_reader_idle_seconds{reader="a \\"b\\""} 1.5',
    'svc_link_reader_idle_seconds{reader="c"} 0',
    '# TYPE svc_link_holding gauge',
    'svc_link_holding 0',
  ]);
});
