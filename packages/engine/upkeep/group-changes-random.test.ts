// Goal: whatever the order of commits, of changes of leaders and of copies of requests, each seek
// puts each cursor back once at most, has one outcome, and is done when it was answered; and each
// deletion of a group forgets the cursors that were there, and none that a pop behind it has made.
// Method: random runs over a group of leaders. Seeks to the front are sent by an id, repeated and
// forgotten; consumers pop all the while. In the applied state a cursor that falls was put back: it
// may fall as often as there were seeks, and no more. Deletions are sent one after the other, among
// pops of the same turn and before many turns; a cursor is known by its time of creation, and who
// made it by the lease that stands on it.
import { expect, test } from 'vitest';
import type { Command, Outcome } from '../base/commands/commands.js';
import type { DeleteGroupCommand, SeekCommand } from '../base/commands/groups.js';
import type { CursorRow } from '../base/rows.js';
import type { Key } from '../base/state.js';
import { cursors } from '../base/tables.js';
import { groupChangeKey, groupChanges } from '../state/group-change-table.js';
import { newRequestSession } from '../state/request-id.js';
import { EngineRig, pushCommand, TENANT } from '../testing/engine.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { RequestGroup } from '../testing/request-group.fake.js';

const SEEDS = 60;
const STEPS = 150;
/** Few, so that a cursor which falls once too often has nothing to hide behind. */
const SEEKS_MAX = 2;
const PARTITIONS = ['a', 'b', 'c', 'd', 'e', 'f'];
const SESSION = newRequestSession(2 ** 33 + 7, 1, 2);
const RANGE = ['' as Key, '\xff'.repeat(600) as Key] as const;

interface Seek {
  readonly sequence: number;
  readonly command: SeekCommand;
  readonly outcomes: Outcome[];
}

class Run {
  readonly group = new RequestGroup();
  readonly seeks: Seek[] = [];
  readonly falls = new Map<Key, number>();
  readonly #random: SeededRandom;
  readonly #commands = new EngineRig();
  #committed = new Map<Key, number>();

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    for (const name of PARTITIONS) this.#send(pushCommand('q', name, ['x', 'y', 'z'], false));
    this.settle();
  }

  step(): void {
    const { group } = this;
    const dice = this.#random.below(100);
    if (dice < 6 && this.seeks.length < SEEKS_MAX) this.#newSeek();
    else if (dice < 16) this.#repeat();
    else if (dice < 50) this.#pop();
    else if (dice < 74) group.turn();
    else if (dice < 95) this.#apply();
    else {
      group.elect(this.#random.below(group.inFlight + 1));
      this.#look();
    }
  }

  /** Nothing is lost any more, and every seek is asked for until it is answered. */
  settle(): void {
    for (let round = 0; round < 100; round++) {
      for (const seek of this.seeks) if (seek.outcomes.length === 0) this.#ask(seek);
      this.group.turn();
      while (this.group.inFlight > 0) this.#apply();
    }
  }

  get committed(): readonly number[] {
    return this.group.state.range(cursors, ...RANGE, 100).map(({ row }) => row.committed);
  }

  #newSeek(): void {
    const sequence = this.seeks.length + 1;
    const changeId = `01a2b3c4-0000-4000-8000-${String(sequence).padStart(12, '0')}`;
    const base = { tenant: TENANT, changeId, consumerGroup: 'g' };
    const command = { kind: 'seek', ...base, queue: 'q', partition: null, targetUs: 0 } as const;
    const seek = { sequence, command, outcomes: [] };
    this.seeks.push(seek);
    this.#ask(seek);
  }

  #repeat(): void {
    const seek = this.seeks[this.#random.below(this.seeks.length)];
    if (seek !== undefined) this.#ask(seek);
  }

  #ask({ sequence, command, outcomes }: Seek): void {
    const origin = { session: SESSION, sequence, settledBelow: 0, settled: [] };
    this.group.send(command, origin, (outcome) => outcomes.push(outcome));
  }

  #pop(): void {
    const partition = PARTITIONS[this.#random.below(PARTITIONS.length)] ?? '';
    const pop = this.#commands.popCommand({ partition, autoAck: true, batch: 2 });
    this.#send({ ...pop, deadlineMs: this.group.nowMs + 30_000 });
  }

  #send(command: Command): void {
    this.group.send(command, null, () => {});
  }

  #apply(): void {
    this.group.apply();
    this.#look();
  }

  /** Entries that a new leader has applied at once may hide a fall, and never make one. */
  #look(): void {
    const now = new Map<Key, number>();
    for (const { key, row } of this.group.state.range(cursors, ...RANGE, 100)) {
      now.set(key, row.committed);
      const before = this.#committed.get(key) ?? -1;
      if (row.committed < before) this.falls.set(key, (this.falls.get(key) ?? 0) + 1);
    }
    this.#committed = now;
  }
}

test('random runs put each cursor back once for each seek', () => {
  const seen = { falls: 0, repeated: 0, terms: 0 };
  for (let seed = 0; seed < SEEDS; seed++) {
    const run = new Run(seed);
    for (let step = 0; step < STEPS; step++) run.step();
    run.settle();
    for (const { sequence, outcomes } of run.seeks) {
      const wanted = { kind: 'group-changed', queues: 1, changed: PARTITIONS.length };
      expect([seed, sequence, outcomes.length > 0]).toEqual([seed, sequence, true]);
      expect([seed, sequence, outcomes]).toEqual([seed, sequence, outcomes.map(() => wanted)]);
      if (outcomes.length > 1) seen.repeated++;
    }
    for (const [key, falls] of run.falls) {
      expect([seed, key, falls <= run.seeks.length]).toEqual([seed, key, true]);
      seen.falls += falls;
    }
    // What nobody has read since stands at the front, everything else beside an append.
    expect([seed, run.committed.every((offset) => offset >= -1 && offset <= 2)]).toEqual([
      seed,
      true,
    ]);
    seen.terms += run.group.term;
  }
  // The runs are about something.
  expect(seen.falls).toBeGreaterThan(SEEDS * 5);
  expect(seen.repeated).toBeGreaterThan(SEEDS / 2);
  expect(seen.terms).toBeGreaterThan(SEEDS * 4);
});

interface Deletion {
  readonly sequence: number;
  readonly command: DeleteGroupCommand;
  /** Times of creation of the cursors that were there when it was sent. */
  readonly old: ReadonlyMap<Key, number>;
  readonly outcomes: Outcome[];
  /** The leader has it: what is sent from now on stands behind it. */
  isSent: boolean;
}

class DeletionRun {
  readonly group = new RequestGroup();
  deletion: Deletion | null = null;
  readonly seen = { deletions: 0, young: 0, forgotten: 0 };
  readonly #random: SeededRandom;
  readonly #commands = new EngineRig();
  readonly #label: string;
  /** Leases of pops that stood behind the deletion. */
  #behind = new Set<string>();
  /** Times of creation of the cursors that such pops have made. */
  #young = new Map<Key, number>();
  #before = new Map<Key, CursorRow>();
  #sequence = 0;

  constructor(seed: number) {
    this.#label = `seed ${seed}`;
    this.#random = new SeededRandom(seed);
    for (const name of PARTITIONS) this.#send(pushCommand('q', name, ['x', 'y', 'z'], false));
    this.settle();
  }

  step(): void {
    const { group } = this;
    const dice = this.#random.below(100);
    if (dice < 12) this.#delete();
    else if (dice < 16) this.#seekOfAnother();
    else if (dice < 52) this.#pop();
    else if (dice < 76) group.turn();
    else if (dice < 96) this.#apply();
    else this.#elect();
  }

  settle(): void {
    for (let round = 0; round < 40; round++) {
      const { deletion } = this;
      if (deletion !== null && deletion.outcomes.length === 0) this.#ask(deletion);
      this.group.turn();
      while (this.group.inFlight > 0) this.#apply();
    }
  }

  /** One after the other; a deletion that has no answer yet is asked for once more. */
  #delete(): void {
    const last = this.deletion;
    if (last !== null && last.outcomes.length === 0) {
      this.#ask(last);
      return;
    }
    this.#behind = new Set();
    this.#young = new Map();
    this.seen.deletions++;
    const command: DeleteGroupCommand = {
      kind: 'delete-group',
      tenant: TENANT,
      changeId: this.#nextId(),
      consumerGroup: 'g',
      queue: 'q',
      deleteMetadata: this.#random.below(2) === 0,
    };
    const old = new Map([...this.#before].map(([key, row]) => [key, row.createdAtUs]));
    const base = { sequence: this.#sequence, command, old, outcomes: [] };
    this.deletion = { ...base, isSent: false };
    this.#ask(this.deletion);
  }

  #ask(deletion: Deletion): void {
    const { sequence, command, outcomes } = deletion;
    const origin = { session: SESSION, sequence, settledBelow: 0, settled: [] };
    deletion.isSent = true;
    this.group.send(command, origin, (outcome) => {
      if (outcomes.length === 0) this.#checkForgotten(deletion);
      outcomes.push(outcome);
    });
  }

  /** It takes of the rows of a turn, and stands between the others in the line. */
  #seekOfAnother(): void {
    const base = { tenant: TENANT, changeId: this.#nextId(), consumerGroup: 'h' };
    this.#send({ kind: 'seek', ...base, queue: 'q', partition: null, targetUs: 0 });
  }

  #pop(): void {
    const partition = PARTITIONS[this.#random.below(PARTITIONS.length)] ?? '';
    const where = this.#random.below(3) === 0 ? {} : { partition };
    const pop = this.#commands.popCommand({ ...where, batch: 2 });
    const behind = this.deletion?.isSent === true ? this.#behind : null;
    const command = { ...pop, deadlineMs: this.group.nowMs + 30_000 };
    this.group.send(command, null, (outcome) => {
      if (outcome.kind === 'popped' && outcome.leaseId !== '') behind?.add(outcome.leaseId);
    });
  }

  #send(command: Command): void {
    this.group.send(command, null, () => {});
  }

  #elect(): void {
    const { group, deletion } = this;
    group.elect(this.#random.below(group.inFlight + 1));
    this.#look();
    if (deletion === null || deletion.outcomes.length > 0) return;
    const key = groupChangeKey(deletion.command.changeId);
    if (group.state.get(groupChanges, key) !== undefined) return;
    // Its entry is lost: when it is sent again, what there is then stands before it.
    deletion.isSent = false;
    this.#behind = new Set();
    this.#young = new Map();
  }

  #apply(): void {
    this.group.apply();
    this.#look();
  }

  #look(): void {
    const now = this.#cursors();
    for (const [key, createdAtUs] of this.#young) {
      expect([this.#label, key, now.get(key)?.createdAtUs]).toEqual([
        this.#label,
        key,
        createdAtUs,
      ]);
    }
    for (const [key, row] of now) {
      const isNew = this.#before.get(key)?.createdAtUs !== row.createdAtUs;
      if (!isNew || row.lease === null || !this.#behind.has(row.lease.id)) continue;
      this.#young.set(key, row.createdAtUs);
      this.seen.young++;
    }
    this.#before = now;
  }

  #checkForgotten({ old }: Deletion): void {
    const now = this.#cursors();
    for (const [key, createdAtUs] of old) {
      const isThere = now.get(key)?.createdAtUs === createdAtUs;
      expect([this.#label, key, isThere]).toEqual([this.#label, key, false]);
      this.seen.forgotten++;
    }
  }

  /** Cursors of the group that is deleted. */
  #cursors(): Map<Key, CursorRow> {
    const rows = this.group.state.range(cursors, ...RANGE, 100);
    return new Map(rows.filter(({ key }) => key.endsWith('g')).map(({ key, row }) => [key, row]));
  }

  #nextId(): string {
    this.#sequence++;
    return `01a2b3c4-0000-4000-8000-${String(this.#sequence).padStart(12, '0')}`;
  }
}

test('random runs forget what was there before a deletion, and nothing that came behind it', () => {
  const seen = { deletions: 0, young: 0, forgotten: 0, terms: 0 };
  for (let seed = 0; seed < SEEDS; seed++) {
    const run = new DeletionRun(seed);
    for (let step = 0; step < STEPS; step++) run.step();
    run.settle();
    expect([seed, run.deletion === null || run.deletion.outcomes.length > 0]).toEqual([seed, true]);
    seen.deletions += run.seen.deletions;
    seen.young += run.seen.young;
    seen.forgotten += run.seen.forgotten;
    seen.terms += run.group.term;
  }
  // The runs are about something.
  expect(seen.deletions).toBeGreaterThan(SEEDS * 2);
  expect(seen.young).toBeGreaterThan(SEEDS * 3);
  expect(seen.forgotten).toBeGreaterThan(SEEDS * 3);
  expect(seen.terms).toBeGreaterThan(SEEDS * 4);
});
