/**
 * Goal: the cluster's version rises by one entry once every member, learners too, reads the newer
 * one, never before and never back, and a build that reads less refuses the directory afterwards.
 * Method: whole nodes over simulated disks, whose builds are said to read one version or another.
 */
import { CatalogueFault, clusterVersionOf, type State } from '@svc/engine';
import { describe, expect, test } from 'vitest';
import { FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { ClusterVersion } from './cluster-version.js';

function versionOf(machine: FakeMachine): number | null {
  return machine.parts === null ? null : clusterVersionOf(machine.parts.state);
}

function versions(group: FakeGroup): (number | null)[] {
  return [...group.machines.values()].map(versionOf);
}

/** Stops it in order and starts another build on its directory. */
async function upgrade(machine: FakeMachine, readVersion: number): Promise<void> {
  await machine.stop();
  machine.readVersion = readVersion;
  machine.start();
}

describe('the version of a group', () => {
  test('rises when the last node has the newer build, and older builds are refused', async () => {
    const group = new FakeGroup({ founders: 3 });
    group.leader();
    group.run(5000);
    expect(versions(group)).toEqual([5, 5, 5]);
    for (const number of [1, 2, 3]) {
      expect(versions(group)).toEqual([5, 5, 5]);
      await upgrade(group.machine(number), 6);
      group.leader();
      if (number < 3) group.run(5000);
    }
    group.until('version 6 everywhere', () => versions(group).every((one) => one === 6), 3000);
    group.converge();
    const machine = group.machine(2);
    await machine.stop();
    machine.readVersion = 5;
    expect(() => machine.start()).toThrow(CatalogueFault);
    expect(() => machine.start()).toThrow(
      'this build reads effect catalogue version 5, and the cluster this store belongs to writes ' +
        'version 6: run a build that reads version 6 or a newer one, never an older one',
    );
  });

  test('waits for a member that is down, and for a learner', () => {
    const group = new FakeGroup({ founders: 3 });
    for (const machine of group.machines.values()) {
      machine.crash('process');
      machine.readVersion = 6;
    }
    for (const number of [1, 2]) group.machine(number).start();
    group.leader();
    group.run(10_000);
    expect(versions(group)).toEqual([5, 5, null]);
    group.machine(3).readVersion = 5;
    group.machine(3).start();
    group.run(10_000);
    expect(versions(group)).toEqual([5, 5, 5]);
    group.machine(3).crash('process');
    group.machine(3).readVersion = 7;
    group.machine(3).start();
    group.until('version 6 everywhere', () => versions(group).every((one) => one === 6));
  });

  test('of one node rises by itself, and stays where it is when it may not', () => {
    for (const [everyMs, expected] of [
      ['1000', 6],
      ['0', 5],
    ] as const) {
      const environment = { SVC_RAFT_CLUSTER_VERSION_MS: everyMs };
      const group = new FakeGroup({ founders: 1, environment });
      const machine = group.machine(1);
      machine.crash('process');
      machine.readVersion = 6;
      machine.start();
      group.leader();
      group.run(2500);
      expect([everyMs, versionOf(machine)]).toEqual([everyMs, expected]);
    }
  });

  test('that was raised in an entry which a node has not applied yet stops that node', () => {
    const group = new FakeGroup({ founders: 3 });
    const left = group.machine(3);
    left.crash('process');
    for (const number of [1, 2]) {
      const machine = group.machine(number);
      machine.crash('process');
      machine.readVersion = 6;
      machine.start();
    }
    group.leader().inProcess((node) => node.leader?.raiseVersion(6));
    group.run(500);
    expect(() => {
      left.start();
      group.run(5000);
    }).toThrow('this build reads effect catalogue version 5');
  });
});

test('a version is raised by who leads, to what all read, and by nobody else', () => {
  const raised: number[] = [];
  let leads = false;
  let readByAll: number | null = 6;
  const works: (() => void)[] = [];
  const keeper = new ClusterVersion({
    clock: {
      every: (_: number, work: () => void) => {
        works.push(work);
        return () => works.pop();
      },
    } as never,
    everyMs: 1000,
    state: { get: () => Math.max(5, ...raised) } as unknown as State,
    reports: { versionReadByAll: () => readByAll },
    leadership: {
      get leader() {
        return leads ? { raiseVersion: (version: number) => raised.push(version) } : null;
      },
    },
    logger: { info: () => {} },
  });
  keeper.start();
  const tick = () => works[0]?.();
  tick();
  leads = true;
  readByAll = null;
  tick();
  readByAll = 4;
  tick();
  expect(raised).toEqual([]);
  readByAll = 6;
  tick();
  tick();
  expect(raised).toEqual([6]);
  keeper.stop();
  expect(works).toEqual([]);
});
