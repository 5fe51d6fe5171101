/**
 * The planner over a state that comes back from a checkpoint and the log after it. A restart throws
 * away everything in memory; the rows that it rebuilds must be those that were lost, and those that
 * the whole log alone gives.
 */

import { uuidV7 } from '@svc/wire';
import { decodeAppend } from '../../base/append.js';
import { assert } from '../../base/assert.js';
import type { AppendSlice, Command, Outcome } from '../../base/commands/commands.js';
import type { Key, Table } from '../../base/state.js';
import { utf8Read } from '../../base/utf8.js';
import { Planner } from '../../planner/planner.js';
import { applyEntry, readMeta } from '../../state/apply.js';
import { TABLES } from '../../state/table-list.js';
import { EncodedState, PlainTransactions, sum } from '../engine.fake.js';
import { assertNameIndex } from '../name-index.fake.js';
import { SeededRandom } from '../random.fake.js';

const FIRST_KEY = '' as Key;
const LAST_KEY = '\xff'.repeat(600) as Key;
const ROWS_MAX = 1_000_000;

interface Request {
  outcome: Outcome | null;
}

export class DifferentialRig {
  nowMs = 1_000_000;
  wallUs = 1_800_000_000_000_000;
  /** Entries that stay planned and not applied. */
  lag = 0;
  #state = new EncodedState();
  #transactions = new PlainTransactions();
  #planner: Planner;
  /** The body of every entry, by index; a turn without effects leaves a gap. */
  readonly #log = new Map<number, Uint8Array>();
  #index = 0;
  #applied = 0;
  #checkpoint = { state: new EncodedState(), index: 0 };
  readonly #random = new SeededRandom(7);

  constructor() {
    this.#planner = this.#newPlanner();
  }

  advance(ms: number): void {
    this.nowMs += ms;
    this.wallUs += ms * 1000;
  }

  /**
   * The outcome of one command; whatever falls due is planned first. Time goes on in between, so
   * that the entry of the command is stamped with the very time of the clock.
   */
  call(command: Command): Outcome {
    return this.callAll([command])[0] as Outcome;
  }

  /** The same for commands that come in one turn. */
  callAll(commands: readonly Command[]): Outcome[] {
    this.#settle();
    this.advance(1);
    const requests = commands.map((command) => {
      const request: Request = { outcome: null };
      this.#planner.enqueue(command, request);
      return request;
    });
    return requests.map((request, i) => {
      for (let turns = 0; request.outcome === null; turns++) {
        assert(turns < 100, `${commands[i]?.kind} is never answered`);
        this.#turn();
      }
      return request.outcome;
    });
  }

  /** From here on a restart begins with the rows of this moment. */
  checkpoint(): void {
    this.#checkpoint = { state: copyOf(this.#state), index: this.#applied };
  }

  restart(): void {
    this.#apply(0);
    const lost = this.#state;
    this.#transactions = new PlainTransactions();
    const whole = new EncodedState();
    for (const [index, body] of this.#log) applyEntry(whole, this.#transactions, index, body);
    const { state, index: from } = this.#checkpoint;
    const rebuilt = copyOf(state);
    for (const [index, body] of this.#log) {
      if (index > from) applyEntry(rebuilt, new PlainTransactions(), index, body);
    }
    expectSame(rebuilt, lost, 'checkpoint and log');
    expectSame(whole, lost, 'the whole log');
    this.#state = rebuilt;
    this.#planner = this.#newPlanner();
  }

  /** The time by which the last command was judged: a turn after another one is stamped later. */
  get nowUs(): number {
    return Math.max(this.wallUs, readMeta(this.#planner.state).stampUs);
  }

  rows<Row>(table: Table<Row>): Row[] {
    return this.#planner.state.range(table, FIRST_KEY, LAST_KEY, ROWS_MAX).map(({ row }) => row);
  }

  row<Row>(table: Table<Row>, key: Key): Row | undefined {
    return this.#planner.state.get(table, key);
  }

  get state(): Planner['state'] {
    return this.#planner.state;
  }

  /** Offsets and payloads of what was claimed, read from the log. */
  read(slices: readonly AppendSlice[]): (readonly [offset: number, text: string])[] {
    return slices.flatMap((slice) => {
      const body = this.#log.get(slice.index);
      assert(body !== undefined, `entry ${slice.index} is not in the log`);
      const append = decodeAppend(body.subarray(slice.position, slice.position + slice.length));
      const { bytes, payloadStart, payloadEnd, baseOffset } = append;
      return Array.from({ length: slice.last - slice.first + 1 }, (_, i) => {
        const offset = slice.first + i;
        const at = offset - baseOffset;
        return [offset, utf8Read(bytes, payloadStart[at] ?? 0, payloadEnd[at] ?? 0)] as const;
      });
    });
  }

  /** Plans what is due, so that the next command meets a planner at rest. */
  #settle(): void {
    for (let turns = 0; ; turns++) {
      const dueMs = this.#planner.nextDueMs();
      if (!this.#planner.busy && (dueMs === null || dueMs > this.nowMs)) return;
      assert(turns < 1000, 'the planner never comes to rest');
      this.#turn();
    }
  }

  #turn(): void {
    const index = ++this.#index;
    const { wallUs, nowMs } = this;
    const { body, answers } = this.#planner.turn({ index, wallUs, nowMs });
    if (body !== null) this.#log.set(index, body);
    for (const { ticket, outcome } of answers) (ticket as Request).outcome = outcome;
    this.#apply(this.lag);
  }

  #apply(left: number): void {
    const open = [...this.#log].filter(([index]) => index > this.#applied);
    for (const [index, body] of open.slice(0, Math.max(open.length - left, 0))) {
      applyEntry(this.#state, this.#transactions, index, body);
      this.#applied = index;
      this.#planner.applied(index);
    }
  }

  #newPlanner(): Planner {
    const random = () => this.#random.below(0x1_0000_0000);
    return new Planner(this.#state, this.#transactions, {
      nodeId: 1,
      checksum: sum,
      newUuid: (nowUs) => uuidV7(Math.floor(nowUs / 1000), random(), random(), random()),
      readLog: ({ index, position, length }) => {
        const body = this.#log.get(index);
        assert(body !== undefined, `entry ${index} is not in the log`);
        return body.slice(position, position + length);
      },
      cipher: null,
    });
  }
}

function copyOf(state: EncodedState): EncodedState {
  const copy = new EncodedState();
  for (const table of TABLES as readonly Table<unknown>[]) {
    for (const { key, row } of state.range(table, FIRST_KEY, LAST_KEY, ROWS_MAX)) {
      copy.put(table, key, row);
    }
  }
  return copy;
}

function expectSame(a: EncodedState, b: EncodedState, what: string): void {
  assertNameIndex(a);
  assertNameIndex(b);
  for (const table of TABLES as readonly Table<unknown>[]) {
    if (table.local) continue;
    const [left, right] = [a, b].map((state) =>
      JSON.stringify(state.range(table, FIRST_KEY, LAST_KEY, ROWS_MAX)),
    );
    assert(left === right, `table ${table.name} differs after ${what}`);
  }
}
