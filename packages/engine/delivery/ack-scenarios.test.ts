// Goal: the scenario seeds of message-plane 14.1 that concern pops, acks and leases.
// Method: each row is played through the planner turn by turn, once as it is and once with a new
// leader after every step, which knows nothing but the rows.
import { beforeEach, describe, expect, test } from 'vitest';
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
  const lease = (options: Record<string, number | boolean> = {}) => {
    rig.configure('q', options);
    rig.push('q', 'p', ['a', 'b', 'c']);
    step();
    expect(rig.texts(pop())).toEqual(['a', 'b', 'c']);
  };

  beforeEach(() => {
    rig = new EngineRig();
  });

  test('1: completed c settles all', () => {
    lease();
    expect(ack([['c', 'completed']])).toEqual([
      { success: true, error: null, leaseReleased: true, dlq: false, noop: false },
    ]);
    expect(cursor()).toMatchObject({ committed: 2, lease: null, totalConsumed: 3 });
    expect(rig.texts(pop())).toEqual([]);
  });

  test('2: completed b keeps the lease, then c releases it', () => {
    lease();
    expect(ack([['b', 'completed']])[0]).toMatchObject({ success: true, leaseReleased: false });
    expect(cursor()).toMatchObject({ committed: 1, attemptOffset: 2, attempt: 1 });
    expect(rig.texts(rig.pop({ partition: 'p' }))).toEqual([]);
    expect(ack([['c', 'completed']])[0]).toMatchObject({ success: true, leaseReleased: true });
    expect(cursor().committed).toBe(2);
  });

  test('3: failed a with completed c redelivers all', () => {
    lease();
    const items = ack([
      ['a', 'failed'],
      ['c', 'completed'],
    ]);
    expect(items.map((item) => [item.success, item.leaseReleased])).toEqual([
      [true, true],
      [true, true],
    ]);
    expect(cursor()).toMatchObject({ committed: -1, retries: 1, lease: null });
    expect(deliveries()).toEqual({ texts: ['a', 'b', 'c'], attempt: 2 });
  });

  test('4: dlq beats failed at one offset', () => {
    lease();
    ack([
      ['a', 'failed'],
      ['a', 'dlq'],
    ]);
    expect(rig.deadLetters()).toHaveLength(1);
    expect(cursor().committed).toBe(0);
  });

  test('5: dlq a files it and redelivers the rest as new', () => {
    lease();
    const { items } = rig.ack(partition(), popped.leaseId, [['a', 'dlq', 'jam']]);
    step();
    expect(items).toEqual([
      { success: true, error: null, leaseReleased: true, dlq: true, noop: false },
    ]);
    const [letter] = rig.deadLetters();
    expect(letter).toMatchObject({
      group: 'g',
      offset: 0,
      transactionId: 'a',
      producerSub: 'sub',
      retries: 0,
      error: 'jam',
    });
    expect(new TextDecoder().decode(letter?.payload)).toBe('a');
    expect(cursor().committed).toBe(0);
    expect(deliveries()).toEqual({ texts: ['b', 'c'], attempt: 1 });
  });

  test('6: the second failure is one too many', () => {
    lease({ retryLimit: 1 });
    ack([['a', 'failed']]);
    pop();
    expect(ack([['a', 'failed']])[0]).toMatchObject({ success: true, dlq: true });
    const [letter] = rig.deadLetters();
    expect(letter).toMatchObject({ transactionId: 'a', retries: 1, error: 'Retries exhausted' });
    expect(cursor()).toMatchObject({ committed: 0, retries: 0 });
  });

  test('7: three rounds of failing everything', () => {
    lease({ retryLimit: 2 });
    const all = (['a', 'b', 'c'] as const).map((id) => [id, 'failed'] as const);
    ack(all);
    expect(cursor().retries).toBe(1);
    pop();
    ack(all);
    expect(cursor().retries).toBe(2);
    pop();
    ack(all);
    expect(
      rig
        .deadLetters()
        .map((row) => row.transactionId)
        .sort(),
    ).toEqual(['a', 'b', 'c']);
    expect(cursor()).toMatchObject({ committed: 2, retries: 0 });
  });

  test.each([
    ['8', 0, ['failed', 'completed', 'completed'], ['a'], 2, 0],
    ['9', 0, ['failed', 'retry', 'failed'], ['a'], 0, 0],
    ['10', 0, ['failed', null, 'failed'], ['a'], 0, 0],
    ['11', 3, ['dlq', 'failed', 'dlq'], ['a'], 0, 0],
  ] as const)('%s: settling after a filed head', (_row, retryLimit, words, filed, at, retries) => {
    lease({ retryLimit });
    const ids = ['a', 'b', 'c'];
    ack(words.flatMap((word, i) => (word === null ? [] : [[ids[i] ?? '', word] as const])));
    expect(rig.deadLetters().map((row) => row.transactionId)).toEqual(filed);
    expect(cursor()).toMatchObject({ committed: at, retries, lease: null });
    const left = ids.slice(at + 1);
    expect(rig.texts(pop())).toEqual(left);
  });

  test('11: the counter survives settling that stops at a failure with budget', () => {
    lease({ retryLimit: 3 });
    ack([['a', 'failed']]);
    pop();
    ack([
      ['a', 'dlq'],
      ['b', 'failed'],
      ['c', 'dlq'],
    ]);
    expect(rig.deadLetters()).toHaveLength(1);
    expect(cursor()).toMatchObject({ committed: 0, retries: 1 });
  });

  test('12: without a dead-letter queue the message is dropped', () => {
    lease({ retryLimit: 0, deadLetterQueue: false, dlqAfterMaxRetries: false });
    expect(ack([['a', 'failed']])[0]).toMatchObject({ success: true, dlq: false });
    expect(rig.deadLetters()).toEqual([]);
    expect(cursor().committed).toBe(0);
  });

  test('13: retry charges nothing and counts as an attempt', () => {
    lease();
    ack([['a', 'retry']]);
    expect(cursor()).toMatchObject({ committed: -1, retries: 0 });
    expect(deliveries()).toEqual({ texts: ['a', 'b', 'c'], attempt: 2 });
  });

  test('14: below the cursor', () => {
    lease();
    ack([['b', 'completed']]);
    expect(ack([['a', 'completed']])[0]).toMatchObject({ success: true, noop: true, error: null });
    expect(ack([['a', 'failed']])[0]).toMatchObject({
      success: false,
      noop: false,
      error: 'already committed: the cursor moved past this message before this ack',
    });
    expect(cursor().committed).toBe(1);
  });

  test('15: an unknown id', () => {
    lease();
    const entries = rig.entries;
    expect(ack([['zzz', 'completed']])[0]).toMatchObject({
      success: false,
      leaseReleased: false,
      error:
        'unresolvable: transaction not in the ack window (hash purged or never pushed); ' +
        'if leased, the message redelivers',
    });
    expect(rig.entries).toBe(entries);
    expect(cursor().committed).toBe(-1);
  });

  test('16: another lease id', () => {
    lease();
    const other = '01a2b3c4-1111-7000-8000-00000000000a';
    expect(ack([['a', 'completed']], other)[0]).toMatchObject({
      success: false,
      error: 'invalid or expired lease',
    });
    expect(cursor().lease?.id).toBe(popped.leaseId);
  });

  test('17: without a lease id nothing is fenced', () => {
    lease();
    expect(ack([['c', 'completed']], '')[0]).toMatchObject({ success: true, leaseReleased: true });
    expect(cursor()).toMatchObject({ committed: 2, lease: null });
  });

  test('18: an expired lease redelivers and charges nothing', () => {
    rig.push('q', 'p', ['a', 'b', 'c']);
    const first = rig.pop({ partition: 'p', leaseSeconds: 1 });
    step();
    rig.advance(998);
    expect(rig.texts(pop())).toEqual([]);
    rig.advance(4);
    expect(deliveries()).toEqual({ texts: ['a', 'b', 'c'], attempt: 2 });
    expect(cursor().retries).toBe(0);
    expect(ack([['a', 'completed']], first.leaseId)[0]).toMatchObject({
      error: 'invalid or expired lease',
    });
  });

  test('18: an expired lease is not a lease, even before the next claim', () => {
    lease();
    rig.advance(30_002);
    expect(ack([['a', 'completed']])[0]).toMatchObject({ error: 'invalid or expired lease' });
    expect(rig.extend(popped.leaseId, 60)).toMatchObject({ renewed: 0, expiresAtUs: null });
  });

  test('19: one lease per group', () => {
    lease();
    expect(rig.texts(rig.pop({ partition: 'p' }))).toEqual([]);
    expect(rig.texts(rig.pop())).toEqual([]);
    expect(rig.texts(rig.pop({ consumerGroup: 'other' }))).toEqual(['a', 'b', 'c']);
  });

  test('20: eight partitions of three, two messages and three partitions a pop', () => {
    for (let p = 0; p < 8; p++) rig.push('q', `p${p}`, ['a', 'b', 'c']);
    const seen = new Set<string>();
    const leases = new Map<number, string>();
    for (let round = 0; round < 100; round++) {
      const answer = rig.pop({ batch: 2, partitions: 3 });
      step();
      if (answer.claims.length === 0) break;
      for (const { number, offset } of rig.messages(answer)) {
        expect(seen.has(`${number}/${offset}`)).toBe(false);
        seen.add(`${number}/${offset}`);
      }
      for (const { partitionNumber } of answer.claims) {
        expect(leases.has(partitionNumber)).toBe(false);
        leases.set(partitionNumber, answer.leaseId);
      }
    }
    expect(leases.size).toBe(8);
    expect(seen.size).toBe(16);
  });

  test('21: one budget and one lease over two partitions', () => {
    rig.push('q', 'p1', ['a', 'b']);
    rig.push('q', 'p2', ['c', 'd']);
    const answer = rig.pop({ batch: 3, partitions: 2 });
    expect(rig.texts(answer)).toEqual(['a', 'b', 'c']);
    step();
    const { renewed, expiresAtUs } = rig.extend(answer.leaseId, 100);
    expect(renewed).toBe(2);
    expect(expiresAtUs).toBeGreaterThanOrEqual(rig.wallUs + 100_000_000);
    expect(rig.rows(cursors).map((row) => row.lease?.expiresAtUs)).toEqual([
      expiresAtUs,
      expiresAtUs,
    ]);
  });

  test('22: new skips the backlog, but reads a new partition from its start', () => {
    rig.push('q', 'old', ['a', 'b']);
    rig.advance(1);
    const fresh = { subscription: { mode: 'new' } } as const;
    expect(rig.texts(rig.pop(fresh))).toEqual([]);
    step();
    rig.advance(1);
    rig.push('q', 'young', ['c']);
    rig.push('q', 'old', ['d']);
    step();
    expect(rig.texts(rig.pop({ ...fresh, partitions: 2 })).sort()).toEqual(['c', 'd']);
  });

  test('23: a pinned pop leaves the other partitions to the group', () => {
    rig.push('q', 'p', ['a']);
    rig.push('q', 'other', ['b']);
    expect(rig.texts(rig.pop({ partition: 'p' }))).toEqual(['a']);
    step();
    expect(rig.texts(rig.pop({ partitions: 9 }))).toEqual(['b']);
  });

  test.each(['delayedProcessing', 'windowBuffer'])('24: %s', (option) => {
    rig.configure('q', { [option]: 5 });
    rig.push('q', 'p', ['a']);
    step();
    rig.advance(4_998);
    expect(rig.texts(rig.pop())).toEqual([]);
    step();
    rig.advance(4);
    expect(rig.texts(rig.pop())).toEqual(['a']);
  });

  test('30: a payload is delivered as it was pushed', () => {
    const payload = '{"b":1,"a":1.0,"x":12345678901234567890}';
    rig.push('q', 'p', [payload]);
    step();
    expect(rig.texts(pop())).toEqual([payload]);
  });

  test('D11: the repetition of the ack that settled a lease succeeds, at any time', () => {
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
});
