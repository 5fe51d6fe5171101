/**
 * The series of all nodes for one read: each node is asked for its own, added up to the width of
 * the buckets, and for the tenant's queues alone.
 *
 * What must hold: the answer is there in `ASK_MS`, whoever does not answer; who did not is named.
 * Equal questions that come while one is under way get its answer: rows change once a minute, and
 * ten dashboards are as much work as one. GATHERINGS_MAX different ones are under way at once, and
 * QUESTIONS_MAX with those that wait for them: what nodes send for one may be 15 MB each.
 *
 * A node reads its rows in slices, so that half a million of them cost nobody a pause; the answer
 * is bytes as they stand in memory (`series-queues.ts`), behind a little JSON.
 */
import { members, type NodeId, type Status } from '@svc/raft';
import { nodeNumber } from '../config/member-id.js';
import type { CallFailure, PeerCalls } from '../peers/calls.js';
import type { ServedCall } from '../peers/served-calls.js';
import type { Cancel } from '../system/clock.js';
import type { NodeSeries } from './node-series.js';
import { mergedBucket, type ProcessBucket, type ProcessCounts } from './series-process.js';
import { SeriesDamage, SeriesReader, SeriesWriter } from './series-queues.js';
import type { QueueName } from './series-store.js';

const ASK_MS = 1500;
const QUESTIONS_MAX = 64;
/** 4 * 5 nodes * 15 MB: 300 MB. The last of 64 begins after 15 * ASK_MS, should all be silent. */
const GATHERINGS_MAX = 4;
/** Of an answer: 500,000 rows of 30 bytes, and as many names of 60. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const NAMES_PER_STEP = 1024;

/** Minutes are inclusive. */
export interface SeriesQuestion {
  readonly fromMinute: number;
  readonly toMinute: number;
  readonly widthMinutes: number;
  /** What processes counted and measured. */
  readonly process: boolean;
  /** The same over all that is kept, in one bucket. */
  readonly totals: boolean;
  /** The same from this minute on, in one bucket; null: not wanted. */
  readonly recentFrom: number | null;
  /** null: nothing of queues. */
  readonly queues: {
    /** null: of all tenants; of all queues. */
    readonly tenant: string | null;
    readonly queue: string | null;
    /** Also what the queues are called, which may be gone. */
    readonly names: boolean;
  } | null;
}

/** What one node says. */
export interface SeriesOfNode {
  readonly node: number;
  readonly hostname: string;
  readonly port: number;
  /** Oldest first. */
  readonly process: readonly ProcessBucket[];
  readonly totals: ProcessCounts | null;
  readonly recent: ProcessBucket | null;
  /** The minute of its newest row; null: it has none. */
  readonly newestMinute: number | null;
  /** As `SeriesStore.queueBuckets` makes them. */
  readonly queueBuckets: Uint8Array;
  readonly names: ReadonlyMap<number, QueueName>;
}

export interface GatheredSeries {
  /** Ascending by node. */
  readonly nodes: readonly SeriesOfNode[];
  /** Of the node that was asked; what it applied counts for all. */
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
    const parts = [Buffer.from(key)];
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

export interface QueueBucketRow {
  /** Where the bucket begins. */
  readonly minute: number;
  readonly number: number;
  readonly counts: ReturnType<SeriesReader['row']>['counts'];
}

/** The rows of buckets as `SeriesStore.queueBuckets` makes them. */
export function* eachQueueRow(queueBuckets: Uint8Array): Generator<QueueBucketRow> {
  const reader = new SeriesReader(queueBuckets);
  while (!reader.atEnd) {
    const minute = reader.number();
    for (let left = reader.number(); left > 0; left--) yield { minute, ...reader.row() };
  }
}

// --- between nodes -------------------------------------------------------------------------------

/** JSON without a NaN; then the names, then the rows. */
function encode({ queueBuckets, names, ...head }: SeriesOfNode): Uint8Array[] {
  const w = new SeriesWriter();
  w.text(JSON.stringify(head));
  w.number(names.size);
  for (const [number, { tenant, queue }] of names) {
    w.number(number);
    w.text(tenant);
    w.text(queue);
  }
  return [w.finish(), queueBuckets];
}

/** null: it did not answer, or not what was asked. */
function answerOf(node: number, answer: Uint8Array | CallFailure): SeriesOfNode | null {
  if (typeof answer === 'string' || answer.length > ANSWER_BYTES_MAX) return null;
  try {
    const reader = new SeriesReader(answer);
    const head: unknown = JSON.parse(reader.text());
    const names = new Map<number, QueueName>();
    for (let left = reader.number(); left > 0; left--) {
      names.set(reader.number(), { tenant: reader.text(), queue: reader.text() });
    }
    if (!isHead(head) || head.node !== node) return null;
    // A copy: what the port read is shared with others.
    return { ...head, names, queueBuckets: new Uint8Array(reader.rest()) };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof SeriesDamage) return null;
    throw error;
  }
}

function isHead(value: unknown): value is Omit<SeriesOfNode, 'names' | 'queueBuckets'> {
  if (!isObject(value)) return false;
  const { hostname, port, process, totals, recent, newestMinute } = value;
  return (
    typeof hostname === 'string' &&
    typeof port === 'number' &&
    Array.isArray(process) &&
    [...process, ...(recent === null ? [] : [recent])].every(isBucket) &&
    (totals === null || isObject(totals)) &&
    (newestMinute === null || typeof newestMinute === 'number')
  );
}

function isBucket(value: unknown): boolean {
  return isObject(value) && isObject(value.counts) && isObject(value.gauges);
}

/** null: it is none, and is not answered. */
function questionOf(body: Uint8Array): SeriesQuestion | null {
  try {
    const question: unknown = JSON.parse(Buffer.from(body).toString());
    return isQuestion(question) ? question : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isQuestion(value: unknown): value is SeriesQuestion {
  if (!isObject(value)) return false;
  const { fromMinute, toMinute, widthMinutes, recentFrom, queues } = value;
  const numbers = [fromMinute, toMinute, widthMinutes, recentFrom ?? 0];
  if (!numbers.every(Number.isSafeInteger) || Number(widthMinutes) < 1) return false;
  return queues === null || isObject(queues);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
