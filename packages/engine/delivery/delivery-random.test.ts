// Goal: delivery and acknowledgement agree with a naive model under any order of operations, seeks,
// lease expiries, give-backs and changes of leader; with groups that get every message and one that
// gets last values, and in a queue whose pops gather.
// Method: seeded random operations against the planner. The model is a list of messages per
// partition and one plain record per (partition, group). Which partition a pop takes is the
// engine's choice; what it then gets, what an ack answers and which cursor results is the model's.
// For a pop that gathers the model knows when it may be answered, and when it must. A failure names
// its seed.
import { describe, expect, test } from 'vitest';
import type { AckStatus, PopCommand } from '../base/commands/commands.js';
import { DELIVERY_LIMITS, type DeliveryLimits } from '../base/delivery-limits.js';
import { appendKeyOffset, numberNameKey, numberRange } from '../base/keys.js';
import type { PartitionRow } from '../base/rows.js';
import { appends, cursors, partitions, queues } from '../base/tables.js';
import { settleByTable, type Word } from '../testing/ack-settle.fake.js';
import { EngineRig, type Request, TENANT } from '../testing/engine.fake.js';
import { SeededRandom } from '../testing/random.fake.js';

const GRACE_MS = 500;
const GROUPS = ['g1', 'g2', 'last'];
const QUEUES = ['q0', 'q1', 'q2'];
/** The wait of `q2`; odd, to keep clear of the instants at which leases end. */
const MIN_POP_WAIT_MS = 1503;
const STATUSES: readonly AckStatus[] = ['completed', 'completed', 'failed', 'retry', 'dlq'];

interface Lease {
  readonly id: string;
  readonly end: number;
  expiresMs: number;
  grantedBy: number;
  readonly conflation: boolean;
  /** A leader that prolongs another node's lease does not take the grace back. */
  graceEndsMs: number;
}

interface Cursor {
  committed: number;
  lease: Lease | null;
  settled: { leaseId: string; first: number; last: number } | null;
  attemptOffset: number;
  attempt: number;
  retries: number;
}

const UNTOUCHED: Cursor = {
  committed: -1,
  lease: null,
  settled: null,
  attemptOffset: -1,
  attempt: 0,
  retries: 0,
};

interface Waiting {
  readonly command: PopCommand;
  readonly arrivedMs: number;
}

interface Issued {
  readonly partition: number;
  readonly group: string;
  readonly leaseId: string;
}

class Model {
  readonly rig: EngineRig;
  readonly ids = new Map<number, string[]>();
  readonly cursors = new Map<string, Cursor>();
  readonly filed: string[] = [];
  /** In the order of arrival. */
  readonly waiting = new Map<Request, Waiting>();
  readonly queueOf = new Map<number, string>();
  issued: Issued[] = [];
  node = 1;
  pushed = 0;
  seeks = 0;
  readonly #random: SeededRandom;

  /** Whether scans take several turns, so that a pop may be served before all is known. */
  readonly #piecemeal: boolean;

  constructor(seed: number, limits: DeliveryLimits) {
    this.#random = new SeededRandom(seed);
    this.rig = new EngineRig(limits);
    this.#piecemeal = limits !== DELIVERY_LIMITS;
    const dropping = { retryLimit: 0, deadLetterQueue: false, dlqAfterMaxRetries: false };
    this.rig.configure('q0', { namespace: 'n', retryLimit: 1 });
    this.rig.configure('q1', { namespace: 'n', ...dropping });
    const gathering = { retryLimit: 1, minPopWaitTime: MIN_POP_WAIT_MS };
    this.rig.configure('q2', { namespace: 'n', ...gathering });
    for (const queue of QUEUES) {
      for (const group of GROUPS) {
        const conflation = group === 'last';
        this.rig.call(this.rig.popCommand({ queue, consumerGroup: group, conflation }));
      }
    }
  }

  step(): void {
    this.rig.lag = this.#random.below(4);
    const kind = this.#random.below(21);
    if (kind < 4) this.push();
    else if (kind < 9) this.pop();
    else if (kind < 14) this.ack();
    else if (kind < 15) this.extend();
    else if (kind < 16) this.giveBack();
    else if (kind < 18) this.advance();
    else if (kind < 19) this.restart();
    else if (kind < 20) this.withdraw();
    else this.seek();
    this.compare();
  }

  push(): void {
    const queue = this.#pick(QUEUES) ?? '';
    const name = `p${this.#random.below(3)}`;
    const ids = Array.from({ length: 1 + this.#random.below(3) }, () => `m${this.pushed++}`);
    this.rig.push(queue, name, ids);
    for (const row of this.rig.rows(partitions)) {
      const owner = this.rig.rows(queues).find(({ number }) => number === row.queue)?.name ?? '';
      this.queueOf.set(row.number, owner);
      if (!this.ids.has(row.number)) this.ids.set(row.number, []);
      if (owner === queue && row.name === name) this.ids.get(row.number)?.push(...ids);
    }
    this.answers();
  }

  pop(): void {
    const scope = this.#random.below(8);
    const command = this.rig.popCommand({
      queue: this.#pick(QUEUES) ?? '',
      ...(scope < 2 ? { partition: `p${this.#random.below(3)}` } : {}),
      ...(scope === 2 ? { namespace: 'n' } : {}),
      consumerGroup: this.#pick(GROUPS) ?? '',
      batch: 1 + this.#random.below(4),
      partitions: 1 + this.#random.below(3),
      autoAck: this.#random.below(6) === 0,
      wait: this.#random.below(3) === 0,
      leaseSeconds: 1 + this.#random.below(5),
      timeoutMs: 60_000,
      conflation: this.#pick([null, null, false, true]) ?? null,
    });
    this.waiting.set(this.rig.send(command), { command, arrivedMs: this.rig.nowMs });
    this.rig.turn();
    this.answers();
  }

  /**
   * Judges every pop that the last turn answered and those to come, in the order of the answers.
   */
  answers(): void {
    for (let turns = 0; ; turns++) {
      for (const request of this.rig.answered) {
        const waiting = this.waiting.get(request);
        if (waiting === undefined) continue;
        this.waiting.delete(request);
        this.judge(waiting, request);
      }
      const dueMs = this.rig.planner.nextDueMs();
      if (dueMs === null || dueMs > this.rig.nowMs) break;
      expect(turns, 'the planner never comes to rest').toBeLessThan(1000);
      this.rig.turn();
    }
    const lines = new Set<string>();
    for (const waiting of this.waiting.values()) {
      const { scope, consumerGroup } = waiting.command;
      const line = `${consumerGroup} ${scope.kind === 'partition' ? scope.partition : ''}`;
      if (!this.mayGather(waiting)) {
        const { command } = waiting;
        expect(this.claimable(command), 'a waiter is left where something is ready').toEqual([]);
      } else if (!lines.has(line) && !this.#piecemeal) {
        expect(this.isSurelyFull(waiting.command), 'a full pop goes on gathering').toBe(false);
      }
      if (scope.kind === 'discovery' || scope.queue === 'q2') lines.add(line);
    }
  }

  mayGather({ command, arrivedMs }: Waiting): boolean {
    if (!command.wait || this.rig.nowMs >= arrivedMs + MIN_POP_WAIT_MS) return false;
    if (command.scope.kind !== 'discovery') return command.scope.queue === 'q2';
    return this.claimable(command).every((number) => this.queueOf.get(number) === 'q2');
  }

  /** Whichever partitions the pop would take. */
  isSurelyFull(command: PopCommand): boolean {
    const { consumerGroup } = command;
    const counts = this.claimable(command).map((number) => {
      const { committed } = this.cursor(number, consumerGroup);
      return (this.ids.get(number)?.length ?? 0) - 1 - committed;
    });
    const width = command.scope.kind === 'partition' ? 1 : command.partitions;
    if (consumerGroup === 'last') return counts.length >= Math.min(width, command.batch);
    const least = counts.sort((a, b) => a - b).slice(0, width);
    return least.length > 0 && least.reduce((sum, count) => sum + count, 0) >= command.batch;
  }

  judge(waiting: Waiting, request: Request): void {
    const { command } = waiting;
    const gathers = this.mayGather(waiting);
    const conflation = command.consumerGroup === 'last';
    const { outcome } = request;
    if (outcome?.kind !== 'popped') throw new Error('not the answer of a pop');
    const conflict = command.conflation !== null && command.conflation !== conflation;
    expect(outcome.terms).toEqual(
      conflation || conflict ? { conflation, conflationConflict: conflict, autopilot: null } : null,
    );
    let budget = command.batch;
    const messages = this.rig.messages(outcome);
    for (const { partitionNumber: number, deliveryAttempt } of outcome.claims) {
      expect(this.claimable(command)).toContain(number);
      const got = messages.filter((message) => message.number === number);
      const cursor = this.cursor(number, command.consumerGroup);
      const all = this.ids.get(number) ?? [];
      const first = conflation ? all.length - 1 : cursor.committed + 1;
      const ids = all.slice(first, first + budget);
      expect(got.map(({ text, offset }) => [text, offset])).toEqual(
        ids.map((id, i) => [id, first + i]),
      );
      budget -= ids.length;
      const end = first + ids.length - 1;
      const attempt = cursor.attemptOffset === first ? cursor.attempt + 1 : 1;
      expect(deliveryAttempt).toBe(command.autoAck ? 1 : attempt);
      if (command.autoAck) {
        Object.assign(cursor, { committed: end, lease: null, attemptOffset: -1, attempt: 0 });
        continue;
      }
      const expiresMs = this.rig.nowMs + (command.leaseSeconds ?? 0) * 1000;
      cursor.lease = {
        id: outcome.leaseId,
        end,
        expiresMs,
        grantedBy: this.node,
        conflation,
        graceEndsMs: 0,
      };
      cursor.attemptOffset = first;
      cursor.attempt = attempt;
      const { consumerGroup: group } = command;
      this.issued = [...this.issued, { partition: number, group, leaseId: outcome.leaseId }];
    }
    this.issued = this.issued.slice(-12);
    const width = command.scope.kind === 'partition' ? 1 : command.partitions;
    const full = budget === 0 || outcome.claims.length === width;
    const isFilled = budget === 0 || (conflation && full);
    expect(gathers && !isFilled, 'a pop that is not full is answered too early').toBe(false);
    if (this.#piecemeal && outcome.claims.length > 0) return;
    if (!full) expect(this.claimable(command), 'a pop left something ready').toEqual([]);
  }

  claimable(command: PopCommand): number[] {
    const { scope, consumerGroup } = command;
    const rows = this.rig.rows(partitions);
    const found: number[] = [];
    for (const [number, ids] of this.ids) {
      if (scope.kind !== 'discovery' && this.queueOf.get(number) !== scope.queue) continue;
      const name = rows.find((row) => row.number === number)?.name;
      if (scope.kind === 'partition' && scope.partition !== name) continue;
      const cursor = this.cursor(number, consumerGroup);
      if (cursor.committed + 1 < ids.length && !this.live(cursor.lease)) found.push(number);
    }
    return found;
  }

  ack(): void {
    const issued = this.#pick(this.issued);
    if (issued === undefined) return;
    const { partition, group } = issued;
    const cursor = this.cursor(partition, group);
    const leaseId = this.#random.below(6) === 0 ? '' : issued.leaseId;
    const words: [string, AckStatus][] = [];
    const count = 1 + this.#random.below(4);
    for (let i = 0; i < count; i++) {
      const near = cursor.committed + this.#random.below(6) - 1;
      const end = cursor.lease?.conflation === true ? cursor.lease.end : near;
      const offset = Math.max(0, this.#random.below(2) === 0 ? near : end);
      const id = this.ids.get(partition)?.[offset] ?? 'unknown';
      words.push([id, this.#pick(STATUSES) ?? 'completed']);
    }
    const expected = this.expectAck(partition, cursor, leaseId, words);
    const { items } = this.rig.ack(partition, leaseId, words, group);
    expect(items.map(({ success, noop, leaseReleased }) => [success, noop, leaseReleased])).toEqual(
      expected,
    );
    this.answers();
  }

  expectAck(
    partition: number,
    cursor: Cursor,
    leaseId: string,
    words: readonly [string, AckStatus][],
  ): [boolean, boolean, boolean][] {
    const ids = this.ids.get(partition) ?? [];
    const { lease, settled, committed } = cursor;
    if (leaseId !== '' && (lease?.id !== leaseId || !this.live(lease))) {
      if (settled?.leaseId !== leaseId) return words.map(() => [false, false, false]);
      return words.map(([id, status]) => {
        const offset = ids.indexOf(id);
        const known = offset >= settled.first || status === 'completed';
        const repeated = offset !== -1 && offset <= settled.last && known;
        return [repeated, repeated, true];
      });
    }
    const end = lease?.end ?? ids.length - 1;
    const said: Word[] = ids.slice(committed + 1, end + 1).map((id) => this.strongest(words, id));
    const queue = this.queueOf.get(partition);
    const result = settleByTable(
      {
        committed,
        batchEnd: lease?.end ?? null,
        retries: cursor.retries,
        retryLimit: queue === 'q1' ? 0 : 1,
        conflation: lease?.conflation ?? false,
        fileFailed: queue !== 'q1',
        spentAt: -1,
      },
      said,
    );
    for (const offset of result.filed) this.filed.push(`${partition}/${ids[offset]}`);
    const { released } = result;
    if (released && lease !== null && result.committed === lease.end) {
      cursor.settled = { leaseId: lease.id, first: cursor.attemptOffset, last: lease.end };
    }
    if (!released && lease !== null && result.committed > committed) {
      cursor.attemptOffset = result.committed + 1;
    }
    cursor.committed = result.committed;
    cursor.retries = result.retries;
    if (released) cursor.lease = null;
    return words.map(([id, status]) => {
      const offset = ids.indexOf(id);
      if (offset > committed && offset <= end) return [true, false, released];
      const noop = offset !== -1 && offset <= committed && status === 'completed';
      return [noop, noop, released];
    });
  }

  strongest(words: readonly [string, AckStatus][], id: string): Word {
    const said = words.filter(([named]) => named === id).map(([, status]) => status);
    const order: readonly AckStatus[] = ['dlq', 'failed', 'retry', 'completed'];
    return order.find((status) => said.includes(status)) ?? null;
  }

  extend(): void {
    const issued = this.#pick(this.issued);
    if (issued === undefined) return;
    const seconds = 1 + this.#random.below(5);
    let renewed = 0;
    for (const cursor of this.cursors.values()) {
      const { lease } = cursor;
      if (lease?.id !== issued.leaseId || !this.live(lease)) continue;
      renewed++;
      const wantedMs = this.rig.nowMs + seconds * 1000;
      // Stamps rise from entry to entry: the same millisecond later is a later microsecond.
      if (wantedMs < lease.expiresMs) continue;
      if (lease.grantedBy !== this.node) lease.graceEndsMs = lease.expiresMs + GRACE_MS;
      lease.expiresMs = wantedMs;
      lease.grantedBy = this.node;
    }
    expect(this.rig.extend(issued.leaseId, seconds).renewed).toBe(renewed);
  }

  giveBack(): void {
    const issued = this.#pick(this.issued);
    if (issued === undefined) return;
    const { partition, group, leaseId } = issued;
    const cursor = this.cursor(partition, group);
    if (cursor.lease?.id === leaseId) {
      cursor.lease = null;
      cursor.attempt--;
    }
    const partitionNumbers = [partition];
    const command = { kind: 'give-back', tenant: TENANT, consumerGroup: group } as const;
    this.rig.call({ ...command, leaseId, partitionNumbers });
    this.answers();
  }

  advance(): void {
    // The odd milliseconds keep every step clear of the instant at which a lease ends.
    this.rig.advance((1 + this.#random.below(3)) * 1000 + 7);
    this.rig.turn();
    this.answers();
  }

  restart(): void {
    this.node = 1 + this.#random.below(3);
    this.rig.restart(this.node);
    for (const { lease } of this.cursors.values()) if (lease !== null) lease.graceEndsMs = 0;
    this.waiting.clear();
  }

  withdraw(): void {
    const request = this.#pick([...this.waiting.keys()]);
    if (request === undefined) return;
    this.rig.planner.withdraw(request);
    this.waiting.delete(request);
  }

  /** To the end, to the front, or to an append, of one partition or of all. */
  seek(): void {
    const queue = this.#pick(QUEUES) ?? '';
    const partition = this.#random.below(2) === 0 ? null : `p${this.#random.below(3)}`;
    const group = this.#pick(GROUPS) ?? '';
    const stamps = this.rig.rows(appends).map(({ stampUs }) => stampUs);
    const targetUs = this.#pick([null, 0, this.#pick(stamps) ?? 0]) ?? null;
    const owner = this.rig.rows(queues).find(({ name }) => name === queue)?.number;
    const named = this.rig
      .rows(partitions)
      .filter((row) => row.queue === owner && (partition === null || row.name === partition));
    for (const row of named) {
      const committed = this.placeOf(row, targetUs);
      Object.assign(this.cursor(row.number, group), { ...UNTOUCHED, committed });
    }
    const changeId = `01a2b3c4-0000-4000-8000-${String(this.seeks++).padStart(12, '0')}`;
    const change = { tenant: TENANT, changeId, consumerGroup: group } as const;
    const { outcome } = this.rig.call({ kind: 'seek', ...change, queue, partition, targetUs });
    expect(outcome).toMatchObject({ kind: 'group-changed', changed: named.length });
    this.answers();
  }

  /** Before the first append that is stamped at or after the target. */
  placeOf({ number, nextOffset }: PartitionRow, targetUs: number | null): number {
    const [from, to] = numberRange(number);
    const all = this.rig.planner.state.range(appends, from, to, 1_000_000);
    const first = all.find(({ row }) => targetUs !== null && row.stampUs >= targetUs);
    return (first === undefined ? nextOffset : appendKeyOffset(first.key)) - 1;
  }

  compare(): void {
    for (const [key, { committed, lease, settled, attemptOffset, attempt, retries }] of this
      .cursors) {
      const [number, group] = key.split('/');
      const row = this.rig.planner.state.get(cursors, numberNameKey(Number(number), group ?? ''));
      if (row === undefined) continue;
      const held = lease && {
        id: lease.id,
        batchEnd: lease.end,
        grantedBy: lease.grantedBy,
        conflation: lease.conflation,
      };
      const wanted = { committed, settled, attemptOffset, attempt, retries };
      expect(row).toMatchObject({ ...wanted, lease: held });
    }
    const letters = this.rig.deadLetters().map((row) => `${row.partition}/${row.transactionId}`);
    expect(letters.sort()).toEqual(this.filed.sort());
  }

  cursor(partition: number, group: string): Cursor {
    const key = `${partition}/${group}`;
    let cursor = this.cursors.get(key);
    if (cursor === undefined) {
      cursor = { ...UNTOUCHED };
      this.cursors.set(key, cursor);
    }
    return cursor;
  }

  live(lease: Lease | null): boolean {
    if (lease === null) return false;
    const graceMs = lease.grantedBy === this.node ? 0 : GRACE_MS;
    return this.rig.nowMs < Math.max(lease.expiresMs + graceMs, lease.graceEndsMs);
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[this.#random.below(items.length)];
  }
}

const SMALL: DeliveryLimits = {
  scanRowsPerTurn: 2,
  readyLow: 2,
  readyMax: 2,
  duePerTurn: 1,
  servedBytesPerTurn: 100,
  groupsMax: 1,
};

describe.each([
  ['the limits of production', DELIVERY_LIMITS],
  ['limits that everything runs into', SMALL],
])('%s', (_name, limits) => {
  test.each(Array.from({ length: 10 }, (_, i) => 1000 + i))('seed %i', (seed) => {
    const model = new Model(seed, limits);
    for (let i = 0; i < 600; i++) {
      try {
        model.step();
      } catch (fault) {
        throw new Error(`seed ${seed}, step ${i}`, { cause: fault });
      }
    }
  });
});
