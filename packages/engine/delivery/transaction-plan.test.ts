// Goal: transactions (message-plane 6) do everything or nothing, name the first guard that fails,
// and see what is planned beside them in the same turn.
// Method: commands played through the planner turn by turn; after a rollback every row of every
// table and the bytes of the turn must be as if the transaction had never come.
import { beforeEach, describe, expect, test } from 'vitest';
import { ITEM_DUPLICATE, ITEM_QUEUED, type PoppedOutcome } from '../base/commands/commands.js';
import { numberNameKey } from '../base/keys.js';
import type { Key, Table } from '../base/state.js';
import { cursors, groups, partitions, queues } from '../base/tables.js';
import { TABLES } from '../state/table-list.js';
import { EngineRig, pushCommand } from '../testing/engine.fake.js';
import {
  ackOf,
  positionOf,
  type TransactionParts,
  transact,
  transactionCommand,
} from '../testing/transaction.fake.js';

let rig: EngineRig;
let popped: PoppedOutcome;

const numberOf = (name: string) => {
  const row = rig.rows(partitions).find((one) => one.name === name);
  if (row === undefined) throw new Error(`no partition ${name}`);
  return row.number;
};

const cursor = (partition: string, group = 'g') =>
  rig.state.get(cursors, numberNameKey(numberOf(partition), group));

const texts = (queue: string, partition: string, group = 'reader') =>
  rig.texts(rig.pop({ queue, partition, consumerGroup: group, autoAck: true }));

/** Partition p of queue q with a, b, c leased by one pop of group g. */
function lease(options: Record<string, number | boolean> = {}): void {
  rig.configure('q', options);
  rig.push('q', 'p', ['a', 'b', 'c']);
  popped = rig.pop({ partition: 'p' });
  expect(rig.texts(popped)).toEqual(['a', 'b', 'c']);
}

/** Every row there is, as text. */
const everything = () =>
  JSON.stringify(TABLES.filter((table) => !table.local).map((table) => rig.rows(table)));

/** The transaction fails so, and leaves nothing at all. */
function rollsBack(parts: TransactionParts): { reason: string; error: string } {
  const before = everything();
  const { entries } = rig;
  const { rollback, filed, pushed } = transact(rig, parts);
  if (rollback === null) throw new Error('the transaction was committed');
  expect({ filed, pushed }).toEqual({ filed: [], pushed: null });
  expect(rig.entries).toBe(entries);
  expect(everything()).toBe(before);
  return rollback;
}

const NOT_LEASED = (count: number, partition: string) =>
  `QTXN ${count} acked message(s) on partition ${numberOf(partition)} are not leased by this ` +
  'worker or were already acked; the transaction rolled back';

beforeEach(() => {
  rig = new EngineRig();
});

describe('commit', () => {
  test('acks, pushes and positions stand in one entry', () => {
    lease();
    rig.push('printed', 'x', ['old']);
    const { entries } = rig;
    const outcome = transact(rig, {
      acks: [ackOf(numberOf('p'), 'c', popped.leaseId)],
      pushes: [
        ['printed', 'x', 'r1'],
        ['other', 'y', null],
      ],
      positions: [positionOf('printed', 'x', 1, { consumerGroup: 'audit' })],
    });
    expect(outcome.rollback).toBeNull();
    expect([...(outcome.pushed?.status ?? [])]).toEqual([ITEM_QUEUED, ITEM_QUEUED]);
    expect(rig.entries).toBe(entries + 1);
    expect(cursor('p')).toMatchObject({ committed: 2, lease: null });
    expect(cursor('x', 'audit')).toMatchObject({ committed: 0, lease: null });
    expect(texts('printed', 'x')).toEqual(['old', 'r1']);
    expect(texts('other', 'y')).toEqual(['1']);
  });

  test('what was pushed wakes who waits for it, in the same entry', () => {
    lease();
    rig.push('out', 'x', ['0']);
    expect(texts('out', 'x')).toEqual(['0']);
    const waiter = rig.wait({ queue: 'out', consumerGroup: 'reader' });
    const again = rig.wait({ partition: 'p' });
    expect(waiter.outcome).toBeNull();
    const { entries } = rig;
    const acks = [ackOf(numberOf('p'), 'a', popped.leaseId, 'failed')];
    transact(rig, { acks, pushes: [['out', 'x', 'r']] });
    expect(rig.entries).toBe(entries + 1);
    expect(rig.texts(waiter.outcome)).toEqual(['r']);
    expect(rig.texts(again.outcome)).toEqual(['a', 'b', 'c']);
  });

  test('an item that follows another one of the call gets its message', () => {
    const outcome = transact(rig, {
      pushes: [
        ['q', 'p', 'same'],
        ['q', 'other', 'same'],
        ['q', 'p', 'same'],
      ],
    });
    const { status, messageIds } = outcome.pushed ?? { status: [], messageIds: [] };
    expect([...status]).toEqual([ITEM_QUEUED, ITEM_QUEUED, ITEM_DUPLICATE]);
    expect(messageIds[2]).toBe(messageIds[0]);
    expect(messageIds[1]).not.toBe(messageIds[0]);
    expect(texts('q', 'p')).toEqual(['same']);
  });

  test('without a window only the items of one call are compared', () => {
    rig.configure('q', { dedupWindowSeconds: 0 });
    rig.push('q', 'p', ['x']);
    const twice: TransactionParts = {
      pushes: [
        ['q', 'p', 'x'],
        ['q', 'p', 'x'],
      ],
    };
    const first = rig.send(transactionCommand(twice));
    const second = rig.send(transactionCommand(twice));
    rig.turn();
    for (const { outcome } of [first, second]) {
      if (outcome?.kind !== 'transacted') throw new Error('not answered');
      expect([...(outcome.pushed?.status ?? [])]).toEqual([ITEM_QUEUED, ITEM_DUPLICATE]);
    }
    expect(texts('q', 'p')).toEqual(['x', 'x', 'x']);
  });

  test('trace ids are kept with their messages', () => {
    const traceId = '01a2b3c4-0000-7000-8000-00000000cafe';
    const pushes: TransactionParts['pushes'] = [
      ['q', 'p', 'a'],
      ['q', 'p', 'a'],
      ['q', 'p', 'b'],
    ];
    transact(rig, { pushes, traceIds: [null, null, traceId] });
    const claim = rig.pop({ partition: 'p' }).claims[0];
    expect(rig.traceIds(claim?.slices ?? [])).toEqual([null, traceId]);
  });

  test('several targets of one cursor see each other', () => {
    lease();
    const p = numberOf('p');
    // b under the lease, then c and a without one: the cursor is at b when they are judged.
    const acks = [ackOf(p, 'b', popped.leaseId), ackOf(p, 'c', ''), ackOf(p, 'a', '')];
    expect(transact(rig, { acks }).rollback).toBeNull();
    expect(cursor('p')).toMatchObject({ committed: 2, lease: null, totalConsumed: 3 });
  });

  test('a target is judged by what the one before it leaves, not by what is stored', () => {
    lease();
    const p = numberOf('p');
    const failed = ackOf(p, 'a', popped.leaseId, 'failed');
    rollsBack({ acks: [failed, ackOf(p, 'a', '')] });
    // The first releases the lease, so the second settles nothing and passes what failed.
    expect(transact(rig, { acks: [failed, ackOf(p, 'c', '')] }).rollback).toBeNull();
    expect(cursor('p')).toMatchObject({ committed: 2, retries: 1, settled: null });
  });

  test('a completed ack at or below the cursor does nothing and does not fail', () => {
    lease();
    const p = numberOf('p');
    rig.ack(p, popped.leaseId, [['b', 'completed']]);
    const { entries } = rig;
    expect(transact(rig, { acks: [ackOf(p, 'a', ''), ackOf(p, 'b', popped.leaseId)] })).toEqual({
      kind: 'transacted',
      rollback: null,
      filed: [],
      pushed: null,
      kv: null,
      timers: null,
    });
    expect(rig.entries).toBe(entries);
  });

  test('dead letters are filed, and the acks that file them are named', () => {
    lease({ retryLimit: 0 });
    const p = numberOf('p');
    const acks = [
      ackOf(p, 'c', popped.leaseId, 'dlq'),
      ackOf(p, 'a', popped.leaseId, 'failed'),
      ackOf(p, 'b', popped.leaseId),
    ];
    expect(transact(rig, { acks }).filed).toEqual([0, 1]);
    expect(rig.deadLetters().map(({ offset }) => offset)).toEqual([0, 2]);
    expect(cursor('p')).toMatchObject({ committed: 2, lease: null });
  });
});

describe('rollback', () => {
  test('an ack under a lease that is not the live one', () => {
    lease();
    const p = numberOf('p');
    const pushes: TransactionParts['pushes'] = [['q', 'p', 'r']];
    const other = popped.leaseId.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
    const acks = [ackOf(p, 'a', other), ackOf(p, 'b', other)];
    expect(rollsBack({ acks, pushes })).toEqual({
      reason: 'rejected_ack',
      error: NOT_LEASED(2, 'p'),
    });
    rig.advance(31_000);
    expect(rollsBack({ acks: [ackOf(p, 'a', popped.leaseId)] }).error).toBe(NOT_LEASED(1, 'p'));
  });

  test('the repetition of a lease that was settled, which an ack alone would allow', () => {
    lease();
    const acks = [ackOf(numberOf('p'), 'c', popped.leaseId)];
    expect(transact(rig, { acks }).rollback).toBeNull();
    expect(rollsBack({ acks }).error).toBe(NOT_LEASED(1, 'p'));
    expect(rig.ack(numberOf('p'), popped.leaseId, [['c', 'completed']]).items[0]).toMatchObject({
      success: true,
      noop: true,
    });
  });

  test('one bad ack among good ones of other partitions', () => {
    lease();
    rig.push('q', 'o', ['d']);
    const second = rig.pop({ partition: 'o' });
    const acks = [
      ackOf(numberOf('o'), 'd', second.leaseId, 'dlq'),
      ackOf(numberOf('p'), 'a', popped.leaseId),
      ackOf(numberOf('p'), 'nowhere', popped.leaseId),
    ];
    expect(rollsBack({ acks, pushes: [['out', 'x', 'r']] }).error).toBe(NOT_LEASED(1, 'p'));
    expect(rig.rows(queues).map(({ name }) => name)).toEqual(['q']);
  });

  test("a partition that is not there, or not the tenant's", () => {
    lease();
    const gone = { reason: 'rejected_ack', error: '' };
    for (const id of ['77', '99999999999999999999']) {
      const error = `QTXN no partition ${id}; the transaction rolled back`;
      expect(rollsBack({ acks: [ackOf(id, 'a', '')] })).toEqual({ ...gone, error });
    }
    const p = numberOf('p');
    const tenant = '00000000-0000-0000-0000-000000000002';
    const { outcome } = rig.call({ ...transactionCommand({ acks: [ackOf(p, 'a', '')] }), tenant });
    expect(outcome).toMatchObject({ rollback: { error: expect.stringMatching(/^QTXN no part/) } });
  });

  test('a group without a cursor', () => {
    lease();
    const acks = [ackOf(numberOf('p'), 'a', '', 'completed', 'nobody')];
    expect(rollsBack({ acks }).error).toBe(NOT_LEASED(1, 'p'));
  });

  test('a lease-less ack of what was failed or filed, until it is delivered again', () => {
    lease({ retryLimit: 3 });
    const p = numberOf('p');
    const failed = [ackOf(p, 'a', popped.leaseId), ackOf(p, 'b', popped.leaseId, 'failed')];
    expect(transact(rig, { acks: failed }).rollback).toBeNull();
    rollsBack({ acks: [ackOf(p, 'b', '')] });
    rollsBack({ acks: [ackOf(p, 'b', '', 'failed')] });
    // What was completed beside it is a no-op, and what nobody named may be completed.
    expect(transact(rig, { acks: [ackOf(p, 'a', '')] }).rollback).toBeNull();
    popped = rig.pop({ partition: 'p' });
    expect(rig.texts(popped)).toEqual(['b', 'c']);
    expect(transact(rig, { acks: [ackOf(p, 'b', '', 'dlq')] }).rollback).toBeNull();
    expect(cursor('p')).toMatchObject({ committed: 1, signalled: { first: 1, last: 1 } });
    rollsBack({ acks: [ackOf(p, 'b', '')] });
    expect(transact(rig, { acks: [ackOf(p, 'c', '')] }).rollback).toBeNull();
    rollsBack({ acks: [ackOf(p, 'b', '')] });
    expect(transact(rig, { acks: [ackOf(p, 'c', '')] }).rollback).toBeNull();
    // Later signals take the place of the earlier ones; the dead letter still tells.
    rig.push('q', 'p', ['d']);
    popped = rig.pop({ partition: 'p' });
    rig.ack(p, popped.leaseId, [['d', 'dlq']]);
    rollsBack({ acks: [ackOf(p, 'b', '')] });
  });

  test('a message that is in the window, in flight, or pushed before it in the turn', () => {
    lease();
    const acks = [ackOf(numberOf('p'), 'c', popped.leaseId)];
    const error = (offset: number) =>
      `QDUP a pushed message to q/p is a duplicate (original offset ${offset}); ` +
      'the transaction rolled back';
    expect(
      rollsBack({
        acks,
        pushes: [
          ['q', 'new', 'z'],
          ['q', 'p', 'b'],
        ],
      }),
    ).toEqual({
      reason: 'duplicate',
      error: error(1),
    });
    const push = rig.send(pushCommand('q', 'p', ['d', 'e'], true));
    const late = rig.send(transactionCommand({ acks, pushes: [['q', 'p', 'e']] }));
    rig.turn();
    expect(push.outcome).toMatchObject({ kind: 'pushed' });
    expect(late.outcome).toMatchObject({ rollback: { reason: 'duplicate', error: error(4) } });
    rig.lag = 5;
    rig.push('q', 'p', ['f']);
    expect(transact(rig, { pushes: [['q', 'p', 'f']] }).rollback?.error).toBe(error(5));
    expect(cursor('p')).toMatchObject({ committed: -1 });
  });

  test('of two equal transactions of one turn the second fails', () => {
    lease();
    const acks = [ackOf(numberOf('p'), 'a', '')];
    const parts: TransactionParts = { acks, pushes: [['fresh', 'p', 'r']] };
    const first = rig.send(transactionCommand(parts));
    const second = rig.send(transactionCommand(parts));
    rig.turn();
    expect(first.outcome).toMatchObject({ rollback: null });
    expect(second.outcome).toMatchObject({
      rollback: { reason: 'duplicate', error: expect.stringContaining('(original offset 0)') },
    });
    expect(texts('fresh', 'p')).toEqual(['r']);
  });

  test('a queue that a position names and that is not there before the call', () => {
    lease();
    const acks = [ackOf(numberOf('p'), 'c', popped.leaseId)];
    const pushes: TransactionParts['pushes'] = [['made', 'p', 'r']];
    const positions = [positionOf('q', 'p', 1), positionOf('made', 'p', 0)];
    expect(rollsBack({ acks, pushes, positions })).toEqual({
      reason: 'queue_not_found',
      error: 'queue made does not exist',
    });
  });

  test('the first guard that fails is named: acks, pushes, positions', () => {
    lease();
    const p = numberOf('p');
    const flaw = { reason: 'too_large', error: 'positions[1]: metadata' } as const;
    const bad = { pushes: [['q', 'p', 'a']] as const, positions: [positionOf('no', 'p', 1)], flaw };
    expect(rollsBack({ ...bad, acks: [ackOf(p, 'a', 'x')] }).reason).toBe('rejected_ack');
    expect(rollsBack(bad).reason).toBe('duplicate');
    expect(rollsBack({ ...bad, pushes: [] }).reason).toBe('queue_not_found');
    expect(rollsBack({ positions: [positionOf('q', 'p', 1)], flaw })).toEqual(flaw);
  });

  test('what does not fit into an entry', () => {
    rig = new EngineRig(undefined, { entryBytesMax: 500 });
    lease();
    const id = 'x'.repeat(100);
    const pushes = (words: string): TransactionParts['pushes'] =>
      [...words].map((partition, i) => ['q', partition, `${id}${i}`] as const);
    expect(rollsBack({ pushes: pushes('pp') })).toEqual({
      reason: 'too_large',
      error: expect.stringMatching(/^its pushes to q\/p take \d+ bytes, an entry holds 500;/),
    });
    expect(rollsBack({ pushes: pushes('op') }).error).toMatch(/^it takes \d+ bytes, an entry ho/);
    expect(transact(rig, { pushes: pushes('p') }).rollback).toBeNull();
    const positions = [positionOf('q', 'p', 1, { metadata: 'm'.repeat(300) })];
    expect(rollsBack({ positions }).error).toMatch(/^it takes \d+ bytes, an entry holds 500;/);
  });

  test('a message to be filed that the log cannot give back', () => {
    lease();
    rig.damaged = true;
    const acks = [ackOf(numberOf('p'), 'a', popped.leaseId, 'dlq')];
    expect(rollsBack({ acks, pushes: [['out', 'x', 'r']] }).reason).toBe('unavailable');
    rig.damaged = false;
    expect(transact(rig, { acks }).rollback).toBeNull();
  });
});

describe('positions', () => {
  test('set the cursor wherever it is said, release the lease and begin anew', () => {
    lease();
    const p = numberOf('p');
    rig.ack(p, popped.leaseId, [['a', 'failed']]);
    popped = rig.pop({ partition: 'p' });
    for (const [offset, seen] of [
      [2, ['c']],
      [99, []],
      [0, ['a', 'b', 'c']],
    ] as const) {
      expect(transact(rig, { positions: [positionOf('q', 'p', offset)] }).rollback).toBeNull();
      expect(cursor('p')).toMatchObject({
        committed: offset - 1,
        lease: null,
        retries: 0,
        attempt: 0,
        totalConsumed: 0,
      });
      const messages = rig.messages(rig.pop({ partition: 'p' }));
      expect(messages.map(({ text }) => text)).toEqual(seen);
      for (const { attempt } of messages) expect(attempt).toBe(1);
    }
    expect(rig.ack(p, popped.leaseId, [['a', 'completed']]).items[0]?.error).toMatch(/lease/);
  });

  test('an identical position writes nothing, another metadata does', () => {
    rig.push('q', 'p', ['a']);
    const put = (metadata: string | null) =>
      transact(rig, { positions: [positionOf('q', 'p', 1, { metadata })] });
    put('m');
    expect(cursor('p')).toMatchObject({ committed: 0, metadata: 'm' });
    const { entries } = rig;
    put('m');
    expect(rig.entries).toBe(entries);
    put(null);
    expect(cursor('p')).toMatchObject({ committed: 0, metadata: null });
  });

  test('an unknown group is registered as the first position says, once', () => {
    rig.push('q', 'p', ['a', 'b']);
    const group = 'fresh';
    const at = (mode: 'all' | 'new', offset: number) =>
      positionOf('q', 'p', offset, { consumerGroup: group, subscription: { mode } });
    transact(rig, { positions: [at('new', 1), at('all', 0)] });
    const { number } = rig.rows(queues)[0] ?? { number: 0 };
    expect(rig.state.get(groups, numberNameKey(number, group))?.subscription).toEqual({
      mode: 'new',
    });
    expect(texts('q', 'p', group)).toEqual(['a', 'b']);
  });

  test('an unknown partition is created, and what it gets first is not passed', () => {
    rig.push('q', 'p', ['a']);
    transact(rig, {
      pushes: [['q', 'both', 'x']],
      positions: [positionOf('q', 'both', 0), positionOf('q', 'alone', 1)],
    });
    expect(rig.rows(queues)[0]?.partitions).toBe(3);
    expect(texts('q', 'both', 'g')).toEqual(['x']);
    rig.push('q', 'alone', ['0', '1']);
    expect(texts('q', 'alone', 'g')).toEqual(['1']);
  });

  test('null forgets the cursor, and creates nothing', () => {
    lease();
    const forget = (partition: string) =>
      transact(rig, { positions: [positionOf('q', partition, null)] });
    const { entries } = rig;
    expect(forget('nowhere').rollback).toBeNull();
    expect(rig.entries).toBe(entries);
    expect(forget('p').rollback).toBeNull();
    expect(cursor('p')).toBeUndefined();
    expect(rig.texts(rig.pop({ partition: 'p' }))).toEqual(['a', 'b', 'c']);
  });

  test('give the messages behind them to who waits, in the same turn', () => {
    lease();
    rig.ack(numberOf('p'), popped.leaseId, [['c', 'completed']]);
    for (const [offset, seen] of [
      [2, ['c']],
      [null, ['a', 'b', 'c']],
    ] as const) {
      for (const place of [{}, { partition: 'p' }]) {
        const waiter = rig.wait({ ...place, autoAck: true });
        expect(waiter.outcome).toBeNull();
        transact(rig, { positions: [positionOf('q', 'p', offset)] });
        expect(rig.texts(waiter.outcome)).toEqual(seen);
      }
    }
    const before = rig.wait();
    transact(rig, { positions: [positionOf('q', 'p', 3), positionOf('q', 'p', 7)] });
    expect(before.outcome).toBeNull();
  });

  test('come after the acks of the call', () => {
    lease();
    const acks = [ackOf(numberOf('p'), 'c', popped.leaseId)];
    transact(rig, { acks, positions: [positionOf('q', 'p', 1)] });
    expect(cursor('p')).toMatchObject({ committed: 0, totalConsumed: 3 });
  });
});

describe('the turn', () => {
  test('one append for each partition, whoever pushes to it', () => {
    rig.send(pushCommand('q', 'p', ['a'], true));
    rig.send(transactionCommand({ pushes: [['q', 'p', 'b']] }));
    rig.send(
      transactionCommand({
        pushes: [
          ['q', 'p', 'c'],
          ['q', 'p', 'b'],
        ],
      }),
    );
    rig.send(pushCommand('q', 'p', ['b', 'd'], true));
    rig.turn();
    expect(rig.rows(partitions)[0]).toMatchObject({ nextOffset: 3, appends: 1 });
    expect(texts('q', 'p')).toEqual(['a', 'b', 'd']);
  });

  test('pushes and transactions that push wait in one line', () => {
    rig = new EngineRig(undefined, { turnBytesMax: 300 });
    const id = (name: string) => name.repeat(200);
    const sent = ['a', 'b', 'c', 'd'].map((name, i) =>
      rig.send(
        i % 2 === 0
          ? pushCommand('q', 'p', [id(name)], true)
          : transactionCommand({ pushes: [['q', 'p', id(name)]] }),
      ),
    );
    for (let turns = 1; turns <= 4; turns++) {
      rig.turn();
      expect(sent.filter(({ outcome }) => outcome !== null)).toHaveLength(turns);
    }
    expect(texts('q', 'p')).toEqual([id('a'), id('b'), id('c'), id('d')]);
  });

  test('the dead letters of others do not decide whether a transaction commits', () => {
    const long = (name: string, mebibytes: number) => name.repeat(mebibytes * 1024 * 1024);
    rig.push('q', 'p', [long('a', 9)], false);
    rig.push('q', 'o', [long('b', 5), long('c', 5)], false);
    const [first, second] = [rig.pop({ partition: 'p' }), rig.pop({ partition: 'o' })];
    // Rows of this length are not compared after each turn.
    rig.lag = 99;
    const acks = rig.minted('o', [0, 1]).map((id) => {
      return ackOf(numberOf('o'), id, second.leaseId, 'dlq');
    });
    const alone = transactionCommand({ acks });
    const items = rig.minted('p', [0]).map((id) => ackOf(numberOf('p'), id, first.leaseId, 'dlq'));
    rig.send({ kind: 'ack', tenant: alone.tenant, consumerGroup: 'g', items });
    const request = rig.send(alone);
    rig.turn();
    rig.turn();
    expect(request.outcome).toMatchObject({ rollback: null, filed: [0, 1] });
    expect(rig.deadLetters()).toHaveLength(3);
  });

  test('dead letters of one transaction beyond the room of an entry roll it back', () => {
    const long = (name: string) => name.repeat(9 * 1024 * 1024);
    rig.push('q', 'p', [long('a')], false);
    rig.push('q', 'o', [long('b')], false);
    const leases = [rig.pop({ partition: 'p' }), rig.pop({ partition: 'o' })] as const;
    const ids = [rig.minted('p', [0])[0] ?? '', rig.minted('o', [0])[0] ?? ''] as const;
    const acks = [
      ackOf(numberOf('p'), ids[0], leases[0].leaseId, 'dlq'),
      ackOf(numberOf('o'), ids[1], leases[1].leaseId, 'dlq'),
    ];
    expect(rollsBack({ acks }).reason).toBe('too_large');
  });
});

test('a group is looked at once for all of its positions', () => {
  rig.push('q', 'p', ['a']);
  const positions = (offset: number) =>
    Array.from({ length: 50 }, (_, i) => positionOf('q', `n${i}`, offset));
  transact(rig, { positions: positions(1) });
  const reads = new Map<string, number>();
  const { get } = rig.state;
  rig.state.get = <Row>(table: Table<Row>, key: Key): Row | undefined => {
    reads.set(table.name, (reads.get(table.name) ?? 0) + 1);
    return (get<Row>).call(rig.state, table, key);
  };
  transact(rig, { positions: positions(2) });
  expect(reads.get(groups.name)).toBe(1);
});
