// Goal: every node of a group serves standbys from its own log, entry for entry, and keeps that log
// for them as long as it should: whoever leads, over restarts, until they are silent or the volume
// is full (standby-link 8, 9). Method: whole nodes over disks and a network in memory, whose logs
// are given up by small steps.
import type { ReadRequest } from '@svc/standby';
import { expect, test } from 'vitest';
import { NORMAL } from '../consensus/consensus-storage.js';
import { FakeSink } from '../testing/answer-sink.fake.js';
import { FakeGroup, type FakeMachine } from '../testing/group.fake.js';

const HOLD_S = 60;
const SHORT_LOG = {
  SVC_RAFT_SEGMENT_BYTES: '4096',
  SVC_RAFT_LOG_KEEP: '1',
  SVC_RAFT_DURABLE_EVERY_MS: '20',
  SVC_RAFT_DISK_HIGH_PCT: '90',
  SVC_LINK_TOKEN: 'a token',
  SVC_LINK_HOLD_S: `${HOLD_S}`,
};

/** Pushed to the leader, and acknowledged. */
function acknowledged(group: FakeGroup, ...ids: readonly string[]): void {
  for (const id of ids) {
    const answers = group.leader().push('q', id);
    group.until(`message ${id}`, () => answers.all.length > 0);
    expect(answers.one).toMatchObject({ kind: 'pushed' });
  }
}

function newGroup(more: Readonly<Record<string, string>> = {}): FakeGroup {
  return new FakeGroup({ founders: 3, purgeStep: 1, environment: { ...SHORT_LOG, ...more } });
}

function partsOf(machine: FakeMachine) {
  const { node } = machine;
  if (node === null) throw new Error(`node ${machine.number} is down`);
  const { sourceReads, holds } = node.parts;
  if (sourceReads === null || holds === null) throw new Error('nobody may follow this cluster');
  return { ...node.parts, sourceReads, holds, clusterId: node.clusterId };
}

function read(machine: FakeMachine, after: number, more: Partial<ReadRequest> = {}): FakeSink {
  const { sourceReads } = partsOf(machine);
  const afterTerm = after === 0 ? 0 : (machine.parts?.log.term(after) ?? 0);
  const fields = { maxBytes: 64 * 1024 * 1024, waitMs: 0, reader: 'east', holdOnly: false };
  const sink = new FakeSink(after);
  const request = { after, afterTerm, holdAfter: after, ...fields, ...more };
  expect(typeof sourceReads.read(request, sink)).toBe('object');
  return sink;
}

function machinesOf(group: FakeGroup): FakeMachine[] {
  return [...group.machines.values()];
}

function firstIndex(machine: FakeMachine): number {
  return machine.parts?.log.firstIndex ?? 0;
}

function names(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}

/** All of it dead: nothing but holds keeps the log. */
function writeAndDelete(group: FakeGroup, prefix: string): void {
  acknowledged(group, ...names(60, prefix));
  const gone = group.leader().deleteQueue('q');
  group.until('the deletion', () => gone.all.length > 0);
  acknowledged(group, `${prefix} after`);
}

test('every node sends what its log holds, and the same as the others', () => {
  const group = newGroup();
  acknowledged(group, ...names(40, 'm'));
  group.leader().crash();
  acknowledged(group, ...names(40, 'n'));
  for (const machine of machinesOf(group)) if (machine.node === null) machine.start();
  group.converge();
  const answers = machinesOf(group).map((machine) => read(machine, 0));
  const middles = machinesOf(group).map((machine) => read(machine, 20, { reader: 'west' }));
  group.run(500);
  for (const [i, machine] of machinesOf(group).entries()) {
    const { appliedIndex, clusterId } = partsOf(machine);
    const stored = machine.parts?.log;
    const expected = Array.from({ length: appliedIndex() }, (_, at) => at + 1).flatMap((index) => {
      const [entry] = stored?.entries(index, index + 1, 0) ?? [];
      const isSent = entry !== undefined && entry.type === NORMAL && entry.data.length > 0;
      return isSent ? [{ index, term: entry.term, body: entry.data }] : [];
    });
    expect(expected.length).toBeGreaterThanOrEqual(80);
    const [answer, middle] = [answers[i], middles[i]];
    expect(answer).toMatchObject({ state: 'ended', clusterId, upto: appliedIndex() });
    expect(answer?.entries).toEqual(expected);
    expect(middle?.entries).toEqual(expected.filter(({ index }) => index > 20));
  }
});

test('a read that waits is answered by what is applied next, on a follower too', () => {
  const group = newGroup();
  acknowledged(group, 'a');
  group.converge();
  const waits = machinesOf(group).map((machine) =>
    read(machine, partsOf(machine).appliedIndex(), { waitMs: 30_000 }),
  );
  group.run(100);
  expect(waits.map(({ kind }) => kind)).toEqual(['', '', '']);
  acknowledged(group, 'b');
  group.converge();
  group.run(10);
  for (const wait of waits) expect([wait.state, wait.entries.length > 0]).toEqual(['ended', true]);
});

test('the log stays for a standby on each node that it called, until it is silent', () => {
  const group = newGroup();
  acknowledged(group, ...names(10, 'a'));
  group.converge();
  const held = 8;
  const called = machinesOf(group).slice(0, 2);
  const [one, two] = called as [FakeMachine, FakeMachine];
  for (const machine of called) read(machine, held, { holdOnly: true });
  writeAndDelete(group, 'b');
  group.run(5000);
  for (const machine of called) expect(firstIndex(machine)).toBeLessThanOrEqual(held);
  // Over restarts, and whoever leads.
  for (const machine of called) {
    group.run(1000);
    machine.restart(machine === one ? 'process' : 'power');
    group.converge();
  }
  writeAndDelete(group, 'c');
  group.run(5000);
  for (const machine of called) {
    expect(firstIndex(machine)).toBeLessThanOrEqual(held);
    expect(partsOf(machine).holds.readers()).toMatchObject([{ name: 'east', after: held }]);
  }
  // From where it is the log can be read.
  const sink = read(one, held);
  group.run(500);
  expect([sink.state, sink.upto]).toEqual(['ended', partsOf(one).appliedIndex()]);
  group.run((HOLD_S + 5) * 1000);
  acknowledged(group, 'd');
  group.until('log space', () => machinesOf(group).every((each) => firstIndex(each) > held + 20));
  expect(partsOf(two).holds.readers()).toEqual([]);
  const late = read(two, held);
  expect([late.kind, late.state]).toEqual(['purged', 'ended']);
});

test('a node whose volume is too full keeps its log for no standby, the others go on', () => {
  const group = newGroup({ SVC_LINK_HOLD_DISK_PCT: '70' });
  acknowledged(group, ...names(10, 'a'));
  group.converge();
  const follower = machinesOf(group).find((machine) => !machine.leads) as FakeMachine;
  for (const machine of machinesOf(group)) read(machine, 5, { holdOnly: true });
  follower.disk.spaceSync = () => ({ usedBytes: 75, freeBytes: 25 });
  group.run(1000);
  expect(partsOf(follower).status.linkView()).toMatchObject({ role: 'primary', holding: false });
  writeAndDelete(group, 'b');
  group.run(5000);
  for (const machine of machinesOf(group)) {
    if (machine !== follower) expect(firstIndex(machine)).toBeLessThanOrEqual(5);
  }
});

test('without a token nothing of it is there', () => {
  const group = newGroup({ SVC_LINK_TOKEN: '' });
  acknowledged(group, 'a');
  for (const machine of machinesOf(group)) {
    const { holds, sourceReads, status } = machine.node?.parts ?? {};
    expect([holds, sourceReads, status?.linkView()]).toEqual([null, null, null]);
    expect(status?.health().raft).not.toHaveProperty('link');
    expect(machine.disk.paths().filter((path) => path.includes('link'))).toEqual([]);
  }
});
