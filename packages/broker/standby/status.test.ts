// Goal: each role shows what the contract's examples show, member by member and in their order
// (standby-link 5), and a node without a part in a link shows nothing. Method: rows in a plain
// state, a follower and holds that say what they are told.
import { type Key, MapState, type StandbyRoleRow, TABLES, type Table } from '@svc/engine';
import { expect, test } from 'vitest';
import { type LinkSources, linkViewOf } from './status.js';

function tableOf<Row>(name: string): Table<Row> {
  return TABLES.find((table) => table.name === name) as unknown as Table<Row>;
}

const POSITION = { index: 18, term: 1, stampUs: 1_791_467_212_792_429 };
const ROW: StandbyRoleRow = {
  role: 'standby',
  id: '2a340216',
  source: 's-0:7400,s-1:7400',
  sourceCluster: null,
  atUs: 0,
  wallUs: 1_791_467_186_467_710,
  position: null,
};
const FOLLOWER = {
  state: 'following',
  source: 's-0:7400',
  scanned: 18,
  sourceApplied: 18,
  lagEntries: 0,
  lagMs: 0,
  lastAnswerMs: 1026,
  entries: 16,
  error: null,
} as const;
const CONFIGURED = [
  { host: 's-0', port: 7400 },
  { host: '::1', port: 7401 },
];

function sources(row: StandbyRoleRow | null, more: Partial<LinkSources> = {}): LinkSources {
  const state = new MapState();
  if (row !== null) {
    const key = '' as Key;
    state.put(tableOf<StandbyRoleRow>('standbyRoles'), key, row);
    state.put(tableOf<typeof POSITION>('sourcePositions'), key, POSITION);
  }
  const config = { sourceAddresses: [], standbyName: null };
  return { config, state, follower: null, holds: null, ...more };
}

const following = {
  config: { sourceAddresses: CONFIGURED, standbyName: null },
  follower: { view: () => FOLLOWER },
};

const READER = { after: 18, idleMs: 597, heldBytes: 4096 };
const LIMITS = { idleMs: 3_600_000, diskPct: 80, usedPct: 41.5 };

function holdsOf(names: readonly string[], holding = true): LinkSources['holds'] {
  return { holding, limits: LIMITS, readers: () => names.map((name) => ({ name, ...READER })) };
}

test('a node without a part in a link has nothing to say', () => {
  expect(linkViewOf(sources(null))).toBeNull();
  expect(linkViewOf(sources(null, { holds: holdsOf([]) }))).toBeNull();
});

test('a standby', () => {
  expect(JSON.stringify(linkViewOf(sources(ROW, following)))).toBe(
    JSON.stringify({
      role: 'standby',
      id: '2a340216',
      name: 'standby-2a340216',
      source: 's-0:7400,s-1:7400',
      sinceUs: 1_791_467_186_467_710,
      position: { index: 18, term: 1, nowUs: 1_791_467_212_792_429 },
      configuredSource: ['s-0:7400', '[::1]:7401'],
      follower: FOLLOWER,
    }),
  );
  const named = { ...following, config: { ...following.config, standbyName: 'east' } };
  expect(linkViewOf(sources(ROW, named))).toMatchObject({ name: 'east' });
});

test('a promoted cluster shows what it has of its source, and follows no more', () => {
  const position = { index: 412, term: 3, stampUs: 5 };
  const row: StandbyRoleRow = { ...ROW, role: 'promoted', position };
  expect(linkViewOf(sources(row, following))).toEqual({
    role: 'promoted',
    id: '2a340216',
    source: 's-0:7400,s-1:7400',
    promotedAtUs: 1_791_467_186_467_710,
    position: { index: 412, term: 3, nowUs: 5 },
    configuredSource: ['s-0:7400', '[::1]:7401'],
  });
});

test('an ordinary cluster whose variables name a source shows a follower that rests', () => {
  expect(linkViewOf(sources(null, following))).toEqual({
    role: 'primary',
    configuredSource: ['s-0:7400', '[::1]:7401'],
    follower: FOLLOWER,
  });
});

test('a source shows its readers, whatever it is itself', () => {
  const readers = [{ name: 'standby-2a340216', ...READER }];
  const view = linkViewOf(sources(null, { holds: holdsOf(['standby-2a340216']) }));
  expect(view).toEqual({ role: 'primary', readers, holding: true, limits: LIMITS });
  const full = { ...following, holds: holdsOf(['standby-2a340216'], false) };
  expect(linkViewOf(sources(ROW, full))).toMatchObject({
    role: 'standby',
    follower: FOLLOWER,
    readers,
    holding: false,
  });
});
