// Goal: seeks, deletions of groups and changed start points do what they say to every cursor, in
// one turn or in many, once, under any leader, while consumers go on. Method: the planner over a
// state in memory. What takes many turns is made so by a low bound of rows.
import { QUEUE_MODE_GROUP } from '@svc/wire';
import { describe, expect, test } from 'vitest';
import { assert } from '../base/assert.js';
import type { Command, Outcome, PopCommand } from '../base/commands/commands.js';
import type {
  DeleteGroupCommand,
  SeekCommand,
  SubscribeGroupCommand,
} from '../base/commands/groups.js';
import { DELIVERY_LIMITS } from '../base/delivery-limits.js';
import { numberNameKey } from '../base/keys.js';
import type { Key } from '../base/state.js';
import { cursors, groups, sharedLeases } from '../base/tables.js';
import { findPartition, findQueue } from '../state/catalog.js';
import { groupChanges } from '../state/group-change-table.js';
import { newRequestSession } from '../state/request-id.js';
import { EngineRig, pushCommand, type Request, TENANT } from '../testing/engine.fake.js';
import { RequestGroup } from '../testing/request-group.fake.js';

let ids = 0;

function changeId(): string {
  ids++;
  return `01a2b3c4-0000-4000-8000-${String(ids).padStart(12, '0')}`;
}

function seek(rest: Partial<SeekCommand> = {}): SeekCommand {
  return {
    kind: 'seek',
    tenant: TENANT,
    changeId: changeId(),
    consumerGroup: 'g',
    queue: 'q',
    partition: null,
    targetUs: null,
    ...rest,
  };
}

function deletion(rest: Partial<DeleteGroupCommand> = {}): DeleteGroupCommand {
  return {
    kind: 'delete-group',
    tenant: TENANT,
    changeId: changeId(),
    consumerGroup: 'g',
    queue: null,
    deleteMetadata: true,
    ...rest,
  };
}

function subscribe(atUs: number, group = 'g'): SubscribeGroupCommand {
  const base = { tenant: TENANT, changeId: changeId(), consumerGroup: group };
  return { kind: 'subscribe-group', ...base, atUs };
}

function changed(queues: number, count: number) {
  return { kind: 'group-changed', queues, changed: count };
}

function cursor(rig: EngineRig, partition: string, group = 'g', queue = 'q') {
  const { state } = rig.planner;
  const row = findQueue(state, TENANT, queue);
  const found = row && findPartition(state, row.number, partition);
  return found && state.get(cursors, numberNameKey(found.number, group));
}

/** Messages `a0 a1 a2` in three appends of partition `a`, a second apart, and so on. */
function filled(partitions: readonly string[], rows = 1000, lag = 0): EngineRig {
  const rig = new EngineRig(DELIVERY_LIMITS, { groupChangeRowsMax: rows });
  rig.lag = lag;
  for (let i = 0; i < 3; i++) {
    for (const name of partitions) rig.push('q', name, [`${name}${i}`]);
    rig.advance(1000);
  }
  return rig;
}

/** Turns until the request is answered. */
function finish(rig: EngineRig, request: Request): number {
  let turns = 0;
  while (request.outcome === null) {
    expect(turns++).toBeLessThan(1000);
    rig.turn();
  }
  return turns;
}

describe('a seek', () => {
  test('to the end of a partition ends its lease, and nothing is left to deliver', () => {
    const rig = filled(['a', 'b']);
    const popped = rig.pop({ partition: 'a' });
    const number = popped.claims[0]?.partitionNumber ?? 0;
    expect(rig.call(seek({ partition: 'a' })).outcome).toEqual(changed(1, 1));
    const acked = rig.ack(number, popped.leaseId, [['a2', 'completed']]);
    expect(acked.items[0]).toMatchObject({ success: false, error: 'invalid or expired lease' });
    expect(rig.extend(popped.leaseId, 60).renewed).toBe(0);
    expect(rig.pop({ partition: 'a' }).claims).toEqual([]);
    expect(rig.texts(rig.pop({ partition: 'b' }))).toEqual(['b0', 'b1', 'b2']);
  });

  test('back delivers again, as a first delivery with a fresh retry budget', () => {
    const rig = filled(['a']);
    const first = rig.pop();
    const number = first.claims[0]?.partitionNumber ?? 0;
    rig.ack(number, first.leaseId, [['a0', 'failed']]);
    rig.pop();
    expect(cursor(rig, 'a')).toMatchObject({ retries: 1, attempt: 2 });
    rig.call(seek({ targetUs: 0 }));
    expect(cursor(rig, 'a')).toMatchObject({ committed: -1, retries: 0, attempt: 0, lease: null });
    const messages = rig.messages(rig.pop());
    expect(messages.map(({ text, attempt }) => [text, attempt])).toEqual([
      ['a0', 1],
      ['a1', 1],
      ['a2', 1],
    ]);
  });

  test('to an instant stands before the first append stamped at or after it', () => {
    const rig = filled(['a']);
    rig.push('q', 'a', ['a3', 'a4']);
    rig.pop({ autoAck: true });
    const start = rig.wallUs - 3_000_000;
    const at = (us: number) => {
      rig.call(seek({ targetUs: us }));
      return cursor(rig, 'a')?.committed;
    };
    expect(at(0)).toBe(-1);
    expect(at(start)).toBe(-1);
    expect(at(start + 500_000)).toBe(0);
    expect(at(start + 2_500_000)).toBe(2);
    // Inside an append there is no border.
    expect(at(start + 3_000_000)).toBe(2);
    expect(at(start + 4_000_000)).toBe(4);
    expect(at(Number.MAX_SAFE_INTEGER)).toBe(4);
  });

  test('makes cursors that were missing, also for a group that nobody knows', () => {
    const rig = filled(['a', 'b']);
    expect(rig.call(seek({ consumerGroup: 'new' })).outcome).toEqual(changed(1, 2));
    expect(cursor(rig, 'a', 'new')?.committed).toBe(2);
    expect(rig.rows(groups)).toEqual([]);
    expect(rig.pop({ consumerGroup: 'new' }).claims).toEqual([]);
    rig.push('q', 'b', ['b3']);
    expect(rig.texts(rig.pop({ consumerGroup: 'new' }))).toEqual(['b3']);
  });

  test('of nothing says so', () => {
    const rig = filled(['a']);
    rig.configure('empty', {});
    expect(rig.call(seek({ queue: 'none' })).outcome).toEqual(changed(0, 0));
    expect(rig.call(seek({ partition: 'none' })).outcome).toEqual(changed(0, 0));
    expect(rig.call(seek({ queue: 'none', partition: 'a' })).outcome).toEqual(changed(0, 0));
    const other = '00000000-0000-0000-0000-000000000002';
    expect(rig.call(seek({ tenant: other })).outcome).toEqual(changed(0, 0));
  });

  test('wakes who waits for the partition or for any', () => {
    const rig = filled(['a', 'b']);
    rig.pop({ autoAck: true, partitions: 2 });
    const pinned = rig.wait({ partition: 'b' });
    const any = rig.wait();
    expect([pinned.outcome, any.outcome]).toEqual([null, null]);
    rig.call(seek({ targetUs: 0 }));
    expect(rig.texts(pinned.outcome)).toEqual(['b0', 'b1', 'b2']);
    expect(rig.texts(any.outcome)).toEqual(['a0', 'a1', 'a2']);
  });

  test('that changes nothing writes nothing', () => {
    const rig = filled(['a', 'b']);
    rig.call(seek());
    const before = rig.entries;
    expect(rig.call(seek()).outcome).toEqual(changed(1, 2));
    expect(rig.entries).toBe(before);
  });
});

const MANY = Array.from({ length: 20 }, (_, i) => `p${i}`);

describe('a change of more rows than a turn has', () => {
  test.each([0, 2])('is made in pieces and answered at its end (%i entries in flight)', (lag) => {
    const rig = filled(MANY, 6, lag);
    const request = rig.send(seek());
    expect(finish(rig, request)).toBeGreaterThanOrEqual(4);
    expect(request.outcome).toEqual(changed(1, 20));
    for (const name of MANY) expect(cursor(rig, name)?.committed).toBe(2);
    // Its outcome is kept for a while, and then goes.
    expect(rig.rows(groupChanges)).toMatchObject([{ isDone: true, changed: 20 }]);
    expect(rig.planner.nextDueMs()).toBe(rig.nowMs + 60_000);
    rig.advance(60_000);
    rig.turn();
    expect(rig.rows(groupChanges)).toEqual([]);
    expect(rig.planner.nextDueMs()).toBeNull();
    expect(rig.planner.busy).toBe(false);
  });

  test('no turn changes more, however many changes there are', () => {
    const rig = filled(MANY, 6);
    const requests = ['g', 'h', 'i'].map((consumerGroup) => rig.send(seek({ consumerGroup })));
    let before = 0;
    for (let turn = 0; requests.some(({ outcome }) => outcome === null); turn++) {
      expect(turn).toBeLessThan(100);
      rig.turn();
      const now = rig.rows(cursors).length;
      expect(now - before).toBeLessThanOrEqual(7);
      before = now;
    }
    expect(before).toBe(60);
  });

  test('goes on under the next leader, and moves no cursor twice', () => {
    const rig = filled(MANY, 6);
    const command = seek({ targetUs: 0 });
    rig.pop({ autoAck: true, partitions: 64 });
    rig.send(command);
    rig.turn();
    rig.turn();
    const done = cursor(rig, 'p0');
    expect(done?.committed).toBe(-1);
    const popped = rig.pop({ partition: 'p0' });
    expect(popped.claims).toHaveLength(1);
    rig.restart(2);
    // Whoever asked asks again, of the next leader.
    const again = rig.send(command);
    finish(rig, again);
    expect(again.outcome).toEqual(changed(1, 20));
    expect(cursor(rig, 'p0')?.lease?.id).toBe(popped.leaseId);
    expect(cursor(rig, 'p19')?.committed).toBe(-1);
    // And once more, after the end and another leader.
    rig.restart(3);
    expect(rig.call(command).outcome).toEqual(changed(1, 20));
    expect(cursor(rig, 'p0')?.lease?.id).toBe(popped.leaseId);
  });

  test('is finished though nobody asks again', () => {
    const rig = filled(MANY, 6);
    rig.send(seek());
    rig.turn();
    rig.restart(2);
    while (rig.planner.busy) rig.turn();
    for (const name of MANY) expect(cursor(rig, name)?.committed).toBe(2);
  });

  test('ends with the partitions that there were', () => {
    const rig = filled(MANY, 6);
    const request = rig.send(seek());
    rig.turn();
    rig.push('q', 'late', ['x']);
    finish(rig, request);
    expect(request.outcome).toEqual(changed(1, 20));
    expect(cursor(rig, 'late')).toBeUndefined();
  });

  test('two of one group go one after the other, others beside them', () => {
    const rig = filled(MANY, 6);
    // The first is the slower one: it has to find its places.
    const front = rig.send(seek({ targetUs: 0 }));
    const end = rig.send(seek());
    const other = rig.send(seek({ consumerGroup: 'h' }));
    rig.turn();
    while (front.outcome === null) {
      expect(end.outcome).toBeNull();
      rig.turn();
    }
    expect(other.outcome).not.toBeNull();
    finish(rig, end);
    for (const name of MANY) expect(cursor(rig, name)?.committed).toBe(2);
  });

  test('ends when its queue is deleted', () => {
    const rig = filled(MANY, 6);
    const request = rig.send(seek());
    rig.turn();
    rig.send({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
    rig.turn();
    finish(rig, request);
    while (rig.planner.busy) rig.turn();
    expect(rig.rows(cursors)).toEqual([]);
  });

  test('there is a bound of those that go on', () => {
    const rig = filled(MANY, 1);
    const sent = Array.from({ length: 1100 }, (_, i) => rig.send(seek({ consumerGroup: `g${i}` })));
    for (let turns = 0; turns < 2; turns++) rig.turn();
    const refused = sent.filter(({ outcome }) => outcome?.kind === 'refused');
    expect(refused).toHaveLength(76);
    expect(refused[0]?.outcome).toMatchObject({ refusal: { reason: 'overloaded' } });
  });
});

const CUTS = [1, 2, 3, 4, 5].flatMap((turns) => [0, 1, 2, 3].map((kept) => [turns, kept] as const));

describe('a change that another node sent', () => {
  const session = newRequestSession(2 ** 33 + 7, 1, 2);
  const names = ['a', 'b', 'c', 'd', 'e'];

  function call(group: RequestGroup, command: Command): Outcome {
    const heard: Outcome[] = [];
    group.send(command, null, (outcome) => heard.push(outcome));
    while (heard.length === 0) {
      group.turn();
      while (group.inFlight > 0) group.apply();
    }
    return heard[0] as Outcome;
  }

  function popOne(group: RequestGroup, partition: string): PopCommand {
    const rig = new EngineRig();
    return { ...rig.popCommand({ partition, autoAck: true }), deadlineMs: group.nowMs + 30_000 };
  }

  /** Consumes what the seek has given back, as consumers do that are waiting for it. */
  function consume(group: RequestGroup): void {
    for (const name of names) call(group, popOne(group, name));
  }

  function consumed(group: RequestGroup): number[] {
    const [from, to] = ['' as Key, '\xff'.repeat(600) as Key];
    return group.state.range(cursors, from, to, 100).map(({ row }) => row.totalConsumed);
  }

  test.each(CUTS)(
    'moves each cursor once: another leader after %i turns, %i entries in flight kept',
    (turns, kept) => {
      const group = new RequestGroup();
      for (const name of names) call(group, pushCommand('q', name, ['x'], false));
      consume(group);
      const command = seek({ targetUs: 0 });
      const origin = { session, sequence: 1, settledBelow: 0, settled: [] };
      const heard: Outcome[] = [];
      group.send(command, origin, () => heard.push({ kind: 'none' }));
      for (let i = 0; i < turns; i++) {
        group.turn();
        // Consumers go on while some of its entries are still on their way.
        for (const name of names) group.send(popOne(group, name), null, () => {});
      }
      group.elect(kept);
      consume(group);
      const before = heard.length;
      for (let copies = 0; copies < 2; copies++) {
        group.send(command, origin, (outcome) => heard.push(outcome));
        group.turn();
      }
      while (group.planner.busy || group.inFlight > 0) {
        group.turn();
        while (group.inFlight > 0) group.apply();
        consume(group);
      }
      // Two copies, one answer; or two, when it was done before the first of them came.
      const answers = heard.slice(before);
      expect(answers.length).toBeGreaterThan(0);
      expect(answers).toEqual(answers.map(() => changed(1, 5)));
      consume(group);
      expect(consumed(group)).toEqual([2, 2, 2, 2, 2]);
    },
  );
});

describe('the deletion of a group', () => {
  test('forgets cursors, leases and registration everywhere, and counts the cursors', () => {
    const rig = filled(['a', 'b']);
    rig.push('other', 'c', ['c0']);
    rig.configure('untouched', {});
    const popped = rig.pop({ partitions: 2 });
    rig.pop({ queue: 'other' });
    expect(rig.rows(sharedLeases)).toHaveLength(2);
    expect(rig.call(deletion()).outcome).toEqual(changed(3, 3));
    expect([rig.rows(cursors), rig.rows(groups), rig.rows(sharedLeases)]).toEqual([[], [], []]);
    const number = popped.claims[0]?.partitionNumber ?? 0;
    const acked = rig.ack(number, popped.leaseId, [['a2', 'completed']]);
    expect(acked.items[0]).toMatchObject({ error: 'invalid or expired lease' });
    expect(rig.call(deletion()).outcome).toEqual(changed(3, 0));
    expect(rig.texts(rig.pop({ partitions: 2 }))).toHaveLength(6);
  });

  test('at one queue leaves the others alone', () => {
    const rig = filled(['a']);
    rig.push('other', 'c', ['c0']);
    rig.pop();
    rig.pop({ queue: 'other' });
    expect(rig.call(deletion({ queue: 'other' })).outcome).toEqual(changed(1, 1));
    expect(cursor(rig, 'a')).toBeDefined();
    expect(rig.rows(groups)).toHaveLength(1);
    expect(rig.call(deletion({ queue: 'none' })).outcome).toEqual(changed(0, 0));
  });

  test('counts cursors that only the start point gives', () => {
    const rig = filled(['a', 'b']);
    rig.pop({ subscription: { mode: 'new' } });
    expect(rig.rows(cursors)).toEqual([]);
    expect(rig.call(deletion()).outcome).toEqual(changed(1, 2));
    expect(rig.call(deletion()).outcome).toEqual(changed(1, 0));
  });

  test('without metadata keeps the start point, which counts from the next pop on', () => {
    const rig = filled(['a', 'b']);
    rig.pop({ subscription: { mode: 'new' } });
    rig.push('q', 'a', ['a3']);
    expect(rig.texts(rig.pop({ autoAck: true }))).toEqual(['a3']);
    expect(rig.call(deletion({ deleteMetadata: false })).outcome).toEqual(changed(1, 2));
    expect(rig.rows(groups)).toMatchObject([{ subscription: { mode: 'new' }, isSeeded: false }]);
    expect(rig.call(deletion({ deleteMetadata: false })).outcome).toEqual(changed(1, 0));
    // The stored start point beats what the pop says.
    expect(rig.texts(rig.pop())).toEqual(['a3']);
    expect(rig.rows(groups)).toMatchObject([{ isSeeded: true }]);
  });

  test('answers who waits, by name, for any, and by label', () => {
    const rig = filled(['a']);
    rig.configure('q', { namespace: 'n' });
    rig.configure('more', { namespace: 'n' });
    rig.pop({ autoAck: true });
    const waiting = [
      rig.wait({ partition: 'a' }),
      rig.wait(),
      rig.wait({ namespace: 'n' }),
      rig.wait({ consumerGroup: 'h', partition: 'b' }),
    ];
    expect(waiting.map(({ outcome }) => outcome)).toEqual([null, null, null, null]);
    rig.call(deletion({ queue: 'q' }));
    const answered = waiting.map(({ outcome }) => outcome?.kind === 'popped');
    expect(answered).toEqual([true, true, true, false]);
    expect(rig.planner.parked).toBe(1);
  });

  test('in pieces leaves what a pop in between began anew', () => {
    const rig = filled(MANY, 6);
    rig.pop({ autoAck: true, partitions: 64 });
    const request = rig.send(deletion());
    rig.turn();
    rig.advance(10);
    // p0 is forgotten already, p19 is not.
    const early = rig.pop({ partition: 'p0' });
    expect(early.claims).toHaveLength(1);
    expect(rig.pop({ partition: 'p19' }).claims).toEqual([]);
    finish(rig, request);
    expect(request.outcome).toEqual(changed(1, 20));
    expect(cursor(rig, 'p0')?.lease?.id).toBe(early.leaseId);
    expect(rig.rows(cursors)).toHaveLength(1);
    expect(rig.pop({ partition: 'p19' }).claims).toHaveLength(1);
  });

  test('in pieces leaves a cursor that came to be ahead of it', () => {
    const rig = filled(MANY, 6);
    for (const partition of ['p0', 'p1']) rig.pop({ partition });
    const request = rig.send(deletion());
    rig.turn();
    rig.advance(10);
    const early = rig.pop({ partition: 'p19' });
    finish(rig, request);
    expect(request.outcome).toEqual(changed(1, 2));
    expect(rig.rows(cursors)).toHaveLength(1);
    expect(cursor(rig, 'p19')?.lease?.id).toBe(early.leaseId);
  });

  // Odd ones behind a pop of their turn, from 2 on with another leader in between.
  test.each([0, 1, 2, 3])('in pieces leaves what is behind it in its turn (way %i)', (way) => {
    const [before, leader] = [way % 2, way < 2 ? 1 : 2];
    const rig = filled(MANY, 6);
    for (const partition of ['p0', 'p1', 'p2']) rig.pop({ partition });
    const command = deletion({ queue: 'q' });
    if (before > 0) rig.send(rig.popCommand({ partition: 'p3' }));
    const request = rig.send(command);
    const send = (partition: string) => rig.send(rig.popCommand({ partition }));
    const behind = ['p19', 'p18', 'p0'].map(send);
    const registering = rig.send(rig.popCommand({ partitions: 1 }));
    while (registering.outcome === null) rig.turn();
    expect(request.outcome).toBeNull();
    // What was answered as acknowledged stays so.
    const first = behind[0]?.outcome;
    assert(first?.kind === 'popped', 'the pop was not answered');
    const number = first.claims[0]?.partitionNumber ?? 0;
    const acked = rig.ack(number, first.leaseId, [['p192', 'completed']]);
    expect(acked.items).toMatchObject([{ success: true }]);
    if (leader === 2) rig.restart(2);
    const asked = leader === 2 ? rig.send(command) : request;
    finish(rig, asked);
    expect(asked.outcome).toEqual(changed(1, 3 + before));
    expect(cursor(rig, 'p19')?.committed).toBe(2);
    for (const [i, name] of ['p18', 'p0'].entries()) {
      const leaseId = cursor(rig, name)?.lease?.id ?? 'none';
      expect(behind[i + 1]?.outcome).toMatchObject({ leaseId });
    }
    expect(cursor(rig, 'p3')).toBeUndefined();
    expect([rig.rows(groups).length, rig.rows(cursors).length]).toEqual([1, 4]);
  });

  test('in pieces forgets what a change has made that ends in its turn', () => {
    const rig = filled(MANY, 6);
    const before = rig.send(seek());
    for (let turns = 0; turns < 4; turns++) rig.turn();
    expect([cursor(rig, 'p17')?.committed, cursor(rig, 'p18')]).toEqual([2, undefined]);
    // It makes its last cursors at the start of the turn that plans the deletion.
    const request = rig.send(deletion({ queue: 'q' }));
    finish(rig, request);
    expect([before.outcome, request.outcome]).toEqual([changed(1, 20), changed(1, 20)]);
    expect(rig.rows(cursors)).toEqual([]);
  });

  test('in pieces waits for a turn of its own behind others, and not behind deletions', () => {
    const rig = filled(MANY, 6);
    for (const consumerGroup of ['g', 'h', 'i']) rig.pop({ consumerGroup });
    for (const consumerGroup of ['g', 'h']) rig.send(deletion({ consumerGroup }));
    const between = rig.send(rig.popCommand({ consumerGroup: 'j', partition: 'p0' }));
    rig.send(deletion({ consumerGroup: 'i' }));
    const behind = rig.send(rig.popCommand({ consumerGroup: 'j', partition: 'p1' }));
    rig.push('q', 'p0', ['pushes do not wait']);
    expect([between.outcome === null, behind.outcome === null]).toEqual([false, true]);
    rig.turn();
    expect(behind.outcome).toMatchObject({ claims: [{ partition: 'p1' }] });
    while (rig.planner.busy) rig.turn();
    expect(rig.rows(groups)).toEqual([]);
  });

  test('in one turn keeps its place among the commands of the turn', () => {
    const rig = filled(['a', 'b'], 6);
    rig.send(rig.popCommand({ partition: 'a' }));
    const request = rig.send(deletion());
    rig.send(rig.popCommand({ partition: 'b' }));
    rig.turn();
    expect(request.outcome).toEqual(changed(1, 1));
    expect([cursor(rig, 'a') === undefined, cursor(rig, 'b') === undefined]).toEqual([true, false]);
  });

  test('walks a tenant of many queues in pieces, also over a change of leader', () => {
    const rig = new EngineRig(DELIVERY_LIMITS, { groupChangeRowsMax: 3 });
    for (let i = 0; i < 9; i++) {
      for (const name of ['a', 'b']) rig.push(`q${i}`, name, ['x']);
      rig.pop({ queue: `q${i}`, partitions: 2 });
    }
    const command = deletion();
    rig.send(command);
    for (let i = 0; i < 4; i++) rig.turn();
    rig.restart(2);
    const again = rig.send(command);
    finish(rig, again);
    expect(again.outcome).toEqual(changed(9, 18));
    expect([rig.rows(cursors), rig.rows(groups)]).toEqual([[], []]);
  });
});

describe('another start point', () => {
  test('moves no cursor that the group has, written or not', () => {
    const rig = filled(['a', 'b']);
    rig.pop({ subscription: { mode: 'new' } });
    rig.push('q', 'a', ['a3']);
    expect(rig.call(subscribe(0)).outcome).toEqual(changed(1, 1));
    expect(rig.texts(rig.pop({ partitions: 2 }))).toEqual(['a3']);
    expect(rig.rows(groups)).toMatchObject([{ subscription: { mode: 'timestamp', atUs: 0 } }]);
  });

  test('counts for partitions that come later', () => {
    const rig = filled(['a']);
    rig.pop({ subscription: { mode: 'all' } });
    rig.call(subscribe(rig.wallUs + 5_000_000));
    rig.push('q', 'b', ['early']);
    rig.advance(6000);
    rig.push('q', 'b', ['late']);
    expect(rig.texts(rig.pop({ partition: 'b' }))).toEqual(['late']);
  });

  test('counts for what an instant in the future has kept away', () => {
    const rig = filled(['a']);
    rig.pop({ subscription: { mode: 'timestamp', atUs: rig.wallUs + 5_000_000 } });
    const waiting = rig.wait();
    expect(waiting.outcome).toBeNull();
    rig.call(subscribe(0));
    rig.turn();
    expect(rig.texts(waiting.outcome)).toEqual(['a0', 'a1', 'a2']);
  });

  test('of a group that is not registered, or of queue mode, rewrites nothing', () => {
    const rig = filled(['a']);
    rig.pop({ consumerGroup: QUEUE_MODE_GROUP });
    expect(rig.call(subscribe(0, 'nobody')).outcome).toEqual(changed(1, 0));
    expect(rig.call(subscribe(0, QUEUE_MODE_GROUP)).outcome).toEqual(changed(1, 0));
  });

  test('in pieces, at many queues', () => {
    const rig = new EngineRig(DELIVERY_LIMITS, { groupChangeRowsMax: 2 });
    for (let i = 0; i < 5; i++) {
      for (const name of ['a', 'b', 'c']) rig.push(`q${i}`, name, ['x']);
      if (i !== 2) rig.pop({ queue: `q${i}`, subscription: { mode: 'new' } });
    }
    const request = rig.send(subscribe(7));
    finish(rig, request);
    expect(request.outcome).toEqual(changed(5, 4));
    expect(rig.rows(groups).map(({ subscription }) => subscription)).toEqual(
      Array.from({ length: 4 }, () => ({ mode: 'timestamp', atUs: 7 })),
    );
    expect(rig.rows(cursors)).toHaveLength(12);
    expect(rig.rows(cursors).every(({ committed }) => committed === 0)).toBe(true);
  });
});
