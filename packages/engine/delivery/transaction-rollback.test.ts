/**
 * Goal: a transaction that rolls back is as if it had never come: for the rows, for what delivery
 * remembers, and for whatever else is planned in the same turn.
 *
 * Method: random turns of pushes, pops, acks and transactions, good ones and bad ones of every
 * kind, over a few partitions. Then the same turns once more without the transactions that rolled
 * back: after every turn all rows are the same, and so are all answers.
 */
import { expect, test } from 'vitest';
import type { AckStatus, Command, Outcome, PoppedOutcome } from '../base/commands/commands.js';
import type { RollbackReason } from '../base/commands/transaction.js';
import { TABLES } from '../state/table-list.js';
import { EngineRig, pushCommand, TENANT } from '../testing/engine.fake.js';
import { randomKvCall } from '../testing/kv.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import {
  ackOf,
  type PushWord,
  positionOf,
  transactionCommand,
} from '../testing/transaction.fake.js';

const SEEDS = 30;
const TURNS = 30;
const PARTITIONS = ['x', 'y', 'z'];
const GROUPS = ['g', 'h'];

interface Sent {
  readonly command: Command;
  outcome: Outcome | null;
}

interface Turn {
  readonly afterMs: number;
  readonly sent: readonly Sent[];
  rows: string;
}

const rowsOf = (rig: EngineRig) =>
  JSON.stringify(TABLES.filter((table) => !table.local).map((table) => rig.rows(table)));

class Writer {
  readonly rig = new EngineRig();
  readonly turns: Turn[] = [];
  readonly #random: SeededRandom;
  readonly #claims: { readonly group: string; readonly popped: PoppedOutcome }[] = [];
  readonly #ids: string[] = [];

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  turn(): void {
    const random = this.#random;
    const afterMs = random.below(8) === 0 ? 20_000 : random.below(50);
    this.rig.advance(afterMs);
    const count = 1 + random.below(5);
    const commands = Array.from({ length: count }, () => this.#command());
    const sent = play(this.rig, commands);
    for (const { command, outcome } of sent) {
      if (command.kind !== 'pop' || outcome?.kind !== 'popped') continue;
      if (outcome.claims.length > 0) {
        this.#claims.push({ group: command.consumerGroup, popped: outcome });
      }
    }
    this.turns.push({ afterMs, sent, rows: rowsOf(this.rig) });
  }

  #command(): Command {
    const random = this.#random;
    const dice = random.below(10);
    if (dice < 2) return pushCommand('q', this.#partition(), [this.#id(), this.#id()], true);
    if (dice < 5) {
      const wait = random.below(3) === 0;
      const consumerGroup = this.#of(GROUPS);
      const partition = random.below(3) === 0 ? { partition: this.#partition() } : {};
      return this.rig.popCommand({ consumerGroup, wait, batch: 3, ...partition });
    }
    if (dice < 6) {
      const items = this.#acks(1 + random.below(3));
      const consumerGroup = items[0]?.consumerGroup ?? 'g';
      return { kind: 'ack', tenant: TENANT, consumerGroup, items };
    }
    return this.#transaction();
  }

  #transaction(): Command {
    const random = this.#random;
    const words = Array.from({ length: random.below(3) }, (): PushWord => {
      const id = random.below(4) === 0 ? null : this.#id();
      return [random.below(5) === 0 ? 'r' : 'q', this.#partition(), id];
    });
    const positions = Array.from({ length: random.below(2) }, () => {
      const queue = random.below(4) === 0 ? 'missing' : 'q';
      const offset = random.below(5) === 0 ? null : random.below(12);
      const partition = random.below(6) === 0 ? `new${random.below(99)}` : this.#partition();
      return positionOf(queue, partition, offset, { consumerGroup: this.#of([...GROUPS, 'i']) });
    });
    const command = transactionCommand({
      acks: this.#acks(random.below(4)),
      pushes: words,
      positions,
    });
    if (random.below(2) === 0) return command;
    return { ...command, kv: randomKvCall(random, TENANT, () => 1 + random.below(20)) };
  }

  /** Acks of claims that are live, settled, expired, and some that never were. */
  #acks(count: number) {
    const random = this.#random;
    return Array.from({ length: count }, () => {
      const recent = this.#claims.slice(-4);
      const claim = recent[random.below(recent.length)];
      const taken = claim?.popped.claims[0];
      const number = taken?.partitionNumber ?? 1 + random.below(4);
      const texts = claim === undefined ? [] : this.rig.texts(claim.popped);
      const id = random.below(12) === 0 ? 'nowhere' : (texts[random.below(texts.length)] ?? 'a');
      const leaseId = random.below(4) === 0 ? '' : (claim?.popped.leaseId ?? 'none');
      const status = this.#of<AckStatus>([
        'completed',
        'completed',
        'completed',
        'failed',
        'retry',
      ]);
      return ackOf(number, id, leaseId, status, claim?.group ?? 'g');
    });
  }

  #partition(): string {
    return this.#of(PARTITIONS);
  }

  /** New, or one that was used before, in this partition or another. */
  #id(): string {
    if (this.#ids.length > 0 && this.#random.below(2) === 0) return this.#of(this.#ids);
    const id = `m${this.#ids.length}`;
    this.#ids.push(id);
    return id;
  }

  #of<T>(values: readonly T[]): T {
    return values[this.#random.below(values.length)] as T;
  }
}

function play(rig: EngineRig, commands: readonly Command[]): Sent[] {
  const requests = commands.map((command) => ({ command, request: rig.send(command) }));
  rig.turn();
  return requests.map(({ command, request }) => ({
    command,
    // A parked pop is answered later: through the request itself.
    get outcome() {
      return request.outcome;
    },
  }));
}

function rolledBack({ outcome }: Sent): RollbackReason | null {
  return outcome?.kind === 'transacted' ? (outcome.rollback?.reason ?? null) : null;
}

test('a transaction that rolls back is as if it had never come', () => {
  const reasons = new Map<RollbackReason | 'committed', number>();
  const count = (reason: RollbackReason | 'committed') =>
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  for (let seed = 1; seed <= SEEDS; seed++) {
    const writer = new Writer(seed);
    for (let turn = 0; turn < TURNS; turn++) writer.turn();
    const rig = new EngineRig();
    const again = writer.turns.map(({ afterMs, sent, rows }, at) => {
      rig.advance(afterMs);
      const kept = sent.filter((one) => rolledBack(one) === null);
      const replayed = play(
        rig,
        kept.map(({ command }) => command),
      );
      if (rowsOf(rig) !== rows) throw new Error(`seed ${seed}, turn ${at}: the rows differ`);
      return [kept, replayed] as const;
    });
    for (const [kept, replayed] of again) {
      expect([seed, replayed.map(({ outcome }) => outcome)]).toEqual([
        seed,
        kept.map(({ outcome }) => outcome),
      ]);
    }
    for (const one of writer.turns.flatMap(({ sent }) => sent)) {
      const reason = rolledBack(one);
      if (reason !== null) count(reason);
      else if (one.outcome?.kind === 'transacted') count('committed');
    }
  }
  // The runs are about something.
  const wanted = ['committed', 'rejected_ack', 'duplicate', 'queue_not_found'] as const;
  for (const reason of [...wanted, 'kv_precondition'] as const) {
    expect([reason, (reasons.get(reason) ?? 0) > SEEDS / 2]).toEqual([reason, true]);
  }
});
