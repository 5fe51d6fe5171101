/**
 * Goal: everything that opens closes in each of the endings, in the reverse order, and what goes on
 * at a halt is what its row says.
 * Method: the real list over parts that write down what is called; then whole nodes, whose periodic
 * timers and answers to other nodes are looked at after each ending.
 */
import { expect, test } from 'vitest';
import { FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { Lifecycle, type LifeOptions, lifeOf } from './lifecycle.js';

/** A part whose methods write down that they were called, and call back what they are given. */
function recorder(name: string, calls: string[]): object {
  return new Proxy(
    {},
    {
      get:
        (_, method: string) =>
        (...given: readonly unknown[]) => {
          calls.push(`${name}.${method}`);
          for (const done of given) if (typeof done === 'function') done();
        },
    },
  );
}

function recorded(calls: string[], isAlone: boolean): LifeOptions {
  const withoutOthers = new Set(['link', 'recovery', 'holds', 'sourceReads']);
  const parts = new Proxy(
    {},
    {
      get: (_, name: string) => (isAlone && withoutOthers.has(name) ? null : recorder(name, calls)),
    },
  );
  const all = {
    clock: {
      every: () => {
        calls.push('tick.start');
        return () => calls.push('tick.stop');
      },
    },
    crash: { reach: (point: string) => calls.push(point) },
    opened: parts,
    parts,
    openLink: () => calls.push('link.open'),
    startConsensus: () => calls.push('consensus.start'),
  };
  return all as unknown as LifeOptions;
}

/** The calls that a life from `open` on makes when it ends so. */
async function callsOf(
  end: (life: Lifecycle) => void | Promise<void>,
  isAlone = false,
): Promise<string[]> {
  const calls: string[] = [];
  const life = new Lifecycle(lifeOf(recorded(calls, isAlone)));
  life.open();
  calls.length = 0;
  await end(life);
  return calls;
}

const OPENED = [
  'tick.start',
  'version.start',
  'reports.start',
  'gate.start',
  'scrubber.start',
  'link.open',
  'membership.open',
  'blocks.open',
  'gather.open',
  'ephemeral.open',
  'recovery.begin',
];

test('parts open from the bottom up, and consensus last', () => {
  const calls: string[] = [];
  new Lifecycle(lifeOf(recorded(calls, false))).open();
  expect(calls).toEqual(OPENED);
  const alone: string[] = [];
  new Lifecycle(lifeOf(recorded(alone, true))).open();
  expect(alone).toEqual([
    'tick.start',
    'space.start',
    ...OPENED.filter((call) => !/^(tick|reports|recovery)/.test(call)),
    'consensus.start',
  ]);
});

test('a stop drains, then closes from the top down, and files last', async () => {
  expect(await callsOf((life) => life.drain())).toEqual([
    'follower.yield',
    'requests.drain',
    'reads.drain',
    'fetches.stop',
    'ephemeral.drain',
    'gather.close',
    'blocks.close',
    'membership.close',
    'sourceReads.drain',
  ]);
  expect(await callsOf((life) => life.close())).toEqual([
    'follower.close',
    'leadership.end',
    'broker.stop',
    'leadership.stop',
    'requests.stop',
    'reads.stop',
    'fetches.stop',
    'consensus.stop',
    'ephemeral.stop',
    'sourceReads.stop',
    'holds.close',
    'link.close',
    'scrubber.stop',
    'gate.stop',
    'reports.stop',
    'version.stop',
    'space.stop',
    'recovery.close',
    'stop-drained',
    'replica.close',
    'stop-checkpointed',
    'tick.stop',
    'log.close',
    'hardState.close',
    'state.close',
  ]);
});

test('a halt closes all but the files and what tells other nodes why', async () => {
  expect(await callsOf((life) => life.halt())).toEqual([
    'follower.close',
    'leadership.end',
    'broker.stop',
    'leadership.stop',
    'requests.stop',
    'reads.stop',
    'fetches.stop',
    'consensus.stop',
    'ephemeral.stop',
    'membership.close',
    'sourceReads.stop',
    'holds.close',
    'link.close',
    'scrubber.stop',
    'gate.stop',
    'reports.stop',
    'version.stop',
    'space.stop',
    'recovery.close',
    'replica.halt',
    'tick.stop',
  ]);
});

test('a reopening closes whatever speaks', async () => {
  expect(await callsOf((life) => life.reopen())).toEqual([
    'follower.close',
    'leadership.end',
    'broker.stop',
    'leadership.stop',
    'requests.stop',
    'reads.stop',
    'fetches.stop',
    'consensus.stop',
    'ephemeral.stop',
    'sourceReads.stop',
    'holds.close',
    'link.close',
    'reports.stop',
    'version.stop',
  ]);
});

test('a part that opens something has a way to close it', () => {
  for (const { name, open, drain, close } of lifeOf(recorded([], false))) {
    if (open !== undefined) expect(drain ?? close, name).toBeDefined();
  }
});

// --- whole nodes ---------------------------------------------------------------------------------

function three(): {
  readonly group: FakeGroup;
  readonly one: FakeMachine;
  readonly other: FakeMachine;
} {
  const group = new FakeGroup({ founders: 3 });
  const other = group.leader();
  const one = [...group.machines.values()].find((machine) => machine !== other);
  if (one === undefined) throw new Error('no follower');
  group.run(2000);
  return { group, one, other };
}

/** How the node answers each kind of question of another node. */
function answersOf(group: FakeGroup, asked: FakeMachine, asking: FakeMachine): string[] {
  return (['block', 'series', 'membership', 'ephemeral', 'command'] as const).map((kind) => {
    const answers: string[] = [];
    asking.calls?.call(asked.number, kind, [Buffer.from('{}')], 1000, (answer) =>
      answers.push(typeof answer === 'string' ? answer : 'answered'),
    );
    group.until(`an answer about ${kind}`, () => answers.length > 0);
    return `${kind}: ${answers}`;
  });
}

const NOTHING_SERVED = ['block', 'series', 'membership', 'ephemeral', 'command'].map(
  (kind) => `${kind}: unserved`,
);

test('a node that was stopped answers nobody, and no timer of it runs', async () => {
  const { group, one, other } = three();
  expect(one.periodic.size).toBeGreaterThan(5);
  await group.finish('the stop', one.node?.stop() ?? Promise.resolve(), 120_000);
  expect(one.periodic.size).toBe(0);
  expect(answersOf(group, one, other)).toEqual(NOTHING_SERVED);
});

test('a node that halted runs no timer, and says what it is until it is stopped', async () => {
  const { group, one, other } = three();
  one.inProcess((node) => node.halt(new Error('the volume is full')));
  expect(one.periodic.size).toBe(0);
  expect(answersOf(group, one, other)).toEqual([
    'block: answered',
    'series: timeout',
    'membership: unserved',
    'ephemeral: unserved',
    'command: unserved',
  ]);
  await group.finish('the stop', one.node?.stop() ?? Promise.resolve(), 120_000);
  expect(answersOf(group, one, other)).toEqual(NOTHING_SERVED);
});
