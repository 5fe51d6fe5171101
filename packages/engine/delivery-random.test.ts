// Goal: delivery and acknowledgement agree with a naive model under any order of operations, lease
// expiries, give-backs and changes of leader.
// Method: seeded random operations against the planner. The model is a list of messages per
// partition and one plain record per (partition, group). Which partition a pop takes is the
// engine's choice; what it then gets, what an ack answers and which cursor results is the model's.
// A failure names its seed.
import { describe, expect, test } from 'vitest';
import { settleByTable, type Word } from './ack-settle.fake.js';
import type { AckStatus, PopCommand } from './commands.js';
import { DELIVERY_LIMITS, type DeliveryLimits } from './delivery-limits.js';
import { EngineRig, type Request, TENANT } from './engine.fake.js';
import { numberNameKey } from './keys.js';
import { SeededRandom } from './random.fake.js';
import { cursors, deadLetters, partitions, queues } from './tables.js';

const GRACE_MS = 500;
const GROUPS = ['g1', 'g2'];
const STATUSES: readonly AckStatus[] = ['completed', 'completed', 'failed', 'retry', 'dlq'];

interface Lease {
  readonly id: string;
  readonly end: number;
  expiresMs: number;
  grantedBy: number;
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
  readonly waiting = new Map<Request, PopCommand>();
  readonly queueOf = new Map<number, string>();
  issued: Issued[] = [];
  node = 1;
  pushed = 0;
  readonly #random: SeededRandom;

  /** Whether scans take several turns, so that a pop may be served before all is known. */
  readonly #piecemeal: boolean;

  constructor(seed: number, limits: DeliveryLimits) {
    this.#random = new SeededRandom(seed);
    this.rig = new EngineRig(limits);
    this.#piecemeal = limits !== DELIVERY_LIMITS;
    this.rig.configure('q0', { retryLimit: 1 });
    this.rig.configure('q1', { retryLimit: 0, deadLetterQueue: false, dlqAfterMaxRetries: false });
    for (const queue of ['q0', 'q1']) {
      for (const group of GROUPS)
        this.rig.call(this.rig.popCommand({ queue, consumerGroup: group }));
    }
  }

  step(): void {
    this.rig.lag = this.#random.below(4);
    const kind = this.#random.below(20);
    if (kind < 4) this.push();
    else if (kind < 9) this.pop();
    else if (kind < 14) this.ack();
    else if (kind < 15) this.extend();
    else if (kind < 16) this.giveBack();
    else if (kind < 18) this.advance();
    else if (kind < 19) this.restart();
    else this.withdraw();
    this.compare();
  }

  push(): void {
    const queue = `q${this.#random.below(2)}`;
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
    const pinned = this.#random.below(4) === 0;
    const command = this.rig.popCommand({
      queue: `q${this.#random.below(2)}`,
      ...(pinned ? { partition: `p${this.#random.below(3)}` } : {}),
      consumerGroup: this.#pick(GROUPS) ?? '',
      batch: 1 + this.#random.below(4),
      partitions: 1 + this.#random.below(3),
      autoAck: this.#random.below(6) === 0,
      wait: this.#random.below(3) === 0,
      leaseSeconds: 1 + this.#random.below(5),
      timeoutMs: 60_000,
    });
    this.waiting.set(this.rig.send(command), command);
    this.rig.turn();
    this.answers();
  }

  /**
   * Judges every pop that the last turn answered and those to come, in the order of the answers.
   */
  answers(): void {
    for (let turns = 0; ; turns++) {
      for (const request of this.rig.answered) {
        const command = this.waiting.get(request);
        if (command === undefined) continue;
        this.waiting.delete(request);
        this.judge(command, request);
      }
      const dueMs = this.rig.planner.nextDueMs();
      if (dueMs === null || dueMs > this.rig.nowMs) break;
      expect(turns, 'the planner never comes to rest').toBeLessThan(1000);
      this.rig.turn();
    }
    for (const command of this.waiting.values()) {
      expect(this.claimable(command), 'a waiter is left where something is ready').toEqual([]);
    }
  }

  judge(command: PopCommand, request: Request): void {
    const { outcome } = request;
    if (outcome?.kind !== 'popped') throw new Error('not the answer of a pop');
    let budget = command.batch;
    const messages = this.rig.messages(outcome);
    for (const { partitionNumber: number, deliveryAttempt } of outcome.claims) {
      expect(this.claimable(command)).toContain(number);
      const got = messages.filter((message) => message.number === number);
      const cursor = this.cursor(number, command.consumerGroup);
      const first = cursor.committed + 1;
      const ids = this.ids.get(number)?.slice(first, first + budget) ?? [];
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
      cursor.lease = { id: outcome.leaseId, end, expiresMs, grantedBy: this.node, graceEndsMs: 0 };
      cursor.attemptOffset = first;
      cursor.attempt = attempt;
      const { consumerGroup: group } = command;
      this.issued = [...this.issued, { partition: number, group, leaseId: outcome.leaseId }];
    }
    this.issued = this.issued.slice(-12);
    const width = command.scope.kind === 'partition' ? 1 : command.partitions;
    const full = budget === 0 || outcome.claims.length === width;
    if (this.#piecemeal && outcome.claims.length > 0) return;
    if (!full) expect(this.claimable(command), 'a pop left something ready').toEqual([]);
  }

  claimable(command: PopCommand): number[] {
    const { scope, consumerGroup } = command;
    if (scope.kind === 'discovery') return [];
    const rows = this.rig.rows(partitions);
    const found: number[] = [];
    for (const [number, ids] of this.ids) {
      if (this.queueOf.get(number) !== scope.queue) continue;
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
      const offset = Math.max(0, cursor.committed + this.#random.below(6) - 1);
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
        retryLimit: queue === 'q0' ? 1 : 0,
        fileFailed: queue === 'q0',
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

  compare(): void {
    for (const [key, { committed, lease, settled, attemptOffset, attempt, retries }] of this
      .cursors) {
      const [number, group] = key.split('/');
      const row = this.rig.planner.state.get(cursors, numberNameKey(Number(number), group ?? ''));
      if (row === undefined) continue;
      const held = lease && { id: lease.id, batchEnd: lease.end, grantedBy: lease.grantedBy };
      const wanted = { committed, settled, attemptOffset, attempt, retries };
      expect(row).toMatchObject({ ...wanted, lease: held });
    }
    const letters = this.rig
      .rows(deadLetters)
      .map((row) => `${row.partition}/${row.transactionId}`);
    expect(letters.sort()).toEqual(this.filed.sort());
  }

  cursor(partition: number, group: string): Cursor {
    const key = `${partition}/${group}`;
    let cursor = this.cursors.get(key);
    if (cursor === undefined) {
      cursor = {
        committed: -1,
        lease: null,
        settled: null,
        attemptOffset: -1,
        attempt: 0,
        retries: 0,
      };
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
