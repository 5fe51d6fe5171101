/**
 * Goal: whatever workers do and whenever leaders change, each message of a source is in exactly one
 * sink record, and the state of a partition equals what its sink records say. Method: workers over
 * one planner, each in its own step of pop, read, cycle; leases that run out, cycles that are sent
 * twice or never answered, entries in flight, new leaders. At the end everything is drained.
 */
import { expect, test } from 'vitest';
import type { StreamCycleCommand } from '../base/commands/streams.js';
import type { Key } from '../base/state.js';
import { STATE_KEY_HEAD, streamShards, streamStates } from '../state/streams/tables.js';
import { EngineRig, TENANT } from '../testing/engine.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { cycleCommand, filterOf, queryOf, stateOf } from '../testing/stream.fake.js';

const SEEDS = 30;
const STEPS = 150;
const PARTITIONS = ['a', 'b', 'c'];
const FIRST_KEY = '' as Key;
const LAST_KEY = '\xff' as Key;

interface Cell {
  readonly count: number;
  readonly sum: number;
}

/** What one batch came to: the sink record that its cycle pushes says it. */
interface Batch extends Cell {
  readonly partition: number;
  readonly values: readonly number[];
}

function oneOf<T>(random: SeededRandom, values: readonly T[]): T {
  return values[random.below(values.length)] as T;
}

class Storm {
  readonly rig = new EngineRig();
  readonly #random: SeededRandom;
  readonly #queryId: string;
  /** Cycles whose senders do not know what became of them. */
  readonly #unsure: StreamCycleCommand[] = [];
  /** What each sink record would hold, by its transaction id. */
  readonly #batches = new Map<string, Batch>();
  #nextValue = 1;
  #nextBatch = 1;

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#queryId = queryOf(this.rig);
    for (const name of PARTITIONS) this.push(name);
  }

  push(partition: string): void {
    const count = 1 + this.#random.below(5);
    const values = Array.from({ length: count }, () => String(this.#nextValue++));
    this.rig.push('q', partition, values, false);
  }

  /** One worker: pops, folds the batch into the cell, and commits, unless something happens. */
  work(isQuiet = false): void {
    const { rig } = this;
    const random = this.#random;
    const popped = rig.pop({ batch: 1 + random.below(6), leaseSeconds: 5 });
    const [claim] = popped.claims;
    if (claim === undefined) return;
    const values = rig.messages(popped).map(({ text }) => Number(text));
    const partition = claim.partitionNumber;
    const luck = isQuiet ? 9 : random.below(12);
    if (luck === 0) return;
    if (luck === 1) rig.advance(6000);
    if (luck === 2) rig.restart(1 + random.below(3));
    const before = this.#cell(partition);
    const partial = !isQuiet && values.length > 1 && random.below(4) === 0;
    const taken = partial ? values.slice(0, 1 + random.below(values.length - 1)) : values;
    const sum = taken.reduce((a, b) => a + b, 0);
    const cell = { count: before.count + taken.length, sum: before.sum + sum };
    const id = `batch-${this.#nextBatch++}`;
    this.#batches.set(id, { partition, values: taken, count: taken.length, sum });
    const command = cycleCommand({
      queryId: this.#queryId,
      partitionId: partition,
      state: [
        ['last', 'null'],
        ['cell', JSON.stringify(cell)],
        ['last', random.below(3) === 0 ? null : `"${'x'.repeat(random.below(2000))}"`],
        [`old ${random.below(3)}`, random.below(2) === 0 ? null : '1'],
      ],
      pushes: [['out', String(partition), id]],
      ack: {
        leaseId: popped.leaseId,
        count: taken.length,
        completed: isQuiet || random.below(8) > 0,
      },
      releaseLease: !partial,
    });
    // A batch that is given back has no sink record.
    const sent = command.ack?.completed === true ? command : { ...command, ...NOTHING };
    this.#send(sent, luck === 3);
  }

  /** A cycle whose answer was lost is sent once more, late. */
  repeat(): void {
    const command = this.#unsure.shift();
    if (command !== undefined) this.#send(command, false);
  }

  #send(command: StreamCycleCommand, isLost: boolean): void {
    const { outcome } = this.rig.call(command);
    if (isLost) this.#unsure.push(command);
    expect(outcome?.kind).toBe('stream-cycled');
  }

  #cell(partition: number): Cell {
    const filter = filterOf(this.#queryId, partition, { keys: ['cell'] });
    const rows = stateOf(this.rig, filter) as [string, string][];
    return rows[0] === undefined ? { count: 0, sum: 0 } : (JSON.parse(rows[0][1]) as Cell);
  }

  /** The ids of the sink records that there are, by source partition. */
  #sunk(): readonly Batch[] {
    const found: Batch[] = [];
    const { transactions } = this.rig;
    for (const [id, batch] of this.#batches) {
      const sinks = Array.from({ length: 12 }, (_, i) => transactions.find(i + 1, id).length);
      const times = sinks.reduce((a, b) => a + b, 0);
      expect(times, `${id} was committed ${times} times`).toBeLessThanOrEqual(1);
      if (times === 1) found.push(batch);
    }
    return found;
  }

  /** Shards say what their rows are. */
  #judgeShards(): void {
    const { state } = this.rig.planner;
    for (const { key, row } of state.range(streamShards, FIRST_KEY, LAST_KEY, 100)) {
      const rows = state.range(streamStates, key, `${key}\xff` as Key, 100);
      const bytes = rows.reduce(
        (total, one) => total + one.key.length - STATE_KEY_HEAD + one.row.valueBytes,
        0,
      );
      expect([row.rows, row.bytes]).toEqual([rows.length, bytes]);
    }
  }

  judge(): void {
    const { rig } = this;
    this.#judgeShards();
    rig.advance(10_000);
    for (let i = 0; i < 200; i++) this.work(true);
    const sunk = this.#sunk();
    const values = sunk.flatMap((batch) => batch.values).sort((a, b) => a - b);
    expect(values).toEqual(Array.from({ length: this.#nextValue - 1 }, (_, i) => i + 1));
    for (const partition of new Set(sunk.map((batch) => batch.partition))) {
      const own = sunk.filter((batch) => batch.partition === partition);
      expect(this.#cell(partition)).toEqual({
        count: own.reduce((total, batch) => total + batch.count, 0),
        sum: own.reduce((total, batch) => total + batch.sum, 0),
      });
    }
  }
}

/** What a cycle that gives its batch back leaves out. */
const NOTHING: Pick<StreamCycleCommand, 'state' | 'pushes'> = {
  state: { keys: [], valueStart: [], valueEnd: [], isDelete: [], windowEnds: [] },
  pushes: null,
};

test('no message is counted twice or never, and state equals what was emitted', () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = new SeededRandom(seed);
    const storm = new Storm(random);
    try {
      for (let step = 0; step < STEPS; step++) {
        storm.rig.lag = random.below(4);
        const what = random.below(10);
        if (what < 6) storm.work();
        else if (what < 8) storm.push(oneOf(random, PARTITIONS));
        else if (what === 8) storm.repeat();
        else storm.rig.advance(random.below(8000));
      }
      storm.rig.lag = 0;
      storm.judge();
    } catch (error) {
      throw new Error(`seed ${seed} of tenant ${TENANT}`, { cause: error });
    }
  }
});
