// Goal: no call makes more names than the bounds allow, whoever makes them and however many are
// planned in one turn; names that exist are never refused; a node without bounds, or with others,
// agrees on the state. Method: each kind of call at a bound that is met, then random calls with
// several of them in a turn and entries in flight.
import { expect, test } from 'vitest';
import type { Command } from '../base/commands/commands.js';
import { DELIVERY_LIMITS } from '../base/delivery-limits.js';
import { nameCountsOf } from '../state/names/name-index.js';
import { EngineRig, pushCommand, type Request, TENANT } from '../testing/engine.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { cycleCommand, queryOf } from '../testing/stream.fake.js';
import { scheduleOf } from '../testing/timers.fake.js';
import { positionOf, transactionCommand } from '../testing/transaction.fake.js';
import type { NameBounds, NameLimits } from './name-bounds.js';

const NONE: NameLimits = { queues: null, partitions: null, groups: null };
const OTHER = 'aaaaaaaa-0000-4000-8000-000000000001';

function bounded(tenant: Partial<NameLimits>, all: Partial<NameLimits> = {}): EngineRig {
  const names: NameBounds = { tenant: { ...NONE, ...tenant }, all: { ...NONE, ...all } };
  return new EngineRig(DELIVERY_LIMITS, { names });
}

function refusalOf({ outcome }: Request): string | undefined {
  return outcome?.kind === 'refused'
    ? `${outcome.refusal.reason}: ${outcome.refusal.error}`
    : outcome?.kind;
}

function seek(queue: string, consumerGroup: string, partition: string | null): Command {
  const changeId = `00000000-0000-4000-8000-${consumerGroup.padStart(12, '0')}`;
  return {
    kind: 'seek',
    tenant: TENANT,
    changeId,
    consumerGroup,
    queue,
    partition,
    targetUs: null,
  };
}

function counts(rig: EngineRig): string {
  const { queues, partitions, groups } = nameCountsOf(rig.state, TENANT);
  return `${queues} ${partitions} ${groups}`;
}

test('a push, a configure and a pop make no queue above the bound', () => {
  const rig = bounded({ queues: 2 });
  rig.push('a', 'p', ['1']);
  rig.push('b', 'p', ['2']);
  const text = 'quota_exceeded: this tenant has 2 queues of at most 2; this call makes 1 more';
  expect(refusalOf(rig.call(pushCommand('c', 'p', ['3'], true)))).toBe(text);
  const configure: Command = {
    kind: 'configure',
    tenant: TENANT,
    queue: 'c',
    replace: false,
    changes: {},
  };
  expect(refusalOf(rig.call(configure))).toBe(text);
  expect(refusalOf(rig.call(rig.popCommand({ queue: 'c' })))).toBe(text);
  // Existing queues go on, and another tenant has a bound of its own.
  rig.push('b', 'q', ['4']);
  expect(refusalOf(rig.call({ ...configure, queue: 'a' }))).toBe('configured');
  expect(refusalOf(rig.call({ ...configure, tenant: OTHER }))).toBe('configured');
  expect(counts(rig)).toBe('2 3 0');
  // A queue that goes makes room.
  rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'a' });
  expect(refusalOf(rig.call(configure))).toBe('configured');
});

test('a push that would pass the bound of partitions stores nothing', () => {
  const rig = bounded({ partitions: 3 });
  rig.push('a', 'p', ['1']);
  const pushes = transactionCommand({
    pushes: [
      ['a', 'p', '2'],
      ['a', 'q', '3'],
      ['b', 'r', '4'],
    ],
  }).pushes;
  const wide = rig.send({ ...pushes, tenant: TENANT } as Command);
  const last = rig.send(pushCommand('c', 'p', ['5'], true));
  rig.turn();
  expect(refusalOf(wide)).toBe('pushed');
  // The turn had placed the last two, and written nothing yet.
  expect(refusalOf(last)).toBe(
    'quota_exceeded: this tenant has 3 partitions of at most 3; this call makes 1 more',
  );
  expect(counts(rig)).toBe('2 3 0');
  const mixed = transactionCommand({
    pushes: [
      ['a', 'p', '6'],
      ['d', 'p', '7'],
    ],
  }).pushes;
  expect(refusalOf(rig.call(mixed as Command))).toMatch(/^quota_exceeded/);
  expect(rig.texts(rig.pop({ queue: 'a', partitions: 10 }))).toEqual(['1', '2', '3']);
});

test('two calls of one turn do not share the last place', () => {
  const rig = bounded({}, { queues: 1 });
  const [first, second] = ['a', 'b'].map((queue) => rig.send(pushCommand(queue, 'p', ['1'], true)));
  rig.turn();
  expect(refusalOf(first as Request)).toBe('pushed');
  expect(refusalOf(second as Request)).toBe(
    'quota_exceeded: all tenants have 1 queues of at most 1; this call makes 1 more',
  );
});

test('a group is one at each queue it reads; pops, seeks and positions make none above it', () => {
  const rig = bounded({ groups: 2 });
  for (const queue of ['a', 'b', 'c']) rig.push(queue, 'p', ['1']);
  rig.pop({ queue: 'a', consumerGroup: 'g' });
  rig.pop({ queue: 'b', consumerGroup: 'g' });
  const text = /^quota_exceeded: this tenant has 2 consumer groups of at most 2; this call makes 1/;
  expect(refusalOf(rig.call(rig.popCommand({ queue: 'c' })))).toMatch(text);
  expect(
    refusalOf(rig.call(rig.popCommand({ queue: 'a', partition: 'p', consumerGroup: 'h' }))),
  ).toMatch(text);
  expect(refusalOf(rig.call(rig.popCommand({ namespace: '', task: 'p' })))).toBe('popped');
  expect(refusalOf(rig.call(seek('c', '1', null)))).toMatch(text);
  expect(refusalOf(rig.call(seek('c', '2', 'p')))).toMatch(text);
  const position = transactionCommand({ positions: [positionOf('c', 'p', 0)] });
  expect(refusalOf(rig.call(position))).toMatch(text);
  // A group that reads already goes on reading.
  expect(refusalOf(rig.call(seek('a', 'g', null)))).toBe('group-changed');
  const known = transactionCommand({ positions: [positionOf('a', 'p', 0)] });
  expect(refusalOf(rig.call(known))).toBe('transacted');
  expect(counts(rig)).toBe('3 3 2');
});

test('a pop of many queues is refused whole; one that waits joins no queue above the bound', () => {
  const rig = bounded({ groups: 2 });
  for (const queue of ['a', 'b']) rig.configure(queue, { namespace: 'ns' });
  const waiting = rig.wait({ namespace: 'ns' });
  expect(counts(rig)).toBe('2 2 2');
  rig.configure('c', { namespace: 'ns' });
  rig.push('c', 'p', ['1']);
  rig.turn();
  expect(waiting.outcome).toBeNull();
  expect(counts(rig)).toBe('3 4 2');
  expect(refusalOf(rig.call(rig.popCommand({ namespace: 'ns' })))).toMatch(/makes 1 more$/);
});

test('a pop that makes no queue needs no room for one', () => {
  const rig = bounded({ groups: 1 });
  rig.push('a', 'p', ['1']);
  rig.pop({ queue: 'a' });
  const waiting = rig.wait({ queue: 'q', creates: false });
  rig.push('q', 'p', ['1']);
  rig.turn();
  expect(waiting.outcome).toMatchObject({ kind: 'popped', claims: [] });
  expect(counts(rig)).toBe('2 2 1');
});

test('pops that wait for a partition make no groups above the bound when it comes', () => {
  const rig = bounded({ groups: 2 });
  const waiting = ['g', 'h', 'i'].map((consumerGroup) =>
    rig.wait({ queue: 'q', partition: 'p', consumerGroup }),
  );
  rig.push('q', 'p', ['1']);
  rig.turn();
  const served = waiting.map(({ outcome }) =>
    outcome?.kind === 'popped' ? outcome.claims.length : null,
  );
  expect(served).toEqual([1, 1, 0]);
  expect(counts(rig)).toBe('1 1 2');
  const late = rig.call(rig.popCommand({ queue: 'q', partition: 'p', consumerGroup: 'i' }));
  expect(refusalOf(late)).toMatch(/^quota_exceeded/);
});

test('transactions and cycles above the bound do nothing at all', () => {
  const rig = bounded({ partitions: 3 });
  rig.push('q', 'a', ['0']);
  const queryId = queryOf(rig);
  const { leaseId } = rig.pop();
  const wide = transactionCommand({
    pushes: [
      ['r', 'p', '1'],
      ['r', 'q', '2'],
    ],
    positions: [positionOf('q', 'b', 0)],
  });
  expect(refusalOf(rig.call(wide))).toMatch(/this call makes 3 more$/);
  const cycle = cycleCommand({
    queryId,
    partitionId: 1,
    state: [['k', '1']],
    pushes: [
      ['out', 'x', null],
      ['out', 'y', null],
      ['out', 'z', null],
    ],
    ack: { leaseId, count: 1 },
  });
  const before = rig.entries;
  expect(refusalOf(rig.call(cycle))).toMatch(/^quota_exceeded/);
  expect(rig.entries).toBe(before);
  expect(counts(rig)).toBe('1 1 1');
});

test('a timer that was taken fires, although its queue is one too many', () => {
  const rig = bounded({ queues: 1 });
  rig.call({
    kind: 'timers',
    tenant: TENANT,
    producerSub: null,
    ops: [scheduleOf('k', { delayMs: 1000 })],
  });
  rig.push('other', 'p', ['1']);
  const ops = [scheduleOf('late', { delayMs: 1000 })];
  const late: Command = { kind: 'timers', tenant: TENANT, producerSub: null, ops };
  expect(refusalOf(rig.call(late))).toMatch(/^quota_exceeded: .* makes 1 more$/);
  expect(refusalOf(rig.call(transactionCommand({ timers: late })))).toMatch(/^quota_exceeded/);
  rig.advance(2000);
  rig.turn();
  expect(nameCountsOf(rig.state, TENANT).queues).toBe(2);
});

test('random calls, several in a turn, never pass a bound', () => {
  const random = new SeededRandom(5);
  const [tenant, all] = [
    { queues: 4, partitions: 9, groups: 6 },
    { queues: 6, partitions: 14, groups: 9 },
  ];
  const rig = bounded(tenant, all);
  const name = (of: string, count: number) => `${of}${random.below(count)}`;
  let refused = 0;
  for (let turn = 0; turn < 3000; turn++) {
    rig.lag = random.below(3);
    const owner = random.below(2) === 0 ? TENANT : OTHER;
    const sent = Array.from({ length: 1 + random.below(4) }, () => {
      const queue = name('q', 7);
      const partition = name('p', 4);
      const consumerGroup = name('g', 3);
      const commands: (() => Command)[] = [
        () => pushCommand(queue, partition, ['x'], false),
        () => rig.popCommand({ queue, consumerGroup, autoAck: true }),
        () => rig.popCommand({ queue, partition, consumerGroup, autoAck: true }),
        () =>
          transactionCommand({
            pushes: [
              [queue, partition, null],
              [name('q', 7), name('p', 4), null],
            ],
            positions: [positionOf(name('q', 3), name('p', 4), 0, { consumerGroup })],
          }),
        () => seek(queue, String(turn), partition),
        () => ({ kind: 'configure', tenant: TENANT, queue, replace: false, changes: {} }),
        () => ({ kind: 'delete-queue', tenant: TENANT, queue }),
      ];
      const made = commands[random.below(commands.length)]?.() as Command;
      const push =
        made.kind === 'transaction' && made.pushes !== null
          ? { pushes: { ...made.pushes, tenant: owner } }
          : {};
      return rig.send({ ...made, ...push, tenant: owner } as Command);
    });
    rig.turn();
    for (const request of sent) if (request.outcome?.kind === 'refused') refused++;
    for (const [of, limits] of [
      [TENANT, tenant],
      [OTHER, tenant],
      [null, all],
    ] as const) {
      const { queues, partitions, groups } = nameCountsOf(rig.planner.state, of);
      expect(queues, `turn ${turn}`).toBeLessThanOrEqual(limits.queues);
      expect(partitions, `turn ${turn}`).toBeLessThanOrEqual(limits.partitions);
      expect(groups, `turn ${turn}`).toBeLessThanOrEqual(limits.groups);
    }
  }
  expect(refused).toBeGreaterThan(100);
});
