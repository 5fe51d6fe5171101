/**
 * What can stand in a follower's way: each text, and each way into `waiting` and `halted` and out
 * (standby-link 5 and 12).
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { entryOf, head, OWN, Rig, SOURCE } from './follower.fake.js';
import { BACK_OFF_MS_MAX, HALTED_MS, READ_WAIT_MS } from './follower.js';

let rig: Rig;

beforeEach(() => {
  rig = new Rig();
});

describe('waiting', () => {
  test('a node that fails is followed by the next, with pauses that double', () => {
    rig.leads();
    const asked: string[] = [];
    const pauses: number[] = [];
    for (let i = 0; i < 8; i++) {
      asked.push(rig.port.last.address);
      rig.fail(`http://${rig.port.last.address}: ECONNREFUSED`);
      expect(rig.status).toBe(`waiting: http://${rig.port.last.address}: ECONNREFUSED`);
      const [reads, sinceMs] = [rig.port.reads.length, rig.nowMs];
      while (rig.port.reads.length === reads) rig.tickAfter(rig.nextDueMs() - rig.nowMs);
      pauses.push(rig.nowMs - sinceMs);
      expect(rig.port.last.request.waitMs).toBe(0);
    }
    expect(asked).toEqual(['a:1', 'b:1', 'c:1', 'a:1', 'b:1', 'c:1', 'a:1', 'b:1']);
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, BACK_OFF_MS_MAX, BACK_OFF_MS_MAX]);
    rig.answerWith([]);
    expect(rig.status).toBe('following');
    rig.fail('again');
    expect(rig.nextDueMs()).toBe(rig.nowMs + 100);
  });

  test('what was read and not handed over is dropped when the connection breaks', () => {
    rig.follows();
    rig.office.answer = ({ index }) => (index === 11 ? null : { kind: 'full' });
    const { call } = rig.port.last;
    rig.follower.answered(call, head(), rig.nowMs);
    for (const index of [11, 12, 13]) rig.follower.entry(call, entryOf(index), rig.nowMs);
    rig.follower.failed(call, 'cut', rig.nowMs);
    rig.office.answer = null;
    rig.room();
    rig.tickAfter(100);
    expect(rig.port.last.request.after).toBe(11);
    rig.answerWith([entryOf(12), entryOf(13)]);
    expect(rig.office.taken).toEqual([11, 12, 13]);
  });

  test('a node that is behind is passed over at once', () => {
    rig.follows();
    rig.answer({ applied: 9 });
    expect(rig.status).toBe('following');
    expect(rig.port.last.address).toBe('b:1');
    rig.answer();
    rig.entry(entryOf(11));
    expect(rig.office.taken).toEqual([11]);
  });

  test('when all are behind it says how far the source is', () => {
    rig.follows();
    for (const applied of [5, 9, 7]) rig.answer({ applied });
    expect(rig.status).toBe(
      'waiting: the source has applied 9 and this standby is at 10: ' +
        'no node of the source is as far as the standby',
    );
    expect(rig.nextDueMs()).toBe(rig.nowMs + 100);
    // A node that does gets it on, and the next round begins from nothing.
    rig.tickAfter(100);
    rig.answerWith([entryOf(11)]);
    expect(rig.status).toBe('following');
    rig.answer({ applied: 5 });
    expect(rig.status).toBe('following');
  });

  test('when one failed and the others are behind it says what failed', () => {
    rig.follows();
    rig.answer({ applied: 5 });
    rig.fail('refused');
    rig.tickAfter(100);
    rig.answer({ applied: 5 });
    expect(rig.status).toBe('waiting: refused');
    expect(rig.nextDueMs()).toBe(rig.nowMs + 200);
  });

  test('for an upgrade it waits, and asks again from the position', () => {
    const error =
      'source entry 11 raises the cluster version to 9, and not every member of this standby is ' +
      'known to read it: upgrade the standby first';
    rig.follows();
    rig.office.answer = () => ({ kind: 'waits', error });
    rig.answerWith([entryOf(11), entryOf(12)]);
    expect(rig.status).toBe(`waiting: ${error}`);
    expect(rig.nextDueMs()).toBe(rig.nowMs + 100);
    rig.tickAfter(100);
    expect(rig.port.last).toMatchObject({ address: 'a:1', request: { after: 10 } });
    rig.answerWith([entryOf(11)]);
    expect(rig.nextDueMs()).toBe(rig.nowMs + 200);
    rig.tickAfter(200);
    rig.office.answer = null;
    rig.answerWith([entryOf(11)]);
    expect(rig.status).toBe('following');
    expect(rig.office.taken).toEqual([11]);
  });

  test('a position that moved is read anew, and no obstacle', () => {
    rig.follows();
    const { call } = rig.port.last;
    rig.follower.answered(call, head(), rig.nowMs);
    rig.office.position = { index: 20, term: 3 };
    rig.follower.entry(call, entryOf(11), rig.nowMs);
    expect(rig.status).toBe('following');
    expect(rig.port.log).toEqual([`cancel ${call}`]);
    rig.tickAfter(100);
    expect(rig.port.last.request).toMatchObject({ after: 20, afterTerm: 3 });
  });
});

describe('halted', () => {
  const purged = (address: string, upto: number) =>
    `halted: the source node ${address} purged its log up to ${upto} and this standby is at 10: ` +
    'it needs a new seed';

  test('when the only node has purged what comes next', () => {
    rig = new Rig(['a:1']);
    rig.leads();
    rig.answer({ kind: 'purged', purged: 17 });
    expect(rig.status).toBe(purged('a:1', 17));
  });

  test('when one node has purged it the others are asked before', () => {
    rig.follows();
    rig.answer({ kind: 'purged', purged: 17 });
    expect(rig.status).toBe('following');
    rig.fail('refused');
    rig.tickAfter(100);
    rig.answer({ kind: 'purged', purged: 19 });
    expect(rig.status).toBe(purged('c:1', 19));
  });

  test('when the source has another entry at the position', () => {
    rig.leads();
    rig.answer({ kind: 'mismatch', term: 7 });
    expect(rig.status).toBe(
      "halted: the source's entry 10 has term 7 and this standby replayed term 2: " +
        'it followed another log and needs a new seed',
    );
  });

  test('when the source has no entry at the position', () => {
    rig.leads();
    rig.answer({ kind: 'mismatch', term: null });
    expect(rig.status).toBe(
      'halted: the source has no entry 10, which this standby replayed with term 2: ' +
        'it followed another log and needs a new seed',
    );
  });

  test('when the standby has diverged', () => {
    rig.leads();
    rig.office.answer = () => ({ kind: 'diverged', error: 'source entry 11: why' });
    rig.answerWith([entryOf(11)]);
    expect(rig.status).toBe(
      'halted: this standby has diverged from its source: source entry 11: why',
    );
  });

  test('when the source is this cluster', () => {
    const error =
      "source entry 11 is this cluster's own standby entry: SVC_LINK_SOURCE names this cluster " +
      'itself, or a cluster that follows it';
    rig.office.role = { id: '5e1f09c2', sourceCluster: null };
    rig.office.answer = () => ({ kind: 'own-entry', error });
    rig.leads();
    rig.answer({ clusterId: OWN });
    expect(rig.office.noted).toEqual([]);
    rig.entry(entryOf(11));
    expect(rig.status).toBe(`halted: ${error}`);
  });

  test('when the source is another cluster than the one that it follows', () => {
    rig.leads();
    // Whatever else it says.
    rig.answer({ clusterId: 'c-else', kind: 'purged' });
    expect(rig.status).toBe('halted: source is cluster c-else, this standby follows c-source');
    expect(rig.view).toMatchObject({ sourceApplied: 0, lastAnswerMs: null });
  });

  test('it asks the next node later, leaves no hold, and ends when that one will do', () => {
    rig.leads();
    const holds = rig.port.holds.length;
    for (const { call } of rig.port.holds) rig.endHold(call);
    rig.answer({ kind: 'mismatch', term: 7 });
    expect(rig.follower.dueMs).toBe(rig.nowMs + HALTED_MS);
    rig.tickAfter(HALTED_MS - 1);
    expect(rig.port.reads).toHaveLength(1);
    rig.tickAfter(1);
    expect(rig.port.last).toMatchObject({
      address: 'b:1',
      request: { waitMs: 0, holdAfter: null },
    });
    expect(rig.port.holds).toHaveLength(holds);
    rig.answerWith([entryOf(11)]);
    expect(rig.status).toBe('following');
    expect(rig.port.last.request.holdAfter).toBe(8);
  });

  test('what may pass does not end it', () => {
    rig.leads();
    rig.answer({ kind: 'mismatch', term: 7 });
    const halted = rig.status;
    rig.tickAfter(HALTED_MS);
    rig.fail('refused');
    expect([rig.status, rig.follower.dueMs]).toEqual([halted, rig.nowMs + HALTED_MS]);
    rig.tickAfter(HALTED_MS);
    rig.answer({ applied: 5 });
    expect([rig.status, rig.follower.dueMs]).toEqual([halted, rig.nowMs + HALTED_MS]);
    // A head alone does not either: the entry that follows may be the one that halts.
    rig.tickAfter(HALTED_MS);
    rig.answer();
    expect(rig.status).toBe(halted);
    rig.office.answer = () => ({ kind: 'diverged', error: 'why' });
    rig.entry(entryOf(11));
    expect(rig.status).toBe('halted: this standby has diverged from its source: why');
  });

  test('an upgrade that is missing is another matter', () => {
    rig.leads();
    rig.answer({ kind: 'mismatch', term: 7 });
    rig.tickAfter(HALTED_MS);
    rig.office.answer = () => ({ kind: 'waits', error: 'upgrade' });
    rig.answerWith([entryOf(11)]);
    expect(rig.status).toBe('waiting: upgrade');
  });
});

describe('the first contact', () => {
  test('notes the cluster of the source, once', () => {
    rig.office.role = { id: '5e1f09c2', sourceCluster: null };
    rig.leads();
    rig.answerWith([]);
    rig.nowMs += READ_WAIT_MS;
    rig.answerWith([]);
    expect(rig.office.noted).toEqual([SOURCE]);
  });

  test.each([
    head({ kind: 'purged', purged: 17 }),
    head({ kind: 'mismatch', term: 7 }),
    head({ applied: 9 }),
  ])('notes nothing of a node that will not do', (answer) => {
    rig.office.role = { id: '5e1f09c2', sourceCluster: null };
    rig.leads();
    rig.answer(answer);
    expect(rig.office.noted).toEqual([]);
  });
});
