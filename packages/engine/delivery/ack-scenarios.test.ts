// Goal: what an acknowledgement does beyond the scenarios of message-plane 14.1, which
// `test/contract/tables/ack-scenarios.ts` and `delivery-scenarios.ts` play on one node and on
// three. Method: each case goes through the planner turn by turn, once as it is and once with a new
// leader after every step, which knows nothing but the rows.
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { AckStatus, PoppedOutcome } from '../base/commands/commands.js';
import { numberNameKey } from '../base/keys.js';
import type { CursorRow } from '../base/rows.js';
import { cursors, partitions } from '../base/tables.js';
import { EngineRig } from '../testing/engine.fake.js';

describe.each([
  ['one leader', false],
  ['a new leader after every step', true],
])('%s', (_name, restarts) => {
  let rig: EngineRig;
  let popped: PoppedOutcome;

  const step = () => {
    if (restarts) rig.restart();
  };

  const pop = (): PoppedOutcome => {
    popped = rig.pop({ partition: 'p' });
    step();
    return popped;
  };

  const ack = (
    words: readonly (readonly [string, AckStatus])[],
    leaseId: string = popped.leaseId,
  ) => {
    const { items } = rig.ack(partition(), leaseId, words);
    step();
    return items;
  };

  const partition = () => rig.rows(partitions).find(({ name }) => name === 'p')?.number ?? 0;

  const cursor = (): CursorRow => {
    const row = rig.state.get(cursors, numberNameKey(partition(), 'g'));
    if (row === undefined) throw new Error('no cursor');
    return row;
  };

  const deliveries = () => {
    const messages = rig.messages(pop());
    return { texts: messages.map(({ text }) => text), attempt: messages[0]?.attempt };
  };

  /** Partition p with a, b, c leased by one pop. */
  const lease = () => {
    rig.push('q', 'p', ['a', 'b', 'c']);
    step();
    expect(rig.texts(pop())).toEqual(['a', 'b', 'c']);
  };

  beforeEach(() => {
    rig = new EngineRig();
  });

  test('an ack that is refused item by item writes no entry', () => {
    lease();
    const entries = rig.entries;
    expect(ack([['zzz', 'completed']])[0]).toMatchObject({ success: false, leaseReleased: false });
    expect(rig.entries).toBe(entries);
    expect(cursor().committed).toBe(-1);
  });

  test('an expired lease is not a lease, even before the next claim', () => {
    lease();
    rig.advance(30_002);
    expect(ack([['a', 'completed']])[0]).toMatchObject({ error: 'invalid or expired lease' });
    expect(rig.extend(popped.leaseId, 60)).toMatchObject({ renewed: 0, expiresAtUs: null });
  });

  test('the repetition of the ack that settled a lease succeeds, at any time', () => {
    lease();
    const all = (['a', 'b', 'c'] as const).map((id) => [id, 'completed'] as const);
    const first = popped.leaseId;
    ack(all);
    rig.push('q', 'p', ['d']);
    pop();
    const again = ack(all, first);
    expect(again).toHaveLength(3);
    for (const item of again) {
      expect(item).toEqual({
        success: true,
        error: null,
        leaseReleased: true,
        dlq: false,
        noop: true,
      });
    }
    expect(cursor()).toMatchObject({ committed: 2, lease: { id: popped.leaseId } });
  });

  test('a partial ack keeps the attempt of what is redelivered', () => {
    lease();
    ack([['a', 'completed']]);
    rig.advance(30_002);
    expect(deliveries()).toEqual({ texts: ['b', 'c'], attempt: 2 });
  });

  test('a claim that is given back never happened', () => {
    lease();
    rig.giveBack(popped);
    step();
    expect(deliveries()).toEqual({ texts: ['a', 'b', 'c'], attempt: 1 });
    rig.advance(30_002);
    pop();
    rig.giveBack(popped);
    step();
    expect(deliveries()).toEqual({ texts: ['a', 'b', 'c'], attempt: 2 });
  });

  test('minted ids resolve without an index', () => {
    rig.push('q', 'p', ['a', 'b'], false);
    rig.push('q', 'p', ['c'], false);
    pop();
    const ids = rig.minted('p', [1, 2]);
    expect(ack([[ids[0] ?? '', 'completed']])[0]).toMatchObject({ success: true, noop: false });
    expect(cursor().committed).toBe(1);
    expect(ack([[(ids[1] ?? '').toUpperCase(), 'completed']])[0]).toMatchObject({ success: false });
    expect(ack([[ids[1] ?? '', 'dlq']])[0]).toMatchObject({ success: true, dlq: true });
    expect(rig.deadLetters()[0]).toMatchObject({ transactionId: ids[1], messageId: ids[1] });
  });

  test('a leased message is acknowledged after the index has forgotten its id', () => {
    rig.push('q', 'p', ['a', 'b', 'c']);
    rig.advance(901_000);
    pop();
    rig.transactions.clear();
    expect(ack([['b', 'completed']])[0]).toMatchObject({ success: true });
    expect(ack([['zzz', 'completed']])[0]).toMatchObject({ success: false });
    expect(cursor().committed).toBe(1);
  });

  test('an id that is named many times is looked up once', () => {
    lease();
    const looks = vi.spyOn(rig.transactions, 'find');
    const items = ack(['a', 'a', 'a', 'a'].map((id) => [id, 'completed'] as const));
    expect(items.map(({ success }) => success)).toEqual([true, true, true, true]);
    expect(looks).toHaveBeenCalledTimes(1);
  });
});
