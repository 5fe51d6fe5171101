/**
 * Goal: a cluster that begins as a standby takes entries of its source and nothing else, on every
 * node and under every leader, and is an ordinary cluster from the moment in which its promotion is
 * answered.
 *
 * Method: two groups of whole nodes, each in its own simulated time; the test carries the entries
 * of the one to the leadership of the other.
 */
import {
  readMeta,
  type SourceEntry,
  type StandbyRoleRow,
  sourcePositionOf,
  standbyRoleOf,
} from '@svc/engine';
import type { SubmittedOutcome } from '@svc/http';
import { describe, expect, test } from 'vitest';
import { StandbyLeader } from '../leader/standby-leader.js';
import { FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { Answers, pushOf, textsOf } from '../testing/group-clients.fake.js';
import { promotedWarning } from './leadership.js';

const REFUSED = {
  kind: 'refused',
  refusal: {
    reason: 'standby',
    error:
      'this cluster is a standby: it replays its source and takes no writes until it is promoted',
  },
};
const LINK = {
  SVC_LINK_SOURCE: 'source-1:7400,source-2:7400',
  SVC_LINK_STANDBY: 'true',
};

function standbyOf(founders: number, environment: { readonly [name: string]: string } = LINK) {
  const group = new FakeGroup({ founders, seed: 7, environment });
  group.until('a standby that knows it', () => {
    return [...group.machines.values()].every(({ parts }) => roleOf(parts) !== null);
  });
  return group;
}

function roleOf(parts: FakeMachine['parts']): string | null {
  return parts === null ? null : (standbyRoleOf(parts.state)?.role ?? null);
}

function sourceWith(pushes: number): FakeGroup {
  const group = new FakeGroup({ founders: 1, seed: 3 });
  group.until('a leader', () => group.leaders.length > 0);
  for (let i = 0; i < pushes; i++) group.leader().push('q', `m${i}`);
  group.run(200);
  return group;
}

/** All entries of the source with effects. */
function entriesOf(group: FakeGroup): SourceEntry[] {
  const { log } = group.leader().parts ?? {};
  if (log === undefined) throw new Error('the source is down');
  const found: SourceEntry[] = [];
  for (let from = log.firstIndex; from <= log.lastIndex; ) {
    const entries = log.entries(from, log.lastIndex + 1, 1 << 20);
    from += entries.length;
    for (const { index, term, type, data } of entries) {
      if (type === 0 && data.length > 0) found.push({ index, term, body: data });
    }
  }
  return found;
}

function officeOf(group: FakeGroup): StandbyLeader {
  let office: StandbyLeader | null = null;
  group.leader().inProcess(({ parts }) => {
    if (parts.leadership.office instanceof StandbyLeader) office = parts.leadership.office;
  });
  if (office === null) throw new Error('no leadership of a standby');
  return office;
}

/** Carries over what is missing, some entries a step. */
function follow(source: FakeGroup, standby: FakeGroup, steps = 200): void {
  for (let step = 0; step < steps; step++) {
    const [leader] = standby.leaders;
    if (leader === undefined) {
      standby.run(50);
      continue;
    }
    const office = officeOf(standby);
    const missing = entriesOf(source).filter(({ index }) => index > office.position.index);
    if (missing.length === 0) return;
    leader.inProcess(() => {
      for (const entry of missing) {
        if (office.mirror(office.position.index, entry).kind !== 'proposed') break;
      }
    });
    standby.run(10);
  }
  throw new Error('the standby never came to the end of its source');
}

/** A source's entry that says what time it was for timers (timer-clock, kind 27). */
function timerEntry(index: number, timerUs: number): SourceEntry {
  const varint: number[] = [];
  let rest = timerUs;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) varint.push((rest % 0x80) | 0x80);
  varint.push(rest);
  const head = [2, 0, 0, 0, 0, 0, 0, 0, index, 27, 0, 0, 0, varint.length];
  return { index, term: 1, body: new Uint8Array([...head, ...varint]) };
}

function promote(group: FakeGroup, number: number): Answers<SubmittedOutcome> {
  return group.machine(number).submit({ kind: 'promote' });
}

describe('a standby', () => {
  test('begins as one on every node, with one id, and logs nothing of its own', () => {
    const group = standbyOf(3);
    const rows = [...group.machines.values()].map(
      ({ parts }) => parts && standbyRoleOf(parts.state),
    );
    expect(rows[0]).toMatchObject({
      role: 'standby',
      id: expect.stringMatching(/^[0-9a-f]{8}$/),
      source: 'source-1:7400,source-2:7400',
      sourceCluster: null,
      atUs: 0,
    });
    expect(rows).toEqual([rows[0], rows[0], rows[0]]);
    const before = group.leader().status?.lastIndex;
    group.run(60_000);
    expect(group.leader().status?.lastIndex).toBe(before);
  });

  test('refuses clients on every node at once, also while nobody leads', () => {
    const group = standbyOf(3);
    for (const machine of group.machines.values()) {
      const [push, pop] = [machine.push('q', 'm'), machine.pop('q', 10_000)];
      expect([push.one, pop.one]).toEqual([REFUSED, REFUSED]);
    }
    const leader = group.leader();
    leader.crash();
    for (const machine of group.machines.values()) {
      if (machine !== leader) expect(machine.push('q', 'm').one).toEqual(REFUSED);
    }
  });

  test('has what its source has, through changes of its leader', () => {
    const source = sourceWith(30);
    const standby = standbyOf(3);
    follow(source, standby);
    standby.leader().crash();
    for (let i = 0; i < 30; i++) source.leader().push('q', `n${i}`);
    source.run(200);
    follow(source, standby);
    standby.run(500);
    const [running] = standby.leaders;
    const queues = running?.queues();
    standby.run(100);
    expect(queues?.one).toMatchObject({ queues: [{ counts: { pending: 60 } }] });
    const { parts } = standby.leader();
    const last = entriesOf(source).at(-1);
    expect(parts && sourcePositionOf(parts.state)).toMatchObject({ index: last?.index });
    const stamp = source.leader().parts;
    expect(parts && readMeta(parts.state)).toEqual(stamp && readMeta(stamp.state));
  });

  test('keeps no entries in memory, as nobody consumes them, until it is promoted', () => {
    const source = sourceWith(20);
    const standby = standbyOf(3);
    follow(source, standby);
    standby.run(1000);
    const isKept = (group: FakeGroup) =>
      [...group.machines.values()].map(({ parts }) => {
        const index = parts?.log.lastIndex ?? 0;
        return parts?.log.recent({ index, position: 0, length: 0 }) !== undefined;
      });
    expect([isKept(source), isKept(standby)]).toEqual([[true], [false, false, false]]);
    const promoted = promote(standby, 1);
    standby.until('the promotion', () => promoted.all.length > 0);
    standby.run(1000);
    const pushed = standby.leader().push('q', 'own');
    standby.until('an answer', () => pushed.all.length > 0);
    standby.run(1000);
    expect(isKept(standby)).toEqual([true, true, true]);
  });

  test('has timers run by its own clocks, however long ago its source logged what comes', () => {
    const standby = standbyOf(3);
    const office = officeOf(standby);
    const clocks = [...standby.machines.values()].map(({ node }) => node?.parts.timerClock);
    const wallUs = 1_748_736_000_000_000 + standby.nowMs * 1000;
    for (let index = 1; index <= 8; index++) {
      const timerUs = wallUs - 3_600_000_000 + index * 60_000_000;
      standby.leader().inProcess(() => {
        office.mirror(office.position.index, timerEntry(index, timerUs));
      });
      standby.run(1000);
    }
    expect(office.appliedPosition.index).toBe(8);
    const times = () => clocks.map((clock) => clock?.nowUs({ wallUs, nowMs: standby.nowMs }) ?? 0);
    expect(Math.min(...times())).toBeGreaterThan(wallUs);
    // A source whose clock is ahead is never gone behind.
    const aheadUs = wallUs + 3_600_000_000;
    standby.leader().inProcess(() => {
      office.mirror(office.position.index, timerEntry(9, aheadUs));
    });
    standby.run(1000);
    expect(Math.min(...times())).toBeGreaterThan(aheadUs);
  });

  test('takes writes as soon as its promotion is answered, on the node that was asked', () => {
    const source = sourceWith(3);
    const standby = standbyOf(3);
    follow(source, standby);
    const follower = standby.leader().number === 1 ? 2 : 1;
    const promoted = promote(standby, follower);
    const again = new Answers<SubmittedOutcome>();
    // A client that writes at once, in the very moment of the answer.
    promoted.onAnswer = () => {
      standby.machine(follower).submit(pushOf('q', 'm2', 'm2'), again);
    };
    standby.until('an answer', () => promoted.all.length > 0);
    expect(promoted.one).toEqual({ kind: 'promoted', wasStandby: true });
    const popped = standby.machine(follower).pop('q', 1000, undefined, 10);
    standby.until('answers', () => again.all.length > 0 && popped.all.length > 0);
    expect(again.one).toMatchObject({ kind: 'pushed', status: new Uint8Array([1]) });
    const { one } = popped;
    expect(one.kind === 'delivered' && textsOf(one)).toEqual(['m0', 'm1', 'm2']);
    const repeated = promote(standby, 3);
    standby.until('an answer', () => repeated.all.length > 0);
    expect(repeated.one).toEqual({ kind: 'promoted', wasStandby: true });
  });

  test('is promoted once, whoever asks, through a change of its leader', () => {
    const source = sourceWith(3);
    const standby = standbyOf(3);
    follow(source, standby);
    const leader = standby.leader();
    const asked = [1, 2, 3].filter((number) => number !== leader.number);
    const promoted = asked.map((number) => promote(standby, number));
    standby.run(1);
    leader.crash();
    standby.until('answers', () => promoted.every(({ all }) => all.length > 0));
    for (const { one } of promoted) expect(one).toEqual({ kind: 'promoted', wasStandby: true });
    const written = asked.map((number) => standby.machine(number).push('q', `own${number}`));
    standby.until('writes', () => written.every(({ all }) => all.length > 0));
    for (const { one } of written) expect(one).toMatchObject({ kind: 'pushed' });
  });

  test('does not take another entry of its source once it is to be promoted', () => {
    const source = sourceWith(3);
    const standby = standbyOf(1);
    follow(source, standby);
    source.leader().push('q', 'late');
    source.run(100);
    const office = officeOf(standby);
    const late = entriesOf(source).at(-1) as SourceEntry;
    promote(standby, 1);
    expect(office.mirror(office.position.index, late).kind).toBe('full');
    standby.run(100);
    const { parts } = standby.leader();
    expect(roleOf(parts)).toBe('promoted');
    expect(office.mirror(office.position.index, late).kind).toBe('full');
    expect(parts && standbyRoleOf(parts.state)?.position?.index).toBe(late.index - 1);
  });

  test('takes no entry of its source while the volume of a node is full', () => {
    const source = sourceWith(3);
    const standby = standbyOf(3);
    const leader = standby.leader();
    const { disk } = standby.machine(leader.number === 1 ? 2 : 1);
    const spaceSync = disk.spaceSync.bind(disk);
    disk.spaceSync = () => ({ usedBytes: 99, freeBytes: 1 });
    standby.run(10_000);
    const office = officeOf(standby);
    const [entry] = entriesOf(source);
    const before = leader.status?.lastIndex;
    const verdict = entry && office.mirror(0, entry);
    expect(verdict).toEqual({ kind: 'waits', error: 'a volume of this standby is full' });
    expect(leader.status?.lastIndex).toBe(before);
    disk.spaceSync = spaceSync;
    standby.run(10_000);
    follow(source, standby);
  });

  test('stays promoted when its directory is opened again, whatever its variables say', () => {
    const standby = standbyOf(1);
    promote(standby, 1);
    standby.run(100);
    standby.machine(1).restart();
    standby.until('a leader', () => standby.leaders.length > 0);
    const pushed = standby.machine(1).push('q', 'm');
    standby.run(100);
    expect(pushed.one).toMatchObject({ kind: 'pushed' });
  });

  test('goes on as a standby when its directory is opened again without its variables', () => {
    const standby = standbyOf(1);
    standby.setup.environment = {};
    standby.machine(1).restart();
    standby.until('a leader', () => standby.leaders.length > 0);
    expect(standby.machine(1).push('q', 'm').one).toEqual(REFUSED);
  });
});

describe('an ordinary cluster', () => {
  test('answers a promotion with what it is', () => {
    const group = sourceWith(1);
    const answers = promote(group, 1);
    group.run(100);
    expect(answers.one).toEqual({ kind: 'promoted', wasStandby: false });
  });

  test('with entries of its own stays what it is', () => {
    const group = sourceWith(1);
    group.setup.environment = LINK;
    group.machine(1).restart();
    group.until('a leader', () => group.leaders.length > 0);
    const pushed = group.machine(1).push('q', 'm');
    group.run(100);
    expect(pushed.one).toMatchObject({ kind: 'pushed' });
  });
});

test('a promoted cluster that is told of a source says that it follows nobody', () => {
  const sourceAddresses = [{ host: 'a', port: 7400 }];
  const role = { role: 'promoted' } as StandbyRoleRow;
  expect(promotedWarning({ sourceAddresses }, role)).toBe(
    'SVC_LINK_SOURCE=a:7400 is set, and this cluster was promoted: it follows nobody',
  );
  expect(promotedWarning({ sourceAddresses: [] }, role)).toBeNull();
  expect(promotedWarning({ sourceAddresses }, { ...role, role: 'standby' })).toBeNull();
  expect(promotedWarning({ sourceAddresses }, null)).toBeNull();
});
