/**
 * The series of all nodes for one read: each node is asked for its own, added up to the width of
 * the buckets, and for the tenant's queues alone.
 *
 * What must hold: the answer is there in `ASK_MS`, whoever does not answer; who did not is named.
 * Equal questions that come while one is under way get its answer: rows change once a minute, and
 * ten dashboards are as much work as one. GATHERINGS_MAX different ones are under way at once, and
 * QUESTIONS_MAX with those that wait for them: what nodes send for one may be 15 MB each.
 *
 * A node reads its rows in slices, so that half a million of them cost nobody a pause; the rows of
 * queues go as they stand in memory (`series-queues.ts`), behind the fields of the answer.
 */
import { ByteWriter, fields, GuardedReader, type Infer, record } from '@svc/engine';
import { members, type NodeId, type Status } from '@svc/raft';
import { nodeNumber } from '../config/member-id.js';
import type { CallFailure, PeerCalls } from '../peers/calls.js';
import type { ServedCall } from '../peers/served-calls.js';
import type { Cancel } from '../system/clock.js';
import type { NodeSeries } from './node-series.js';
import { namedQueue } from './series-file.js';
import {
  mergedBucket,
  type ProcessBucket,
  processBucket,
  processCounts,
} from './series-process.js';
import { type QueueSeriesRow, readRow } from './series-queues.js';
import type { QueueName } from './series-store.js';

const ASK_MS = 1500;
const QUESTIONS_MAX = 64;
/** 4 * 5 nodes * 15 MB: 300 MB. The last of 64 begins after 15 * ASK_MS, should all be silent. */
const GATHERINGS_MAX = 4;
/** The longest answer: 500,000 rows of 30 bytes, and as many names of 60. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const ANSWER_BYTES_FIRST = 4096;
const NAMES_PER_STEP = 1024;

/** Rows take a byte at least: more than the largest answer holds. */
const ROWS_MAX = ANSWER_BYTES_MAX;
const QUESTION_BYTES_FIRST = 128;
const { count, flag, list, nullable, signed, text } = fields;

/** Minutes are inclusive. */
export const seriesQuestion = record({
  fromMinute: signed,
  toMinute: signed,
  widthMinutes: fields.within(1, Number.MAX_SAFE_INTEGER),
  /** What processes counted and measured. */
  process: flag,
  /** The same over all that is kept, in one bucket. */
  totals: flag,
  /** The same from this minute on, in one bucket; null: not wanted. */
  recentFrom: nullable(signed),
  /** null: nothing of queues. */
  queues: nullable(
    record({
      /** null: all tenants; all queues. */
      tenant: nullable(text),
      queue: nullable(text),
      /** Also what the queues are called, which may be gone. */
      names: flag,
    }),
  ),
});
export type SeriesQuestion = Infer<typeof seriesQuestion>;

/** What one node answers; the rows of queues stand behind it. */
export const seriesAnswer = record({
  hostname: text,
  port: count,
  /** Oldest first. */
  process: list(processBucket, ROWS_MAX),
  totals: nullable(processCounts),
  recent: nullable(processBucket),
  /** The minute of its newest row; null: it has none. */
  newestMinute: nullable(count),
  names: list(namedQueue, ROWS_MAX),
});

export interface SeriesOfNode extends Omit<Infer<typeof seriesAnswer>, 'names'> {
  readonly node: number;
  /** As `SeriesStore.queueBuckets` makes them. */
  readonly queueBuckets: Uint8Array;
  readonly names: ReadonlyMap<number, QueueName>;
}

export interface GatheredSeries {
  /** Ascending by node. */
  readonly nodes: readonly SeriesOfNode[];
  /** The node that was asked; what it applied counts for all. */
  readonly self: number;
  /** Members that did not answer, ascending. */
  readonly missing: readonly number[];
}

export interface SeriesGatherParts {
  readonly self: NodeId;
  readonly hostname: string;
  readonly port: number;
  /** null: nothing is kept. */
  readonly series: NodeSeries | null;
  readonly consensus: { status(): Status | null };
  /** null: there are no others. */
  readonly calls: PeerCalls | null;
}

type Done = (gathered: GatheredSeries) => void;

export class SeriesGather {
  readonly #parts: SeriesGatherParts;
  readonly #waiting = new Map<string, Done[]>();
  /** Not begun yet, the next one first. */
  readonly #line: { readonly key: string; readonly question: SeriesQuestion }[] = [];
  #gatherings = 0;
  #stopServing: Cancel = () => {};

  constructor(parts: SeriesGatherParts) {
    this.#parts = parts;
  }

  /** Answers other nodes from here on. */
  open(): void {
    const stop = this.#parts.calls?.serve('series', (call) => this.#serve(call));
    this.#stopServing = stop ?? (() => {});
  }

  close(): void {
    this.#stopServing();
  }

  /** False: too many questions are under way, and `done` will not run. */
  ask(question: SeriesQuestion, done: Done): boolean {
    const key = JSON.stringify(question);
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      waiting.push(done);
      return true;
    }
    if (this.#waiting.size >= QUESTIONS_MAX) return false;
    this.#waiting.set(key, [done]);
    this.#line.push({ key, question });
    this.#begin();
    return true;
  }

  #begin(): void {
    while (this.#gatherings < GATHERINGS_MAX) {
      const next = this.#line.shift();
      if (next === undefined) return;
      this.#gatherings++;
      this.#gather(next.key, next.question);
    }
  }

  #gather(key: string, question: SeriesQuestion): void {
    const { self, consensus, calls } = this.#parts;
    const status = consensus.status();
    const all = status === null ? [] : members(status.configuration);
    const nodes: SeriesOfNode[] = [];
    const missing: number[] = [];
    let left = 1;
    const settle = (from: number, answer: SeriesOfNode | null) => {
      if (answer === null) missing.push(from);
      else nodes.push(answer);
      left--;
      if (left > 0) return;
      nodes.sort((one, other) => one.node - other.node);
      missing.sort((one, other) => one - other);
      const waiting = this.#waiting.get(key) ?? [];
      this.#waiting.delete(key);
      this.#gatherings--;
      for (const done of waiting) done({ nodes, self: nodeNumber(self), missing });
      this.#begin();
    };
    const w = new ByteWriter(QUESTION_BYTES_FIRST);
    seriesQuestion.writeFields(w, question);
    const parts = [w.finish()];
    for (const member of all) {
      if (member === self || calls === null) continue;
      left++;
      const node = nodeNumber(member);
      calls.call(node, 'series', parts, ASK_MS, (answer) => settle(node, answerOf(node, answer)));
    }
    this.#own(question, (own) => settle(nodeNumber(self), own));
  }

  #own(question: SeriesQuestion, done: (own: SeriesOfNode) => void): void {
    const { self, hostname, port, series } = this.#parts;
    const head = { node: nodeNumber(self), hostname, port };
    if (series === null) done({ ...head, ...NOTHING });
    else
      series.read(
        () => ownSeries(series, question),
        (found) => done({ ...head, ...found }),
      );
  }

  #serve(call: ServedCall): void {
    const question = questionOf(call.body);
    if (question === null) return;
    this.#own(question, (own) => call.answer(encode(own)));
  }
}

const NOTHING = {
  process: [],
  totals: null,
  recent: null,
  newestMinute: null,
  queueBuckets: new Uint8Array(0),
  names: new Map<number, QueueName>(),
};

type Found = Omit<SeriesOfNode, 'node' | 'hostname' | 'port'>;

function* ownSeries({ store }: NodeSeries, question: SeriesQuestion): Generator<void, Found> {
  const { fromMinute, toMinute, widthMinutes, process, totals, recentFrom, queues } = question;
  const window = { fromMinute, toMinute, widthMinutes };
  const recent =
    recentFrom === null ? [] : yield* store.processBuckets(recentFrom, Number.MAX_SAFE_INTEGER, 1);
  const found = {
    process: process ? yield* store.processBuckets(fromMinute, toMinute, widthMinutes) : [],
    totals: totals ? yield* store.processTotals() : null,
    recent: recent.reduce<ProcessBucket | null>(
      (sum, one) => (sum === null ? one : mergedBucket(one.minute, sum, one)),
      null,
    ),
    newestMinute: store.newestMinute,
  };
  const names = new Map<number, QueueName>();
  if (queues === null) return { ...found, queueBuckets: NOTHING.queueBuckets, names };
  const queueBuckets = yield* store.queueBuckets({ ...window, ...queues });
  if (queues.names) {
    let steps = 0;
    for (const { number } of eachQueueRow(queueBuckets)) {
      const name = names.has(number) ? undefined : store.nameOf(number);
      if (name !== undefined) names.set(number, name);
      if (++steps % NAMES_PER_STEP === 0) yield;
    }
  }
  return { ...found, queueBuckets, names };
}

export interface QueueBucketRow extends QueueSeriesRow {
  /** Where the bucket begins. */
  readonly minute: number;
}

/**
 * The rows of buckets as `SeriesStore.queueBuckets` makes them; up to the first that is none, for
 * they may come from another node.
 */
export function* eachQueueRow(queueBuckets: Uint8Array): Generator<QueueBucketRow> {
  const r = new GuardedReader(queueBuckets);
  while (!r.isAtEnd && !r.refused) {
    const minute = r.varint();
    for (let left = r.varint(); left > 0; left--) {
      const row = readRow(r);
      if (r.refused) return;
      yield { minute, ...row };
    }
  }
}

// --- between nodes -------------------------------------------------------------------------------

function encode({ queueBuckets, names, ...rest }: SeriesOfNode): Uint8Array[] {
  const w = new ByteWriter(ANSWER_BYTES_FIRST);
  const named = Array.from(names, ([number, { tenant, queue }]) => ({ number, tenant, queue }));
  seriesAnswer.write(w, { ...rest, names: named });
  return [w.finish(), queueBuckets];
}

/** null: it did not answer, or not what was asked. */
function answerOf(node: number, answer: Uint8Array | CallFailure): SeriesOfNode | null {
  if (typeof answer === 'string' || answer.length > ANSWER_BYTES_MAX) return null;
  const r = new GuardedReader(answer);
  const { names, ...rest } = seriesAnswer.read(r);
  if (r.refused) return null;
  const named = new Map(names.map(({ number, tenant, queue }) => [number, { tenant, queue }]));
  // A copy: what the port read is shared with others.
  return { node, ...rest, names: named, queueBuckets: new Uint8Array(r.view(r.left)) };
}

/** null: it is none, and is not answered. */
function questionOf(body: Uint8Array): SeriesQuestion | null {
  const r = new GuardedReader(body);
  const question = seriesQuestion.readFields(r);
  return r.whole ? question : null;
}
