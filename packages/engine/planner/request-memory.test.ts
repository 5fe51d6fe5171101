/**
 * Goal: a request that is sent again under its id has its effects once and gets its first outcome,
 * whatever stage it is in, whoever leads, and its record is gone when nobody will ask for it.
 * Method: each stage by itself, with one leader and with another one after it.
 */
import { describe, expect, test } from 'vitest';
import {
  type Command,
  DEADLINE_OVER,
  type Outcome,
  type PopCommand,
} from '../base/commands/commands.js';
import type { Key } from '../base/state.js';
import { requests } from '../base/tables.js';
import { newRequestSession, type RequestOrigin } from '../state/request-id.js';
import { popCommand, pushCommand, TENANT } from '../testing/engine.fake.js';
import { RequestGroup } from '../testing/request-group.fake.js';

const SESSION = newRequestSession(2 ** 33 + 7, 1, 2);
const OTHER = newRequestSession(2 ** 33 + 7, 1, 3);

function origin(sequence: number, settledBelow = 0, settled: number[] = []): RequestOrigin {
  return { session: SESSION, sequence, settledBelow, settled };
}

function push(text: string): Command {
  return pushCommand('q', 'p', [text], false);
}

function pop(group: RequestGroup, options: Partial<PopCommand> = {}): PopCommand {
  return { ...popCommand(group.nowMs, { batch: 10, autoAck: true }), ...options };
}

/** Outcomes in the order in which they came. */
function listener(): { readonly heard: Outcome[]; readonly hear: (outcome: Outcome) => void } {
  const heard: Outcome[] = [];
  return { heard, hear: (outcome) => heard.push(outcome) };
}

function recordCount(group: RequestGroup): number {
  return group.state.range(requests, '' as Key, '\xff'.repeat(30) as Key, 1_000_000).length;
}

function call(group: RequestGroup, command: Command, from: RequestOrigin | null): Outcome {
  const { heard, hear } = listener();
  group.send(command, from, hear);
  group.settleDown();
  expect(heard).toHaveLength(1);
  return heard[0] as Outcome;
}

function reasonOf(outcome: Outcome | undefined): string | null {
  return outcome?.kind === 'refused' ? outcome.refusal.reason : null;
}

describe('a push sent again', () => {
  test('while it waits for its turn is planned once, and answered to the last copy', () => {
    const group = new RequestGroup();
    const [first, second] = [listener(), listener()];
    group.send(push('a'), origin(1), first.hear);
    group.send(push('a'), origin(1), second.hear);
    group.settleDown();
    expect(group.stored()).toEqual(['a']);
    expect([first.heard.length, second.heard.map(({ kind }) => kind)]).toEqual([0, ['pushed']]);
  });

  test('while its entry is in flight gets the outcome of that entry', () => {
    const group = new RequestGroup();
    const [first, second] = [listener(), listener()];
    group.send(push('a'), origin(1), first.hear);
    group.turn();
    group.send(push('a'), origin(1), second.hear);
    group.turn();
    expect(second.heard).toEqual([]);
    group.settleDown();
    expect(group.stored()).toEqual(['a']);
    expect(second.heard).toEqual(first.heard);
    expect(second.heard).toHaveLength(1);
  });

  test.each([0, 1])('to the next leader, %i entries kept, is stored once', (kept) => {
    const group = new RequestGroup();
    const first = listener();
    group.send(push('a'), origin(1), first.hear);
    group.turn();
    group.elect(kept);
    const again = call(group, push('a'), origin(1));
    expect(again.kind).toBe('pushed');
    expect([first.heard, group.stored()]).toEqual([[], ['a']]);
    group.elect(0);
    expect(call(group, push('a'), origin(1))).toEqual(again);
    expect(group.stored()).toEqual(['a']);
  });

  test('of another session or without an id is another push', () => {
    const group = new RequestGroup();
    call(group, push('a'), origin(1));
    call(group, push('a'), { ...origin(1), session: OTHER });
    call(group, push('a'), null);
    call(group, push('a'), null);
    expect(group.stored()).toEqual(['a', 'a', 'a', 'a']);
  });
});

describe('a pop sent again', () => {
  test('gets the messages that it took, from the next leader too', () => {
    const group = new RequestGroup();
    for (const text of ['a', 'b', 'c']) call(group, push(text), null);
    const first = call(group, pop(group, { batch: 2 }), origin(1));
    expect(first.kind === 'popped' && first.claims[0]?.slices.length).toBe(2);
    expect(call(group, pop(group, { batch: 2 }), origin(1))).toEqual(first);
    group.elect(0);
    expect(call(group, pop(group, { batch: 2 }), origin(1))).toEqual(first);
    const next = call(group, pop(group), origin(2));
    expect(next.kind === 'popped' && next.claims[0]?.slices.map(({ first }) => first)).toEqual([2]);
  });

  test('while it is parked takes the place of the copy before it', () => {
    const group = new RequestGroup();
    const [first, second] = [listener(), listener()];
    const waiting = pop(group, { wait: true });
    const copy = group.send(waiting, origin(1), first.hear);
    group.settleDown();
    const again = group.send(waiting, origin(1), second.hear);
    group.settleDown();
    expect([group.planner.parked, group.planner.withdraw(copy)]).toEqual([1, false]);
    call(group, push('a'), null);
    expect(first.heard).toEqual([]);
    expect(second.heard).toMatchObject([{ kind: 'popped', claims: [{ partition: 'p' }] }]);
    expect([group.planner.parked, group.planner.withdraw(again)]).toEqual([0, false]);
  });

  test('that was parked and withdrawn is as if it had never come', () => {
    const group = new RequestGroup();
    const gone = listener();
    const copy = group.send(pop(group, { wait: true }), origin(1), gone.hear);
    group.settleDown();
    expect([group.planner.knows(origin(1)), group.planner.withdraw(copy)]).toEqual([true, true]);
    expect(group.planner.knows(origin(1))).toBe(false);
    call(group, push('a'), null);
    expect(call(group, pop(group), origin(1))).toMatchObject({ claims: [{ partition: 'p' }] });
    expect(gone.heard).toEqual([]);
  });

  test('gets its empty outcome from the same leader, even if there are messages now', () => {
    const group = new RequestGroup();
    const first = call(group, pop(group), origin(1));
    call(group, push('a'), null);
    expect(call(group, pop(group), origin(1))).toEqual(first);
    expect(recordCount(group)).toBe(0);
  });

  test('after its deadline learns what became of it and takes nothing', () => {
    const group = new RequestGroup();
    call(group, push('a'), null);
    const over = { deadlineMs: DEADLINE_OVER, wait: true };
    expect(call(group, pop(group, over), origin(1))).toMatchObject({ claims: [] });
    const taken = call(group, pop(group), origin(2));
    group.elect(0);
    expect(call(group, pop(group, over), origin(2))).toEqual(taken);
    expect(call(group, pop(group, over), origin(3))).toMatchObject({ claims: [] });
  });
});

describe('other commands sent again', () => {
  test('get their first outcome: an ack, an extension, a configuration', () => {
    const group = new RequestGroup();
    call(group, push('a'), null);
    const taken = call(group, pop(group, { autoAck: false }), origin(1));
    const leaseId = taken.kind === 'popped' ? taken.leaseId : '';
    const extend: Command = { kind: 'extend', tenant: TENANT, leaseId, seconds: 60 };
    const configure: Command = {
      kind: 'configure',
      tenant: TENANT,
      queue: 'q',
      replace: false,
      changes: { leaseTime: 9 },
    };
    const item = { partitionId: '1', leaseId, status: 'failed', error: 'x' } as const;
    const first = taken.kind === 'popped' ? taken.claims[0]?.slices[0] : undefined;
    expect(first?.first).toBe(0);
    const ack: Command = {
      kind: 'ack',
      tenant: TENANT,
      consumerGroup: 'g',
      items: [{ ...item, transactionId: 'no such' }],
    };
    const outcomes = [extend, configure, ack].map((command, i) =>
      call(group, command, origin(2 + i)),
    );
    group.advance(5000);
    call(group, { ...configure, changes: { leaseTime: 10 } }, null);
    group.elect(0);
    [extend, configure].forEach((command, i) => {
      expect(call(group, command, origin(2 + i))).toEqual(outcomes[i]);
    });
    expect(recordCount(group)).toBe(3);
  });

  test('a deletion that is still swept is answered with the last row, whoever leads', () => {
    const group = new RequestGroup();
    for (let i = 0; i < 9; i++) call(group, pushCommand('q', `p${i}`, ['a'], false), null);
    const remove: Command = { kind: 'delete-queue', tenant: TENANT, queue: 'q' };
    const first = listener();
    group.send(remove, origin(1), first.hear);
    group.turn();
    group.apply();
    group.elect(0);
    const again = listener();
    group.send(remove, origin(1), again.hear);
    group.turn();
    group.apply();
    expect(again.heard).toEqual([]);
    group.settleDown();
    expect([first.heard, again.heard]).toEqual([[], [{ kind: 'deleted', existed: true }]]);
    expect(call(group, remove, origin(1))).toEqual({ kind: 'deleted', existed: true });
    expect(call(group, remove, origin(2))).toEqual({ kind: 'deleted', existed: false });
  });
});

describe('a settled request', () => {
  test('is neither planned nor answered with anything, and its record goes', () => {
    const group = new RequestGroup();
    for (const sequence of [1, 2, 3]) call(group, push(`${sequence}`), origin(sequence));
    expect(recordCount(group)).toBe(3);
    call(group, push('4'), origin(4, 2, [3]));
    expect(recordCount(group)).toBe(2);
    for (const sequence of [1, 3]) {
      expect(reasonOf(call(group, push('again'), origin(sequence)))).toBe('outcome_unknown');
    }
    expect(call(group, push('again'), origin(2)).kind).toBe('pushed');
    expect(group.stored()).toEqual(['1', '2', '3', '4']);
  });

  test('that waits for its turn is not planned any more, and a parked one does not wait', () => {
    const group = new RequestGroup();
    const [queued, parked] = [listener(), listener()];
    group.send(pop(group, { wait: true }), origin(1), parked.hear);
    group.settleDown();
    group.send(push('a'), origin(2), queued.hear);
    group.planner.settle(SESSION, 3, []);
    group.settleDown();
    expect([group.planner.parked, group.stored()]).toEqual([0, []]);
    expect([queued, parked].map(({ heard }) => heard.map(reasonOf))).toEqual([
      ['outcome_unknown'],
      ['outcome_unknown'],
    ]);
  });

  test('that a turn had no room for is not planned by a later one either', () => {
    const group = new RequestGroup(60_000, 1);
    const configure = (leaseTime: number): Command => {
      const changes = { leaseTime };
      return { kind: 'configure', tenant: TENANT, queue: 'q', replace: false, changes };
    };
    const [first, second] = [listener(), listener()];
    group.send(configure(7), null, first.hear);
    group.send(configure(8), origin(1), second.hear);
    group.planner.settle(SESSION, 2, []);
    group.settleDown();
    expect(first.heard).toMatchObject([{ options: { leaseTime: 7 } }]);
    expect(second.heard.map(reasonOf)).toEqual(['outcome_unknown']);
    expect(group.entries).toBe(1);
  });

  test('does not make an entry by itself', () => {
    const group = new RequestGroup();
    call(group, push('a'), origin(1));
    const { entries } = group;
    group.planner.settle(SESSION, 2, []);
    group.turn();
    expect([group.entries, group.inFlight, recordCount(group)]).toEqual([entries, 0, 1]);
    call(group, push('b'), null);
    expect(recordCount(group)).toBe(0);
  });

  test('whose settlement came before it is not planned', () => {
    const group = new RequestGroup();
    group.planner.settle(SESSION, 0, [5]);
    expect(reasonOf(call(group, push('a'), origin(5)))).toBe('outcome_unknown');
    expect(group.stored()).toEqual([]);
  });
});

describe('a record that nobody settles', () => {
  test('goes when the window is over, whichever leader it met', () => {
    const group = new RequestGroup(60_000);
    for (let sequence = 1; sequence <= 2500; sequence++) {
      group.send(push(`${sequence}`), origin(sequence), () => {});
    }
    group.settleDown();
    group.elect(0);
    expect(recordCount(group)).toBe(2500);
    group.turn();
    group.advance(50_000);
    group.turn();
    expect([group.inFlight, recordCount(group)]).toEqual([0, 2500]);
    for (let steps = 0; steps < 10; steps++) {
      group.advance(16_000);
      expect(group.planner.nextDueMs() ?? 0).toBeLessThanOrEqual(group.nowMs);
      group.turn();
      while (group.inFlight > 0) group.apply();
    }
    expect(recordCount(group)).toBe(0);
    expect(reasonOf(call(group, push('late'), origin(7)))).toBe(null);
  });

  test('is forgotten with its session, and then there is nothing to look after', () => {
    const group = new RequestGroup(1000);
    call(group, push('a'), origin(1));
    expect(group.planner.nextDueMs()).not.toBeNull();
    for (let steps = 0; steps < 12; steps++) {
      group.advance(500);
      group.settleDown();
      group.turn();
      while (group.inFlight > 0) group.apply();
    }
    expect([recordCount(group), group.planner.nextDueMs()]).toEqual([0, null]);
  });
});
