/**
 * A group of leaders, one after the other, over one replicated state: entries in flight that a
 * change of leaders keeps or drops, and answers that are given when their entry is applied. What
 * the tests of request ids drive; who sends, repeats and loses is the test's.
 */
import { uuidV7 } from '@svc/wire';
import { decodeAppend } from '../base/append.js';
import { assert } from '../base/assert.js';
import type { AppendLocation, Command, Outcome } from '../base/commands/commands.js';
import type { Key } from '../base/state.js';
import { appends } from '../base/tables.js';
import { utf8Read } from '../base/utf8.js';
import { PLANNER_LIMITS } from '../planner/limits.js';
import { Planner } from '../planner/planner.js';
import { applyEntry } from '../state/apply.js';
import type { RequestOrigin } from '../state/request-id.js';
import { EncodedState, PlainTransactions, sum } from './engine.fake.js';
import { SeededRandom } from './random.fake.js';

/** One copy of a request that reached the leader; itself the ticket of its answer. */
export interface Copy {
  readonly origin: RequestOrigin | null;
  readonly onOutcome: (outcome: Outcome) => void;
}

interface InFlight {
  readonly index: number;
  readonly body: Uint8Array;
  readonly answers: { readonly copy: Copy; readonly outcome: Outcome }[];
}

export class RequestGroup {
  readonly state = new EncodedState();
  readonly transactions = new PlainTransactions();
  planner: Planner;
  term = 1;
  nowMs = 1000;
  wallUs = 1_800_000_000_000_000;
  /** Entries that were applied. */
  entries = 0;
  readonly #windowMs: number;
  readonly #turnBytesMax: number;
  readonly #log = new Map<number, Uint8Array>();
  readonly #random = new SeededRandom(5);
  #inFlight: InFlight[] = [];
  #index = 0;

  constructor(windowMs = 60_000, turnBytesMax = PLANNER_LIMITS.turnBytesMax) {
    this.#windowMs = windowMs;
    this.#turnBytesMax = turnBytesMax;
    this.planner = this.#newPlanner();
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  advance(ms: number): void {
    this.nowMs += ms;
    this.wallUs += ms * 1000;
  }

  send(
    command: Command,
    origin: RequestOrigin | null,
    onOutcome: (outcome: Outcome) => void,
  ): Copy {
    const copy: Copy = { origin, onOutcome };
    this.planner.enqueue(command, copy, origin);
    return copy;
  }

  turn(): void {
    const index = this.#index + 1;
    const { wallUs, nowMs } = this;
    const turn = this.planner.turn({ index, wallUs, nowMs });
    const answers = turn.answers.map(({ ticket, outcome }) => ({ copy: ticket as Copy, outcome }));
    if (turn.body !== null) {
      this.#index = index;
      this.#log.set(index, turn.body);
      this.#inFlight.push({ index, body: turn.body, answers });
      return;
    }
    const last = this.#inFlight[this.#inFlight.length - 1];
    if (last !== undefined) last.answers.push(...answers);
    else for (const { copy, outcome } of answers) copy.onOutcome(outcome);
  }

  /** The oldest entry in flight is durable on a majority. */
  apply(): void {
    const first = this.#inFlight.shift();
    if (first === undefined) return;
    applyEntry(this.state, this.transactions, first.index, first.body);
    this.entries++;
    this.planner.applied(first.index);
    for (const { copy, outcome } of first.answers) copy.onOutcome(outcome);
  }

  settleDown(): void {
    for (let left = 1000; left > 0 && (this.planner.busy || this.inFlight > 0); left--) {
      this.turn();
      while (this.inFlight > 0) this.apply();
    }
  }

  /** Another leader: so many entries in flight turn out to count; nobody hears of their answers. */
  elect(survivors: number): void {
    const kept = this.#inFlight.slice(0, survivors);
    for (const { index } of this.#inFlight.slice(survivors)) this.#log.delete(index);
    this.#inFlight = [];
    for (const { index, body } of kept) {
      applyEntry(this.state, this.transactions, index, body);
      this.entries++;
    }
    this.#index = Math.max(0, ...this.#log.keys());
    this.term++;
    // Monotonic clocks of two nodes have nothing in common.
    this.nowMs = 1000 + this.#random.below(1_000_000);
    this.planner = this.#newPlanner();
  }

  /** The payloads of all messages in the log, as texts. */
  stored(): string[] {
    const rows = this.state.range(appends, '' as Key, '\xff'.repeat(20) as Key, 1_000_000);
    return rows.flatMap(({ row }) => {
      const { bytes, payloadStart, payloadEnd } = decodeAppend(this.#read(row));
      return payloadStart.map((start, i) => utf8Read(bytes, start, payloadEnd[i] ?? 0));
    });
  }

  #read({ index, position, length }: AppendLocation): Uint8Array {
    const body = this.#log.get(index);
    assert(body !== undefined, `entry ${index} is not in the log`);
    return body.slice(position, position + length);
  }

  #newPlanner(): Planner {
    const random = () => this.#random.below(0x1_0000_0000);
    return new Planner(
      this.state,
      this.transactions,
      {
        nodeId: this.term,
        checksum: sum,
        newUuid: (nowUs) => uuidV7(Math.floor(nowUs / 1000), random(), random(), random()),
        readLog: (location) => this.#read(location),
        cipher: null,
      },
      {
        ...PLANNER_LIMITS,
        requestWindowMs: this.#windowMs,
        turnBytesMax: this.#turnBytesMax,
        sweepRowsMax: 2,
        groupChangeRowsMax: 2,
      },
    );
  }
}
