/**
 * A state with messages, and the log that they stand in: what reads are tested over. The log gives
 * appends out of memory or off a disk that answers when the test says so, and counts their bytes.
 */
import { crc32 } from 'node:zlib';
import {
  type AppendSlice,
  applyEntry,
  MapState,
  Planner,
  type PopCommand,
  type PoppedOutcome,
  TransactionIndex,
} from '@svc/engine';
import type { AnswerRoom } from '@svc/http';
import type { Log } from '@svc/storage';
import { DEFAULT_TENANT, uuidV7 } from '@svc/wire';

const WALL_US = 1_800_000_000_000_000;

export class MessageLog {
  readonly state = new MapState();
  /** False: everything is read off the disk. */
  isRecent = false;
  /** False: reads are answered at once, and not by `answerReads`. */
  isSlow = false;
  /** Log bytes that were read off the disk. */
  readBytes = 0;
  reads = 0;
  /** Told of every append that is applied. */
  onAppended: (partition: number, bytes: number) => void = () => {};
  readonly log: Log;
  readonly #planner: Planner;
  readonly #bodies = new Map<number, Uint8Array>();
  readonly #reading: (() => void)[] = [];
  #wallUs = WALL_US;

  constructor() {
    const transactions = TransactionIndex.load(new MapState());
    this.#planner = new Planner(this.state, transactions, {
      nodeId: 1,
      checksum: crc32,
      newUuid: (us) => uuidV7(Math.floor(us / 1000), 1, 2, 3),
      readLog: () => new Uint8Array(0),
      cipher: null,
    });
    const bytesOf = ({ index, position, length }: AppendSlice) =>
      this.#bodies.get(index)?.subarray(position, position + length);
    const log = {
      firstIndex: 1,
      recent: (slice: AppendSlice) => (this.isRecent ? bytesOf(slice) : undefined),
      read: (slice: AppendSlice, done: (error: null, bytes: Uint8Array | undefined) => void) => {
        // As the log does: to ask for what it has given up is a mistake.
        if (slice.index < log.firstIndex) throw new Error(`entry ${slice.index} is given up`);
        this.reads++;
        this.readBytes += slice.length;
        const answer = () => done(null, bytesOf(slice));
        if (this.isSlow) this.#reading.push(answer);
        else answer();
      },
    };
    this.log = log as unknown as Log;
  }

  /** Reads that wait. */
  get reading(): number {
    return this.#reading.length;
  }

  /** Entries before this one are gone. */
  giveUpBefore(index: number): void {
    (this.log as { firstIndex: number }).firstIndex = index;
  }

  answerReads(): void {
    for (const answer of this.#reading.splice(0)) answer();
  }

  /** One append of queue q. */
  push(partition: string, payloads: readonly string[]): void {
    const body = Buffer.from(payloads.join(''));
    const payloadEnd: number[] = [];
    for (const { length } of payloads) payloadEnd.push((payloadEnd.at(-1) ?? 0) + length);
    const turn = this.#turn({
      kind: 'push',
      tenant: DEFAULT_TENANT,
      producerSub: null,
      body,
      groups: [{ queue: 'q', partition }],
      itemGroup: payloads.map(() => 0),
      transactionIds: payloads.map(() => null),
      payloadStart: [0, ...payloadEnd.slice(0, -1)],
      payloadEnd,
    });
    if (turn.answers.length === 0) throw new Error('a push was not answered');
  }

  pop(command: PopCommand): PoppedOutcome {
    const [answer] = this.#turn(command).answers;
    if (answer?.outcome.kind !== 'popped') throw new Error('a pop was not answered');
    return answer.outcome;
  }

  #turn(command: Parameters<Planner['enqueue']>[0]) {
    const index = this.#bodies.size + 1;
    this.#wallUs += 1000;
    this.#planner.enqueue(command, {});
    const turn = this.#planner.turn({ index, wallUs: this.#wallUs, nowMs: 0 });
    const entry = turn.body ?? new Uint8Array(0);
    this.#bodies.set(index, entry);
    const appended: [number, number][] = [];
    const observer = {
      appended: (number: number, bytes: number) => {
        appended.push([number, bytes]);
      },
    };
    applyEntry(this.state, TransactionIndex.load(new MapState()), index, entry, observer);
    this.#planner.applied(index);
    for (const [number, bytes] of appended) this.onAppended(number, bytes);
    return turn;
  }
}

interface Waiting {
  /** The answer whose wait it is. */
  readonly owner: unknown;
  readonly bytes: number;
  readonly admit: (hasRoom: boolean) => void;
}

/** So much for all answers together; whoever waits is let in by `admit`. */
export class SharedRoom {
  bytesMax: number;
  used = 0;
  /** The most that was ever reserved. */
  peak = 0;
  readonly waiting: Waiting[] = [];

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** For one answer; `release` as when it has left. */
  one(): AnswerRoom & { release(): void } {
    const shared = this;
    let held = 0;
    const set = (bytes: number) => {
      shared.used += bytes - held;
      held = bytes;
      shared.peak = Math.max(shared.peak, shared.used);
    };
    const place = () => shared.waiting.findIndex(({ owner }) => owner === set);
    return {
      get freeBytes() {
        return shared.bytesMax - shared.used + held;
      },
      get reservedBytes() {
        return held;
      },
      reserve(bytes) {
        if (bytes > held && bytes > this.freeBytes) return false;
        if (bytes > 0 && place() >= 0) shared.waiting.splice(place(), 1);
        set(bytes);
        return true;
      },
      wait(bytes, _, done) {
        const admit = (hasRoom: boolean) => {
          if (hasRoom) set(Math.max(held, bytes));
          done(hasRoom);
        };
        const waiting = { owner: set, bytes, admit };
        if (place() >= 0) shared.waiting[place()] = waiting;
        else shared.waiting.push(waiting);
      },
      release: () => set(0),
    };
  }

  /** The first in line, if there is room for it. */
  admit(): boolean {
    const [first] = this.waiting;
    if (first === undefined || first.bytes > this.bytesMax - this.used) return false;
    this.waiting.shift();
    first.admit(true);
    return true;
  }
}
