/**
 * A planner and an applied state in one thread, with a clock and a log in memory: what the tests of
 * delivery drive. Entries are applied through their bytes, rows are stored through their binary
 * form, and whenever nothing is in flight the planned state must equal the applied one.
 */
import { messageId, uuidV7 } from '@svc/wire';
import { decodeAppend } from '../base/append.js';
import { findAppend } from '../base/append-search.js';
import { assert } from '../base/assert.js';
import type {
  AckedOutcome,
  AckItem,
  AckStatus,
  AppendLocation,
  AppendSlice,
  Command,
  ExtendedOutcome,
  OptionChanges,
  Outcome,
  PopCommand,
  PoppedOutcome,
  PopScope,
  PushCommand,
} from '../base/commands/commands.js';
import { DELIVERY_LIMITS, type DeliveryLimits } from '../base/delivery-limits.js';
import { appendKeyOffset, secondNumberInKey } from '../base/keys.js';
import { MapState } from '../base/map-state.js';
import type { PopRoom } from '../base/pop-room.js';
import type { DeadLetterBody, DeadLetterHead } from '../base/rows.js';
import type { Key, KeyedRow, State, Table } from '../base/state.js';
import { appends } from '../base/tables.js';
import type { TimerClock } from '../base/timer-clock.js';
import { utf8Length, utf8Read, utf8Write } from '../base/utf8.js';
import type { Surroundings } from '../draft/draft.js';
import type { PayloadCipher } from '../draft/payload-cipher.js';
import { FEATURES } from '../planner/features.js';
import { PLANNER_LIMITS, type PlannerLimits } from '../planner/limits.js';
import { Planner } from '../planner/planner.js';
import type { AppliedEvents } from '../state/applied-events.js';
import { AppliedFigures } from '../state/applied-figures.js';
import { applyEntry } from '../state/apply.js';
import { findPartition, findQueue } from '../state/catalog.js';
import { deadLetterBodies, deadLetters } from '../state/dead-letters/tables.js';
import type { FiguresObserver } from '../state/queue-figures.js';
import { TABLES } from '../state/table-list.js';
import type { TransactionMatch } from '../state/transaction-ids/id-index.js';
import { assertNameIndex } from './name-index.fake.js';
import { SeededRandom } from './random.fake.js';

export const TENANT = '00000000-0000-0000-0000-000000000001';
/** It is made anew for the comparison, which takes as long as the others together. */
const INDEX_EVERY = 4;
const FIRST_KEY = '' as Key;
const LAST_KEY = '\xff'.repeat(600) as Key;

/** Stores rows as bytes, so that a field missing in a row's binary form is noticed. */
export class EncodedState implements State {
  readonly #rows = new MapState();

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    return this.#rows.get(table, key);
  }

  put<Row>(table: Table<Row>, key: Key, row: Row): void {
    this.#rows.put(table, key, table.decode(table.encode(row)));
  }

  delete<Row>(table: Table<Row>, key: Key): void {
    this.#rows.delete(table, key);
  }

  range<Row>(t: Table<Row>, from: Key, to: Key, limit: number, reverse?: boolean): KeyedRow<Row>[] {
    return this.#rows.range(t, from, to, limit, reverse);
  }
}

/** The ids of applied messages in a plain map. */
export class PlainTransactions {
  readonly #ids = new Map<string, TransactionMatch[]>();

  find(partition: number, transactionId: string): readonly TransactionMatch[] {
    return this.#ids.get(`${partition}:${transactionId}`) ?? [];
  }

  insertBytes(
    partition: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    offset: number,
    stampUs: number,
  ): void {
    const key = `${partition}:${utf8Read(bytes, start, end)}`;
    const matches = this.#ids.get(key) ?? [];
    matches.push({ offset, stampUs });
    this.#ids.set(key, matches);
  }

  clear(): void {
    this.#ids.clear();
  }
}

/** A command on its way; itself the ticket of its answer. */
export interface Request {
  outcome: Outcome | null;
}

export interface Message {
  readonly partition: string;
  readonly number: number;
  readonly offset: number;
  readonly text: string;
  readonly attempt: number;
}

export type PopOptions = Partial<Omit<PopCommand, 'kind' | 'scope' | 'deadlineMs'>> & {
  readonly queue?: string;
  readonly creates?: false;
  readonly partition?: string;
  readonly namespace?: string;
  readonly task?: string;
  readonly timeoutMs?: number;
};

export class EngineRig {
  nowMs = 1_000_000;
  wallUs = 1_800_000_000_000_000;
  readonly state = new EncodedState();
  readonly transactions = new PlainTransactions();
  planner: Planner;
  /** The log gives back other bytes than were written. */
  damaged = false;
  /** The cipher of the planners from the next `restart` on. */
  cipher: PayloadCipher | null = null;
  /** The clock of the leading node, likewise; null: each planner has one of its own. */
  timerClock: TimerClock | null = null;
  mayGrow = true;
  /** The features of the planners from the next `restart` on. */
  features = FEATURES;
  mayTakeWide = true;
  /** Room for the answers of pops, from the next `restart` on; null: there is always room. */
  popRoom: PopRoom | null = null;
  /** Told what entries mean when they are applied. */
  events: AppliedEvents | undefined;
  figures: FiguresObserver | undefined;
  /** How many entries are planned but not applied yet. */
  lag = 0;
  /** Entries written so far. */
  entries = 0;
  /** Bytes of the last turn's entry; 0: it has none. */
  entryBytes = 0;
  /** Units of work of the last turn. */
  units = 0;
  /** What the last turn answered, in order. */
  answered: readonly Request[] = [];
  readonly #bodies = new Map<number, Uint8Array>();
  readonly #random = new SeededRandom(7);
  readonly #inFlight: number[] = [];
  #nodeId = 1;
  #index = 0;

  #limits: PlannerLimits;

  constructor(delivery: DeliveryLimits = DELIVERY_LIMITS, limits: Partial<PlannerLimits> = {}) {
    this.#limits = { ...PLANNER_LIMITS, delivery, ...limits };
    this.planner = this.#newPlanner();
  }

  /** Another leader over the same rows: whatever stood in memory only is gone. */
  restart(nodeId = this.#nodeId, limits: Partial<PlannerLimits> = {}): void {
    this.#apply(0);
    this.#limits = { ...this.#limits, ...limits };
    this.#nodeId = nodeId;
    this.planner = this.#newPlanner();
  }

  advance(ms: number): void {
    this.nowMs += ms;
    this.wallUs += ms * 1000;
  }

  /** Enqueues; `turn` answers. */
  send(command: Command): Request {
    const request: Request = { outcome: null };
    this.planner.enqueue(command, request);
    return request;
  }

  /** What was planned, by index. */
  get written(): ReadonlyMap<number, Uint8Array> {
    return this.#bodies;
  }

  /** The index of the next entry. */
  get nextIndex(): number {
    return this.#index + 1;
  }

  /** An entry that somebody else has planned; `restart` follows before the next turn. */
  take(body: Uint8Array): void {
    const index = ++this.#index;
    this.#bodies.set(index, body);
    applyEntry(this.state, this.transactions, index, body);
  }

  /** Plans one turn, applies what is no longer in flight, and hands out the answers. */
  turn(): void {
    const { wallUs, nowMs } = this;
    const index = ++this.#index;
    const turn = this.planner.turn({ index, wallUs, nowMs });
    this.entryBytes = turn.body?.length ?? 0;
    this.units = turn.units;
    if (turn.body !== null) {
      this.#bodies.set(index, turn.body);
      this.#inFlight.push(index);
      this.entries++;
    }
    this.#apply(this.lag);
    this.answered = turn.answers.map(({ ticket, outcome }) => {
      const request = ticket as Request;
      assert(request.outcome === null, 'a request was answered twice');
      request.outcome = outcome;
      return request;
    });
  }

  /** Runs the turns that the planner asks for at this moment. */
  drain(): void {
    for (let turns = 0; turns < 10_000; turns++) {
      const dueMs = this.planner.nextDueMs();
      if (dueMs === null || dueMs > this.nowMs) return;
      this.turn();
    }
    throw new Error('the planner never comes to rest');
  }

  /** Turns until no command waits for one. */
  turnAll(): void {
    while (this.planner.waiting > 0) this.turn();
  }

  call(command: Command): Request {
    const request = this.send(command);
    this.turn();
    return request;
  }

  push(queue: string, partition: string, ids: readonly string[], named = true): void {
    const request = this.send(pushCommand(queue, partition, ids, named));
    this.turn();
    assert(request.outcome?.kind === 'pushed', 'a push was not answered');
  }

  configure(queue: string, changes: OptionChanges): void {
    this.call({ kind: 'configure', tenant: TENANT, queue, replace: false, changes });
  }

  popCommand(options: PopOptions): PopCommand {
    return popCommand(this.nowMs, options);
  }

  /** A pop that is answered at once. */
  pop(options: PopOptions = {}): PoppedOutcome {
    const { outcome } = this.call(this.popCommand(options));
    assert(outcome?.kind === 'popped', 'the pop was not answered');
    return outcome;
  }

  /** A waiting pop, parked or answered by its first turn. */
  wait(options: PopOptions = {}): Request {
    return this.call(this.popCommand({ ...options, wait: true }));
  }

  ack(
    partition: number,
    leaseId: string,
    words: readonly (readonly [id: string, status: AckStatus, error?: string])[],
    group = 'g',
  ): AckedOutcome {
    const items: AckItem[] = words.map(([transactionId, status, error]) => ({
      transactionId,
      partitionId: String(partition),
      leaseId,
      status,
      error: error ?? null,
    }));
    const { outcome } = this.call({ kind: 'ack', tenant: TENANT, consumerGroup: group, items });
    assert(outcome?.kind === 'acked', 'the ack was not answered');
    return outcome;
  }

  extend(leaseId: string, seconds: number, tenant = TENANT): ExtendedOutcome {
    const { outcome } = this.call({ kind: 'extend', tenant, leaseId, seconds });
    assert(outcome?.kind === 'extended', 'the extension was not answered');
    return outcome;
  }

  giveBack(popped: PoppedOutcome): void {
    this.call({
      kind: 'give-back',
      tenant: TENANT,
      consumerGroup: popped.consumerGroup,
      leaseId: popped.leaseId,
      partitionNumbers: popped.claims.map((claim) => claim.partitionNumber),
    });
  }

  /** The messages of an answer, read from the log. */
  messages(outcome: Outcome | null): Message[] {
    assert(outcome?.kind === 'popped', `not the answer of a pop: ${outcome?.kind}`);
    return outcome.claims.flatMap((claim) =>
      claim.slices.flatMap((slice) =>
        this.#read(slice).map(([offset, text]) => ({
          partition: claim.partition,
          number: claim.partitionNumber,
          offset,
          text,
          attempt: claim.deliveryAttempt,
        })),
      ),
    );
  }

  /** Trace ids of the messages in these slices. */
  traceIds(slices: readonly AppendSlice[]): (string | null)[] {
    return slices.flatMap((slice) => {
      const body = this.#bodies.get(slice.index);
      assert(body !== undefined, `entry ${slice.index} is not in the log`);
      const { traceIds } = decodeAppend(
        body.subarray(slice.position, slice.position + slice.length),
      );
      const offsets = Array.from({ length: slice.last - slice.first + 1 }, (_, i) => i);
      return offsets.map((i) => traceIds?.[slice.first - slice.baseOffset + i] ?? null);
    });
  }

  texts(outcome: Outcome | null): string[] {
    return this.messages(outcome).map((message) => message.text);
  }

  rows<Row>(table: Table<Row>): Row[] {
    return this.planner.state.range(table, FIRST_KEY, LAST_KEY, 1_000_000).map(({ row }) => row);
  }

  /** Whole, in the order of filing. */
  deadLetters(): (DeadLetterHead & DeadLetterBody & { readonly id: string })[] {
    const heads = this.planner.state.range(deadLetters, FIRST_KEY, LAST_KEY, 1_000_000);
    const bodies = this.rows(deadLetterBodies);
    return heads.map(({ key, row }, i) => {
      return { id: key.slice(4), ...row, ...(bodies[i] as DeadLetterBody) };
    });
  }

  /** The ids that the broker minted for these offsets of a partition of queue `q`. */
  minted(partition: string, offsets: readonly number[]): string[] {
    const { state } = this.planner;
    const queue = findQueue(state, TENANT, 'q');
    const row = queue && findPartition(state, queue.number, partition);
    assert(row !== undefined, `no partition ${partition}`);
    return offsets.map((offset) => {
      const append = findAppend(state, row.number, offset);
      return messageId(append?.row.stampUs ?? 0, row.number, true, offset);
    });
  }

  #read(slice: AppendSlice): [number, string][] {
    const body = this.#bodies.get(slice.index);
    assert(body !== undefined, `entry ${slice.index} is not in the log`);
    const end = slice.position + slice.length;
    const decoded = decodeAppend(body.subarray(slice.position, end));
    const { bytes, payloadStart, payloadEnd, baseOffset } = decoded;
    assert(baseOffset === slice.baseOffset, `slice of ${slice.baseOffset} is in ${baseOffset}`);
    const found: [number, string][] = [];
    for (let offset = slice.first; offset <= slice.last; offset++) {
      const i = offset - baseOffset;
      found.push([offset, utf8Read(bytes, payloadStart[i] ?? 0, payloadEnd[i] ?? 0)]);
    }
    return found;
  }

  /** Gives the oldest live appends of the log to the planner, to be written once more; how many. */
  moveOldest(countMax: number): number {
    const rows = this.state.range(appends, FIRST_KEY, LAST_KEY, 1_000_000);
    const moves = rows.map(({ key, row: { index, position, length } }) => ({
      partition: secondNumberInKey(`\0\0\0\0${key}` as Key),
      baseOffset: appendKeyOffset(key),
      index,
      position,
      length,
      bytes: this.bytesAt({ index, position, length }),
    }));
    moves.sort((a, b) => a.index - b.index || a.position - b.position);
    this.planner.relocate(moves.slice(0, countMax));
    return Math.min(moves.length, countMax);
  }

  /** The body of the newest entry. */
  lastBody(): Uint8Array {
    return this.#bodies.get(Math.max(...this.#bodies.keys())) ?? utf8('');
  }

  /** The log gives these entries up. */
  forgetBefore(index: number): void {
    for (const known of this.#bodies.keys()) if (known < index) this.#bodies.delete(known);
  }

  /** Base offset of the append at this place. */
  baseOffsetAt(location: AppendLocation): number {
    return decodeAppend(this.bytesAt(location)).baseOffset;
  }

  /** What the log holds there. */
  bytesAt({ index, position, length }: AppendLocation): Uint8Array {
    const body = this.#bodies.get(index);
    assert(body !== undefined, `entry ${index} is not in the log`);
    return body.slice(position, position + length);
  }

  #newPlanner(): Planner {
    const random = () => this.#random.below(0x1_0000_0000);
    const surroundings: Surroundings = {
      nodeId: this.#nodeId,
      checksum: sum,
      newUuid: (nowUs) => uuidV7(Math.floor(nowUs / 1000), random(), random(), random()),
      readLog: ({ index, position, length }) => {
        const body = this.#bodies.get(index);
        assert(body !== undefined, `entry ${index} is not in the log`);
        const bytes = body.slice(position, position + length);
        if (this.damaged) bytes[length - 1] = (bytes[length - 1] ?? 0) ^ 1;
        return bytes;
      },
      cipher: this.cipher,
      mayGrow: () => this.mayGrow,
      mayTakeWide: () => this.mayTakeWide,
      ...(this.timerClock === null ? {} : { timerClock: this.timerClock }),
      ...(this.popRoom === null ? {} : { popRoom: this.popRoom }),
    };
    return new Planner(this.state, this.transactions, surroundings, this.#limits, this.features);
  }

  #apply(left: number): void {
    while (this.#inFlight.length > left) {
      const index = this.#inFlight.shift() ?? 0;
      const body = this.#bodies.get(index) ?? utf8('');
      const figures = new AppliedFigures({
        events: this.events,
        figures: this.figures,
        onFailure: (error) => {
          throw error;
        },
      });
      const observer = { appended: () => {}, figures };
      applyEntry(this.state, this.transactions, index, body, observer);
      if (this.#inFlight.length === 0) this.#compare();
      this.planner.applied(index);
    }
  }

  #compare(): void {
    for (const table of TABLES) {
      if (table.local) continue;
      const planned = this.planner.state.range(table, FIRST_KEY, LAST_KEY, 1_000_000);
      const applied = this.state.range(table, FIRST_KEY, LAST_KEY, 1_000_000);
      const isEqual = planned.every(({ key, row }, i) => {
        const other = applied[i];
        if (other === undefined || other.key !== key) return false;
        return Buffer.compare(table.encode(row), table.encode(other.row)) === 0;
      });
      assert(
        isEqual && planned.length === applied.length,
        `table ${table.name}: the planned rows differ from the applied ones`,
      );
    }
    if (this.entries % INDEX_EVERY !== 0) return;
    assertNameIndex(this.state);
    assertNameIndex(this.planner.state);
  }
}

/** Any function of the bytes will do for a checksum here. */
export function sum(bytes: Uint8Array): number {
  let total = 1;
  for (const byte of bytes) total = (Math.imul(total, 31) + byte) >>> 0;
  return total;
}

export function utf8(text: string): Uint8Array {
  const bytes = new Uint8Array(utf8Length(text));
  utf8Write(bytes, 0, text);
  return bytes;
}

export function pushCommand(
  queue: string,
  partition: string,
  ids: readonly string[],
  named: boolean,
): PushCommand {
  let text = '';
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  for (const id of ids) {
    payloadStart.push(text.length);
    text += id;
    payloadEnd.push(text.length);
  }
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: 'sub',
    body: utf8(text),
    groups: [{ queue, partition }],
    itemGroup: ids.map(() => 0),
    transactionIds: ids.map((id) => (named ? id : null)),
    payloadStart,
    payloadEnd,
  };
}

export function popCommand(nowMs: number, options: PopOptions = {}): PopCommand {
  const { queue = 'q', partition, namespace, task, timeoutMs = 30_000, creates, ...rest } = options;
  let scope: PopScope = { kind: 'queue', queue, ...(creates === false ? { creates } : {}) };
  if (partition !== undefined) scope = { kind: 'partition', queue, partition };
  if (namespace !== undefined || task !== undefined) {
    scope = { kind: 'discovery', namespace: namespace ?? null, task: task ?? null };
  }
  return {
    kind: 'pop',
    tenant: TENANT,
    scope,
    consumerGroup: 'g',
    batch: 100,
    partitions: 1,
    autoAck: false,
    wait: false,
    deadlineMs: nowMs + timeoutMs,
    leaseSeconds: 30,
    subscription: { mode: 'all' },
    conflation: null,
    autopilot: null,
    ...rest,
  };
}
