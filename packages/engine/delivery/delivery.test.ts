// Goal: who is served, when, and by what: parking, exact wakes, first contact, discovery,
// deadlines, leases across leaders and clock jumps, long scans.
// Method: the planner driven turn by turn; waking is counted, not timed.
import { beforeEach, describe, expect, test } from 'vitest';
import { DELIVERY_LIMITS } from '../base/delivery-limits.js';
import { appendKey, numberKey } from '../base/keys.js';
import { appends, cursors, groups, partitions, queues, sharedLeases } from '../base/tables.js';
import { PRICES, TURN_UNITS } from '../base/work-prices.js';
import { EngineRig, pushCommand, type Request, TENANT } from '../testing/engine.fake.js';

let rig: EngineRig;

beforeEach(() => {
  rig = new EngineRig();
});

function advance(ms: number): void {
  rig.advance(ms);
  rig.drain();
}

function texts(request: Request): string[] | null {
  return request.outcome === null ? null : rig.texts(request.outcome);
}

describe('waiting', () => {
  test('an append wakes the oldest waiter and only that one', () => {
    const waiters = Array.from({ length: 50 }, () => rig.wait());
    rig.push('q', 'p', ['a']);
    expect(waiters.map((request) => texts(request) !== null)).toEqual(
      waiters.map((_, i) => i === 0),
    );
    expect(rig.planner.wakes).toBe(1);
    rig.push('q', 'p', ['b']);
    expect(rig.planner.wakes).toBe(1);
    rig.push('q', 'p2', ['c']);
    expect(texts(waiters[1] as Request)).toEqual(['c']);
    expect(rig.planner.wakes).toBe(2);
  });

  test('a turn serves what its bytes allow, and the next ones all the others, in order', () => {
    rig = new EngineRig({ ...DELIVERY_LIMITS, servedBytesPerTurn: 1 });
    const waiters = Array.from({ length: 6 }, (_, i) => rig.wait({ consumerGroup: `g${i % 2}` }));
    for (const partition of ['a', 'b', 'c'])
      rig.send(pushCommand('q', partition, [partition], true));
    const served = () => waiters.filter((request) => request.outcome !== null).length;
    for (let turns = 1; turns <= 6; turns++) {
      rig.turn();
      expect(served(), `after ${turns} turns`).toBe(turns);
      const dueMs = rig.planner.nextDueMs();
      if (turns < 6) expect(dueMs, 'the next turn comes at once').toBe(0);
    }
    expect(waiters.flatMap(texts).sort()).toEqual(['a', 'a', 'b', 'b', 'c', 'c']);
  });

  describe('what is due for thousands at once is done over several turns', () => {
    const COUNT = 3000;

    /** A pop that waits in each of so many groups, which have had what there was. */
    function park(): Request[] {
      rig.push('q', 'p', ['old']);
      const pops = () =>
        Array.from({ length: COUNT }, (_, i) =>
          rig.send(rig.popCommand({ consumerGroup: `g${i}`, wait: true, autoAck: true })),
        );
      const before = pops();
      while (before.some(({ outcome }) => outcome === null)) rig.turn();
      const waiters = pops();
      while (rig.planner.waiting > 0) rig.turn();
      expect(waiters.filter(({ outcome }) => outcome !== null)).toEqual([]);
      return waiters;
    }

    /** The answers of each turn, beside a push that is answered in every one. */
    function answered(waiters: readonly Request[], each: number): void {
      let before = 0;
      for (let turns = 1; before < COUNT; turns++) {
        const one = rig.send(pushCommand('other', 'p', ['x'], true));
        rig.turn();
        expect(one.outcome, `turn ${turns}`).not.toBe(null);
        const count = waiters.filter(({ outcome }) => outcome !== null).length;
        expect(count - before, `turn ${turns}`).toBeLessThanOrEqual(each);
        expect(count, `turn ${turns}`).toBeGreaterThan(before);
        expect(rig.units).toBeLessThan(TURN_UNITS + PRICES.pop + PRICES.claim);
        before = count;
      }
    }

    test('claims of one push', () => {
      const waiters = park();
      rig.send(pushCommand('q', 'p2', ['new'], true));
      answered(waiters, TURN_UNITS / (PRICES.pop + PRICES.claim));
      expect(new Set(waiters.flatMap(texts))).toEqual(new Set(['new']));
    });

    test('the end of their time', () => {
      const waiters = park();
      rig.advance(29_999);
      answered(waiters, TURN_UNITS / PRICES.pop);
      expect(waiters.flatMap(texts)).toEqual([]);
    });

    test('the end of their queue', () => {
      const waiters = park();
      rig.send({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
      answered(waiters, TURN_UNITS / PRICES.pop);
      expect(waiters.flatMap(texts)).toEqual([]);
    });
  });

  test('as many waiters are served as there are partitions', () => {
    const waiters = [rig.wait(), rig.wait(), rig.wait()];
    rig.send(rig.popCommand({}));
    for (const p of ['p1', 'p2']) rig.push('q', p, [p]);
    expect(waiters.map(texts)).toEqual([['p1'], ['p2'], null]);
    expect(rig.planner.wakes).toBe(2);
  });

  test('a new pop does not overtake a waiter in the turn that makes a partition ready', () => {
    rig.push('q', 'p', ['a', 'b']);
    const first = rig.pop();
    const waiter = rig.wait();
    const number = first.claims[0]?.partitionNumber ?? 0;
    rig.send({
      kind: 'ack',
      tenant: TENANT,
      consumerGroup: 'g',
      items: [
        {
          transactionId: 'a',
          partitionId: String(number),
          leaseId: first.leaseId,
          status: 'retry',
          error: null,
        },
      ],
    });
    const late = rig.send(rig.popCommand({}));
    const latePinned = rig.send(rig.popCommand({ partition: 'p' }));
    rig.turn();
    expect(texts(waiter)).toEqual(['a', 'b']);
    expect(texts(late)).toEqual([]);
    expect(texts(latePinned)).toEqual([]);
  });

  test('the end of a lease and of a delay wake a waiter at their moment', () => {
    rig.configure('q', { delayedProcessing: 5 });
    rig.push('q', 'p', ['a']);
    const delayed = rig.wait();
    expect(rig.planner.nextDueMs()).toBeGreaterThan(rig.nowMs);
    advance(4_998);
    expect(texts(delayed)).toBe(null);
    advance(4);
    expect(texts(delayed)).toEqual(['a']);
    const leased = rig.wait({ timeoutMs: 60_000 });
    advance(29_990);
    expect(texts(leased)).toBe(null);
    advance(12);
    expect(rig.messages(leased.outcome)[0]).toMatchObject({ text: 'a', attempt: 2 });
  });

  test('dropping the delay delivers at once', () => {
    rig.configure('q', { delayedProcessing: 500 });
    rig.push('q', 'p', ['a']);
    const request = rig.wait();
    rig.configure('q', { delayedProcessing: 0 });
    expect(texts(request)).toEqual(['a']);
  });

  test('a waiter is answered empty a little before its deadline', () => {
    const long = rig.wait({ timeoutMs: 10_000 });
    const short = rig.wait({ timeoutMs: 400 });
    const tiny = rig.wait({ timeoutMs: 60 });
    expect(texts(tiny)).toEqual([]);
    advance(249);
    expect(texts(short)).toBe(null);
    advance(1);
    expect(texts(short)).toEqual([]);
    advance(9_449);
    expect(texts(long)).toBe(null);
    advance(1);
    expect(texts(long)).toEqual([]);
    expect(rig.planner.parked).toBe(0);
  });

  test('a waiter whose client is gone claims nothing', () => {
    const gone = rig.wait();
    const stays = rig.wait();
    rig.planner.withdraw(gone);
    rig.push('q', 'p', ['a']);
    expect(texts(gone)).toBe(null);
    expect(texts(stays)).toEqual(['a']);
  });

  test('a pinned waiter for a queue that does not exist creates nothing and gets the first', () => {
    const request = rig.wait({ queue: 'later', partition: 'p', consumerGroup: 'x' });
    expect(rig.rows(queues)).toEqual([]);
    rig.push('later', 'other', ['a']);
    expect(texts(request)).toBe(null);
    rig.push('later', 'p', ['b']);
    expect(texts(request)).toEqual(['b']);
    expect(rig.rows(groups)).toEqual([]);
  });

  test('pinned and wildcard waiters are served by age', () => {
    rig.push('q', 'p', ['a']);
    const { leaseId, claims } = rig.pop();
    const wildcard = rig.wait();
    const pinned = rig.wait({ partition: 'p' });
    rig.ack(claims[0]?.partitionNumber ?? 0, leaseId, [['a', 'completed']]);
    rig.push('q', 'p', ['b']);
    expect([texts(wildcard), texts(pinned)]).toEqual([['b'], null]);
    rig.ack(claims[0]?.partitionNumber ?? 0, '', [['b', 'retry']]);
    expect(texts(pinned)).toEqual(['b']);
  });

  test('an older pinned waiter goes before a younger wildcard one', () => {
    rig.push('q', 'p', ['a']);
    const { leaseId, claims } = rig.pop();
    const pinned = rig.wait({ partition: 'p' });
    const wildcard = rig.wait();
    rig.ack(claims[0]?.partitionNumber ?? 0, leaseId, [['a', 'retry']]);
    expect([texts(wildcard), texts(pinned)]).toEqual([null, ['a']]);
  });

  test('deleting the queue answers its waiters empty', () => {
    rig.push('q', 'p', ['a']);
    rig.pop();
    const wildcard = rig.wait();
    const pinned = rig.wait({ partition: 'p' });
    rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
    rig.drain();
    expect([texts(wildcard), texts(pinned)]).toEqual([[], []]);
    expect(rig.rows(cursors)).toEqual([]);
    expect(rig.texts(rig.pop())).toEqual([]);
  });
});

describe('first contact', () => {
  test('a wildcard pop creates the queue and registers the group once', () => {
    const start = { mode: 'timestamp', atUs: 5 } as const;
    expect(rig.texts(rig.pop({ subscription: start }))).toEqual([]);
    expect(rig.rows(queues)).toHaveLength(1);
    rig.pop();
    rig.restart();
    const entries = rig.entries;
    rig.pop();
    expect(rig.entries).toBe(entries);
    expect(rig.rows(groups)).toMatchObject([{ subscription: start }]);
  });

  test('a pop that makes no queue leaves nothing, and may wait until there is one', () => {
    const absent = { creates: false } as const;
    expect(rig.texts(rig.pop(absent))).toEqual([]);
    const waiting = ['g', 'h'].map((consumerGroup) => rig.wait({ ...absent, consumerGroup }));
    const fresh = rig.wait({ ...absent, consumerGroup: 'n', subscription: { mode: 'new' } });
    const elsewhere = rig.wait({ ...absent, queue: 'r' });
    expect([rig.rows(queues), rig.rows(groups)]).toEqual([[], []]);
    rig.push('q', 'p', ['a']);
    expect([...waiting, fresh].map(texts)).toEqual([['a'], ['a'], ['a']]);
    expect([texts(elsewhere), rig.rows(queues).length]).toEqual([null, 1]);
    // As every other pop from now on.
    const again = rig.wait({ ...absent });
    rig.push('q', 'p2', ['b']);
    expect(texts(again)).toEqual(['b']);
    advance(30_000);
    expect(texts(elsewhere)).toEqual([]);
    expect(rig.rows(queues)).toHaveLength(1);
  });

  test('a queue that goes before a turn has settled who waited for it answers them empty', () => {
    const waiting = rig.wait({ creates: false });
    rig.send({ kind: 'configure', tenant: TENANT, queue: 'q', replace: false, changes: {} });
    rig.send({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
    rig.turn();
    rig.drain();
    expect(texts(waiting)).toEqual([]);
  });

  test('a pinned pop registers nothing; its new starts where it first looked', () => {
    rig.push('q', 'p', ['a']);
    const fresh = { partition: 'p', subscription: { mode: 'new' } } as const;
    expect(rig.texts(rig.pop(fresh))).toEqual([]);
    rig.restart();
    rig.push('q', 'p', ['b']);
    expect(rig.texts(rig.pop(fresh))).toEqual(['b']);
    expect(rig.rows(groups)).toEqual([]);
  });

  test('queue mode always starts at the front', () => {
    rig.push('q', 'p', ['a']);
    const options = { consumerGroup: '__QUEUE_MODE__', subscription: { mode: 'new' } } as const;
    expect(rig.texts(rig.pop({ ...options, partition: 'p' }))).toEqual(['a']);
  });

  test('timestamps, past and future', () => {
    rig.push('q', 'p', ['a']);
    rig.advance(1000);
    const betweenUs = rig.wallUs;
    rig.push('q', 'p', ['b']);
    rig.push('q', 'p', ['c']);
    const from = (atUs: number, consumerGroup: string) =>
      rig.pop({ consumerGroup, subscription: { mode: 'timestamp', atUs } });
    expect(rig.texts(from(betweenUs, 'past'))).toEqual(['b', 'c']);
    const futureUs = rig.wallUs + 10_000_000;
    expect(rig.texts(from(futureUs, 'future'))).toEqual([]);
    rig.push('q', 'p', ['d']);
    expect(rig.texts(from(futureUs, 'future'))).toEqual([]);
    rig.advance(10_001);
    rig.push('q', 'p', ['e']);
    rig.restart();
    expect(rig.texts(from(futureUs, 'future'))).toEqual(['e']);
  });

  test('an ack on a group that never touched the partition is refused', () => {
    rig.push('q', 'p', ['a']);
    const number = rig.rows(partitions)[0]?.number ?? 0;
    const [item] = rig.ack(number, '', [['a', 'completed']]).items;
    expect(item).toMatchObject({ success: false, error: 'invalid or expired lease' });
    rig.pop({ batch: 1, partition: 'elsewhere' });
    expect(rig.ack(9, '', [['a', 'completed']]).items[0]?.error).toBe('no partition 9');
  });

  test('a registered group acknowledges without ever popping the partition', () => {
    rig.pop();
    rig.push('q', 'p', ['a', 'b']);
    rig.restart();
    const number = rig.rows(partitions)[0]?.number ?? 0;
    expect(rig.ack(number, '', [['a', 'completed']]).items[0]?.success).toBe(true);
    expect(rig.texts(rig.pop())).toEqual(['b']);
  });
});

describe('discovery', () => {
  test('reads every matching queue with one budget, creates none, registers on all', () => {
    rig.push('shop.orders', 'p', ['a', 'b']);
    rig.push('shop.bills', 'p', ['c', 'd']);
    rig.push('other', 'p', ['e']);
    const answer = rig.pop({ namespace: 'shop', batch: 3, partitions: 9 });
    expect(rig.texts(answer)).toEqual(['a', 'b', 'c']);
    expect(answer).toMatchObject({ queue: '' });
    expect(answer.claims.map(({ queue }) => queue)).toEqual(['shop.orders', 'shop.bills']);
    expect(rig.rows(groups)).toHaveLength(2);
    expect(rig.texts(rig.pop({ namespace: 'shop', task: 'cups' }))).toEqual([]);
    expect(rig.rows(queues)).toHaveLength(3);
  });

  test('parks over all matching queues and over those that come to match', () => {
    rig.push('shop.orders', 'p', ['a']);
    rig.pop({ namespace: 'shop' });
    const waiters = [1, 2, 3].map(() => rig.wait({ namespace: 'shop' }));
    rig.push('shop.orders', 'p2', ['b']);
    expect(waiters.map(texts)).toEqual([['b'], null, null]);
    rig.push('shop.new', 'p', ['c']);
    expect(waiters.map(texts)).toEqual([['b'], ['c'], null]);
    rig.push('plain', 'p', ['d']);
    rig.configure('plain', { namespace: 'shop' });
    rig.drain();
    expect(waiters.map(texts)).toEqual([['b'], ['c'], ['d']]);
  });

  test('leaves a queue that no longer matches', () => {
    rig.push('shop.orders', 'p', ['a']);
    const { leaseId } = rig.pop({ namespace: 'shop' });
    const waiter = rig.wait({ namespace: 'shop' });
    rig.configure('shop.orders', { namespace: 'elsewhere' });
    rig.ack(rig.rows(partitions)[0]?.number ?? 0, leaseId, [['a', 'retry']]);
    expect(texts(waiter)).toBe(null);
  });
});

describe('leases', () => {
  test('an extension on a new leader reaches every partition of the pop', () => {
    for (const p of ['p1', 'p2', 'p3']) rig.push('q', p, [p]);
    const shared = rig.pop({ partitions: 2 });
    const single = rig.pop({ consumerGroup: 'é' });
    expect(rig.rows(sharedLeases)).toHaveLength(2);
    rig.restart();
    expect(rig.extend(single.leaseId, 100).renewed).toBe(1);
    expect(rig.extend(shared.leaseId, 100).renewed).toBe(2);
    expect(rig.extend(shared.leaseId, 100, TENANT.replace('1', '2')).renewed).toBe(0);
    rig.advance(90_000);
    expect(rig.texts(rig.pop({ partitions: 9 }))).toEqual(['p3']);
    rig.ack(shared.claims[0]?.partitionNumber ?? 0, shared.leaseId, [['p1', 'completed']]);
    expect(rig.rows(sharedLeases)).toHaveLength(1);
    expect(rig.extend(shared.leaseId, 1).renewed).toBe(1);
  });

  test('an extension never shortens, and nonsense extends nothing', () => {
    rig.push('q', 'p', ['a']);
    const { leaseId } = rig.pop({ leaseSeconds: 100 });
    const before = rig.rows(cursors)[0]?.lease?.expiresAtUs;
    expect(rig.extend(leaseId, 1)).toMatchObject({ renewed: 1, expiresAtUs: before });
    for (const id of ['', 'x', 'ffffffff-ffff-7fff-bfff-ffffffffffff']) {
      expect(rig.extend(id, 60)).toMatchObject({ renewed: 0 });
    }
  });

  test('a jump of the wall clock neither ends nor prolongs a lease', () => {
    rig.push('q', 'p', ['a']);
    rig.pop({ leaseSeconds: 10 });
    rig.wallUs += 300_000_000;
    expect(rig.texts(rig.pop())).toEqual([]);
    rig.wallUs -= 600_000_000;
    rig.advance(9_000);
    expect(rig.texts(rig.pop())).toEqual([]);
    rig.advance(1_000);
    expect(rig.texts(rig.pop())).toEqual(['a']);
  });

  test('a lease of another node is held for the grace, and only once', () => {
    rig.push('q', 'p', ['a']);
    rig.pop({ leaseSeconds: 10 });
    rig.restart(2);
    advance(10_400);
    expect(rig.texts(rig.pop())).toEqual([]);
    advance(102);
    expect(rig.texts(rig.pop())).toEqual(['a']);
  });
});

describe('scans', () => {
  test('a new leader finds everything in a queue of many partitions, in bounded steps', () => {
    for (let p = 0; p < 2_500; p++) rig.send(pushCommand('q', `p${p}`, ['a'], true));
    rig.turnAll();
    rig.call(rig.popCommand({ consumerGroup: 'none', subscription: { mode: 'new' } }));
    rig.drain();
    rig.push('q', 'p2400', ['y']);
    rig.restart();
    const impatient = rig.call(
      rig.popCommand({ consumerGroup: 'none', subscription: { mode: 'new' } }),
    );
    expect(texts(impatient)).toBe(null);
    rig.drain();
    expect(texts(impatient)).toEqual(['y']);
    const empty = rig.call(rig.popCommand({ consumerGroup: 'none' }));
    expect(texts(empty)).toEqual([]);
  });

  test('an impatient pop is answered empty when the scan has found nothing', () => {
    for (let p = 0; p < 1_500; p++) rig.send(pushCommand('q', `p${p}`, ['a'], true));
    rig.turnAll();
    const request = rig.call(rig.popCommand({ subscription: { mode: 'new' } }));
    expect(texts(request)).toBe(null);
    rig.turn();
    expect(texts(request)).toEqual([]);
    expect(rig.planner.nextDueMs()).not.toBe(0);
  });

  test('what is not remembered because too much is ready is found again', () => {
    rig = new EngineRig({ ...DELIVERY_LIMITS, readyLow: 2, readyMax: 2 });
    rig.pop();
    const names = ['p1', 'p2', 'p3', 'p4', 'p5'];
    for (const name of names) rig.push('q', name, [name]);
    const found: string[] = [];
    for (let pops = 0; pops < 5; pops++) {
      const request = rig.call(rig.popCommand({}));
      rig.drain();
      found.push(...(texts(request) ?? []));
    }
    expect(found.sort()).toEqual(names);
  });

  test('a leased partition that the scan finds wakes nobody', () => {
    rig = new EngineRig({ ...DELIVERY_LIMITS, scanRowsPerTurn: 1 });
    rig.push('q', 'p1', ['a']);
    rig.push('q', 'p2', ['b']);
    rig.call(rig.popCommand({ partitions: 2 }));
    rig.drain();
    rig.call(rig.popCommand({}));
    rig.drain();
    rig.restart();
    const request = rig.wait();
    rig.drain();
    expect(texts(request)).toBe(null);
    expect(rig.planner.wakes).toBe(0);
    advance(30_002);
    expect(rig.planner.wakes).toBe(1);
  });

  test('an idle group is forgotten, and what it had ready is found again', () => {
    rig.push('q', 'p1', ['a']);
    rig.push('q', 'p2', ['b']);
    rig.pop();
    advance(3_600_000);
    expect(rig.planner.nextDueMs()).toBe(null);
    expect(rig.texts(rig.pop({ partitions: 9 })).sort()).toEqual(['a', 'b']);
  });
});

describe('behind the start of the log', () => {
  /** Removes the first `count` one-message appends of partition p, as retention does. */
  function retain(count: number): void {
    const row = rig.rows(partitions)[0];
    if (row === undefined) throw new Error('no partition');
    for (let offset = 0; offset < count; offset++) {
      rig.state.delete(appends, appendKey(row.number, offset));
    }
    rig.state.put(partitions, numberKey(row.number), { ...row, logStart: count });
    rig.restart();
  }

  beforeEach(() => {
    rig.pop({ consumerGroup: 'seeded' });
    for (const id of ['a', 'b', 'c', 'd']) rig.push('q', 'p', [id]);
    rig.pop({ batch: 1, leaseSeconds: 1 });
    advance(1_002);
  });

  test('a batch starts at the first retained message', () => {
    retain(2);
    const answer = rig.pop();
    expect(rig.messages(answer)[0]).toMatchObject({ text: 'c', offset: 2, attempt: 1 });
    const number = answer.claims[0]?.partitionNumber ?? 0;
    const { items } = rig.ack(number, answer.leaseId, [
      ['a', 'completed'],
      ['d', 'completed'],
    ]);
    expect(items.map(({ success }) => success)).toEqual([false, true]);
  });

  test('a lost answer can be asked for again after its messages are gone', () => {
    const answer = rig.pop();
    const number = answer.claims[0]?.partitionNumber ?? 0;
    rig.ack(number, answer.leaseId, [['d', 'completed']]);
    retain(4);
    const [item] = rig.ack(number, answer.leaseId, [['d', 'completed']]).items;
    expect(item).toMatchObject({ success: true, noop: true, leaseReleased: true });
  });

  test('where everything is gone the cursor is sealed at the tail', () => {
    retain(4);
    expect(rig.texts(rig.pop())).toEqual([]);
    expect(rig.rows(cursors)).toMatchObject([{ committed: 3, lease: null }]);
    rig.push('q', 'p', ['e']);
    expect(rig.texts(rig.pop())).toEqual(['e']);
    expect(rig.texts(rig.pop({ consumerGroup: 'seeded' }))).toEqual(['e']);
  });
});

test('a pop of very small messages is bounded by what their answer takes', () => {
  rig.push(
    'q',
    'p',
    Array.from({ length: 40_000 }, () => ''),
    false,
  );
  const [claim] = rig.pop({ queue: 'q', batch: 2_147_483_647 }).claims;
  const [slice] = claim?.slices ?? [];
  expect(slice?.first).toBe(0);
  expect(slice?.last).toBeGreaterThan(10_000);
  expect(slice?.last).toBeLessThan(32_768);
});
