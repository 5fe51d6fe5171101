// Goal: a batch of acknowledgements that is cut does what the uncut one does, and dead letters that
// find no room in one entry are filed by the next. Method: random leases and words in two planners
// over maps, whole in one and cut in the other; and batches of more dead letters than an entry has.
import {
  type AckCommand,
  type AckedOutcome,
  type AckItem,
  type Command,
  type Outcome,
  type PopCommand,
  UNFILED,
} from '@svc/engine';
import { describe, expect, test } from 'vitest';
import { popOf, pushOf, TENANT } from '../testing/group-clients.fake.js';
import { LoneLeader } from '../testing/lone-leader.fake.js';
import { seededRandom } from '../testing/recovery.fake.js';
import { AckSlices, isUnfinished, mayNeedAckSlices } from './ack-slices.js';

/** A leader with one queue. */
class Engine {
  readonly #leader = new LoneLeader();

  call(command: Command): Outcome {
    return this.#leader.call(command);
  }

  cut(command: AckCommand, unitsMax?: number) {
    return this.#leader.callInSlices(new AckSlices(command, unitsMax), 'acked');
  }

  push(partition: string, ids: readonly string[]): void {
    const one = pushOf('q', 'x', null);
    const end = one.body.length;
    this.call({
      ...one,
      groups: [{ queue: 'q', partition }],
      itemGroup: ids.map(() => 0),
      transactionIds: ids,
      payloadStart: ids.map(() => 0),
      payloadEnd: ids.map(() => end),
    });
  }

  pop(partition: string, batch: number) {
    const scope = { kind: 'partition', queue: 'q', partition } as const;
    const command: PopCommand = { ...popOf('q', 0, 5000), scope, batch, leaseSeconds: 60 };
    const outcome = this.call(command);
    if (outcome.kind !== 'popped') throw new Error(outcome.kind);
    const [claim] = outcome.claims;
    const slices = claim?.slices.map(({ first, last }) => [first, last]) ?? [];
    return { leaseId: outcome.leaseId, number: claim?.partitionNumber ?? 0, slices };
  }
}

function ackOf(items: readonly AckItem[]): AckCommand {
  return { kind: 'ack', tenant: TENANT, consumerGroup: 'g', items };
}

describe('random batches', () => {
  const WORDS = ['completed', 'completed', 'completed', 'failed', 'retry', 'dlq'] as const;

  test.each(Array.from({ length: 60 }, (_, seed) => seed))('seed %i', (seed) => {
    const random = seededRandom(seed);
    const engines = [new Engine(), new Engine()] as const;
    const names = ['a', 'b', 'c', 'd'];
    const leases = names.map((name) => {
      const count = 1 + random.below(8);
      const batch = 1 + random.below(8);
      const [one] = engines.map((engine) => {
        engine.push(
          name,
          Array.from({ length: count }, (_, i) => `${name}${i}`),
        );
        return engine.pop(name, batch);
      });
      return one;
    });
    const items = Array.from({ length: 1 + random.below(30) }, (): AckItem => {
      const at = random.below(names.length);
      const lease = random.below(8) === 0 ? 'other' : (leases[at]?.leaseId ?? '');
      return {
        transactionId: `${names[at]}${random.below(9)}`,
        partitionId: `${random.below(4) === 0 ? '00' : ''}${leases[at]?.number}`,
        leaseId: random.below(6) === 0 ? '' : lease,
        status: WORDS[random.below(WORDS.length)] ?? 'completed',
        error: null,
      };
    });
    const [whole, sliced] = engines;
    const uncut = whole.call(ackOf(items));
    expect(sliced.cut(ackOf(items), 30 + random.below(200)).outcome).toEqual(uncut);
    for (const name of names) {
      expect(sliced.pop(name, 100).slices).toEqual(whole.pop(name, 100).slices);
    }
  });
});

describe('more dead letters than an entry has', () => {
  const IDS = Array.from({ length: 1500 }, (_, i) => `t${i}`);

  function leased() {
    const engine = new Engine();
    engine.push('p', IDS);
    const { leaseId, number } = engine.pop('p', IDS.length);
    const items = IDS.map((transactionId, i): AckItem => {
      const status = i % 5 === 4 ? 'completed' : 'dlq';
      const error = i === 3 ? 'jam' : null;
      return { transactionId, partitionId: `${number}`, leaseId, status, error };
    });
    return { engine, items };
  }

  test('all of them are filed, by several entries, and the answer is one', () => {
    const { engine, items } = leased();
    expect(mayNeedAckSlices(ackOf(items))).toBe(true);
    const { sent, outcome } = engine.cut(ackOf(items));
    expect(sent).toHaveLength(2);
    expect(outcome.items).toEqual(
      items.map(({ status }) => ({
        success: true,
        error: null,
        leaseReleased: true,
        dlq: status === 'dlq',
        noop: false,
      })),
    );
    // A dead letter without a text has that of its target, in the second entry too.
    expect(sent[1]?.items.filter(({ status }) => status === 'dlq')[0]?.error).toBe('jam');
    expect(engine.pop('p', 10).slices).toEqual([]);
  });

  test('sent again, it is known to be done', () => {
    const { engine, items } = leased();
    engine.cut(ackOf(items));
    const again = engine.call(ackOf(items.slice(0, 10)));
    const success = { success: true, leaseReleased: true, noop: true };
    expect(again).toMatchObject({ items: items.slice(0, 10).map(() => success) });
  });

  test('one command says what was not carried out, and the rest of it can go on', () => {
    const { engine, items } = leased();
    const command = ackOf(items);
    const outcome = engine.call(command);
    if (outcome.kind !== 'acked') throw new Error(outcome.kind);
    expect(isUnfinished(outcome)).toBe(true);
    const open = outcome.items.findIndex(({ error }) => error === UNFILED);
    expect(outcome.items.slice(open).every(({ success }) => !success)).toBe(true);
    const slices = new AckSlices(command);
    slices.resume(outcome);
    for (let slice = slices.next(); slice !== null; slice = slices.next()) {
      expect(slice.items).toHaveLength(items.length - open);
      slices.add(engine.call(slice) as AckedOutcome);
    }
    expect(slices.outcome().items.every(({ success, leaseReleased }) => success && leaseReleased));
    expect(isUnfinished(slices.outcome())).toBe(false);
  });
});

test('100,000 acknowledgements of unknown partitions come in slices', () => {
  const items = Array.from({ length: 100_000 }, (_, i): AckItem => {
    const partitionId = `${1_000_000 + i}`;
    return { transactionId: 'x', partitionId, leaseId: '', status: 'completed', error: null };
  });
  const slices = new AckSlices(ackOf(items));
  let parts = 1;
  while (!slices.prepare()) parts++;
  expect(parts).toBe(100);
  let count = 0;
  for (let slice = slices.next(); slice !== null; slice = slices.next()) {
    expect(slice.items.length).toBeLessThanOrEqual(632);
    count += slice.items.length;
    const answer = { success: false, error: 'no', leaseReleased: false, dlq: false, noop: false };
    slices.add({ kind: 'acked', items: slice.items.map(() => answer) });
  }
  expect(count).toBe(100_000);
});
