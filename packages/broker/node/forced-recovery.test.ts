// Goal: a survivor goes on alone with all that its log holds, whatever moment of the recovery power
// was lost at, and its former fellows cannot reach it. Method: one of three simulated machines is
// recovered after the others are gone; one step of it fails, power is lost, and it is done again.
import { expect, test } from 'vitest';
import { readConfig } from '../config/config.js';
import type { DirectoryOptions } from '../directory/node-directory.js';
import { createLogger } from '../system/logging.js';
import { Ended, FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { recoverByForce } from './forced-recovery.js';

const PEERS = '1=node-1:7400/node-1:6632,2=node-2:7400/node-2:6632,3=node-3:7400/node-3:6632';

function optionsOf(group: FakeGroup, machine: FakeMachine, id: number): DirectoryOptions {
  const config = readConfig({
    SVC_RAFT_DIR: '/data',
    SVC_RAFT_REPLICATOR: 'raft',
    SVC_RAFT_NODE_ID: `${id}`,
    SVC_RAFT_PEERS: PEERS,
    SVC_RAFT_FORCE_RECOVER: `${id}`,
  });
  if (config.kind === 'refused') throw new Error(config.error);
  return {
    config,
    disk: machine.disk,
    clock: {
      wallUs: () => 0,
      nowMs: () => group.nowMs,
      soon: (work) => group.after(0, work),
      after: (delayMs, work) => group.after(delayMs, work),
      every: () => () => {},
    },
    random: { fraction: () => group.random(), newUuid: () => '', fill: () => {} },
    logger: createLogger({ level: 'off', json: false }, () => {}),
    crash: { kind: 'unarmed', reach: () => {} },
    onFatal: (error) => {
      throw new Ended(error.message);
    },
  };
}

/** False: it ended on the way. */
async function recover(group: FakeGroup, machine: FakeMachine, id = machine.number) {
  const recovery = recoverByForce(optionsOf(group, machine, id), machine.place).then(
    () => 'recovered',
    (error: Error) => error.message,
  );
  const ended = new Promise<string>((resolve) => void group.after(2000, () => resolve('ended')));
  let outcome = '';
  await group.finish(
    'a recovery',
    Promise.race([recovery, ended]).then((text) => {
      outcome = text;
    }),
  );
  return outcome;
}

async function survivor(): Promise<{ group: FakeGroup; machine: FakeMachine }> {
  const group = new FakeGroup({ founders: 3 });
  for (const id of ['a', 'b', 'c']) {
    const answers = group.leader().push('q', id);
    group.until(`an answer to ${id}`, () => answers.all.length > 0);
  }
  group.run(200);
  for (const machine of group.machines.values()) machine.crash('process');
  return { group, machine: group.machine(2) };
}

function goesOnAlone(group: FakeGroup, machine: FakeMachine): void {
  machine.start();
  group.until('a leader', () => machine.leads);
  const { voters, learners } = machine.status.configuration;
  expect({ voters, learners }).toEqual({ voters: [machine.node?.member], learners: [] });
  const list = machine.queues();
  group.until('a list', () => list.all.length > 0);
  expect(list.one).toMatchObject({ queues: [{ counts: { total: 3 } }] });
  const more = machine.push('q', 'd');
  group.until('an answer', () => more.all.length > 0);
  expect(more.one).toMatchObject({ kind: 'pushed' });
}

const STEPS = [
  ['write', 'force_recovered'],
  ['rename', 'force_recovered'],
  ['write', '/log/'],
  ['fdatasync', '/log/'],
  ['write', 'identity'],
  ['rename', 'identity.json'],
  ['rename', 'identity.json.copy'],
] as const;

test.each(STEPS)('power is lost at %s of %s', async (operation, path) => {
  const { group, machine } = await survivor();
  machine.disk.failNext(operation, 'EIO', path);
  expect(await recover(group, machine)).not.toBe('recovered');
  machine.crash('power');
  expect(await recover(group, machine)).toBe('recovered');
  goesOnAlone(group, machine);
});

test('what was recovered is not recovered again', async () => {
  const { group, machine } = await survivor();
  expect(await recover(group, machine)).toBe('recovered');
  machine.crash('power');
  expect(await recover(group, machine)).toContain(
    'SVC_RAFT_FORCE_RECOVER=2 is still set, but this node already recovered',
  );
  goesOnAlone(group, machine);
});

test('former members that come back change nothing', async () => {
  const { group, machine } = await survivor();
  expect(await recover(group, machine)).toBe('recovered');
  goesOnAlone(group, machine);
  const { term, commit } = machine.status;
  for (const other of [1, 3]) group.machine(other).start();
  group.run(10_000);
  expect(machine.leads).toBe(true);
  expect(machine.status).toMatchObject({ term, commit });
});

test('a directory that never was in a cluster holds nothing to recover', async () => {
  const group = new FakeGroup({ founders: 3 });
  const machine = group.join(4);
  machine.crash();
  expect(await recover(group, machine, 1)).toMatch(/holds nothing to recover$/);
});
