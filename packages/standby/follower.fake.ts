/** A follower between tables: a port that notes calls, and a leadership that answers as told. */
import {
  Follower,
  type FollowerPort,
  type FollowerView,
  type MirrorResult,
  type SourcePlace,
  type StandbyLeadership,
} from './follower.js';
import type { ReadRequest } from './read.js';
import type { AnswerHead, SourceEntry } from './read-answer.js';

export const SOURCE = 'c-source';
export const OWN = 'c-own';

interface Call {
  readonly call: number;
  readonly address: string;
  readonly request: ReadRequest;
}

class FakePort implements FollowerPort {
  readonly calls: Call[] = [];
  readonly log: string[] = [];

  read(call: number, address: string, request: ReadRequest): void {
    this.calls.push({ call, address, request });
  }

  pause(call: number): void {
    this.log.push(`pause ${call}`);
  }

  resume(call: number): void {
    this.log.push(`resume ${call}`);
  }

  cancel(call: number): void {
    this.log.push(`cancel ${call}`);
  }

  get reads(): Call[] {
    return this.calls.filter(({ request }) => !request.holdOnly);
  }

  get holds(): Call[] {
    return this.calls.filter(({ request }) => request.holdOnly);
  }

  get last(): Call {
    const last = this.reads.at(-1);
    if (last === undefined) throw new Error('there was no read');
    return last;
  }
}

class FakeLeadership implements StandbyLeadership {
  position: SourcePlace = { index: 10, term: 2 };
  appliedPosition: SourcePlace = { index: 8, term: 2 };
  inFlight = { entries: 0, bytes: 0 };
  role: { id: string; sourceCluster: string | null } = { id: '5e1f09c2', sourceCluster: SOURCE };
  readonly taken: number[] = [];
  readonly noted: string[] = [];
  /** null: it takes what follows. */
  answer: ((entry: SourceEntry) => MirrorResult | null) | null = null;

  mirror(previous: number, entry: SourceEntry): MirrorResult {
    const answer = this.answer?.(entry) ?? null;
    if (answer !== null) return answer;
    if (previous !== this.position.index) return { kind: 'moved' };
    this.position = { index: entry.index, term: entry.term };
    this.taken.push(entry.index);
    return { kind: 'proposed' };
  }

  noteSource(clusterId: string): void {
    this.noted.push(clusterId);
    this.role = { ...this.role, sourceCluster: clusterId };
  }
}

export const head = (changes: Partial<AnswerHead> = {}): AnswerHead => {
  return { kind: 'entries', clusterId: SOURCE, applied: 50, purged: 3, term: null, ...changes };
};
export const entryOf = (index: number, term = 2, bytes = 1): SourceEntry => {
  return { index, term, body: new Uint8Array(bytes) };
};

export class Rig {
  readonly port = new FakePort();
  readonly office = new FakeLeadership();
  readonly follower: Follower;
  nowMs = 1000;

  constructor(sources: readonly string[] = ['a:1', 'b:1', 'c:1'], name: string | null = null) {
    this.follower = new Follower({ sources, name, cluster: OWN }, this.port);
  }

  get view(): FollowerView {
    return this.follower.view(this.nowMs, 9_000_000, { index: 8, stampUs: 7_000_000 });
  }

  get status(): string {
    const { state, error } = this.view;
    return error === null ? state : `${state}: ${error}`;
  }

  tickAfter(ms: number): void {
    this.nowMs += ms;
    this.follower.tick(this.nowMs);
  }

  room(): void {
    this.follower.room(this.nowMs);
  }

  /** The head of the answer to the last read. */
  answer(changes: Partial<AnswerHead> = {}): void {
    this.follower.answered(this.port.last.call, head(changes), this.nowMs);
  }

  /** An entry of that answer. */
  entry(entry: SourceEntry): void {
    this.follower.entry(this.port.last.call, entry, this.nowMs);
  }

  fail(error: string): void {
    this.follower.failed(this.port.last.call, error, this.nowMs);
  }

  end(upto: number, term: number, applied = 50): void {
    this.follower.ended(this.port.last.call, { upto, term, applied }, this.nowMs);
  }

  /** A call that only keeps the log is answered whole. */
  endHold(call: number, applied = 50): void {
    this.follower.ended(call, { upto: 8, term: 2, applied }, this.nowMs);
  }

  /** The last read is answered with these, and ends. */
  answerWith(entries: readonly SourceEntry[], end?: SourcePlace): void {
    const { call, request } = this.port.last;
    this.answer();
    for (const entry of entries) this.follower.entry(call, entry, this.nowMs);
    const last = entries.at(-1) ?? { index: request.after, term: request.afterTerm };
    const { index: upto, term } = end ?? last;
    this.follower.ended(call, { upto, term, applied: 50 }, this.nowMs);
  }

  leads(): void {
    this.follower.lead(this.office, this.nowMs);
  }

  /** It leads and follows, with a read under way that is held at the source. */
  follows(): void {
    this.leads();
    this.answerWith([]);
  }

  /** When it is due next: to read, unless holds are due before, which fail. */
  nextDueMs(): number {
    for (const { call } of this.port.holds) this.follower.failed(call, '', this.nowMs);
    return this.follower.dueMs ?? Number.NaN;
  }
}
