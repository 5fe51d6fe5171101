/**
 * A cycle: messages of one partition become changes of state and outputs, which are committed with
 * the acknowledgement of the messages in one call, or not at all.
 *
 * The job is that every message counts exactly once in the state and in the outputs, although
 * workers die, are slow, and lose answers. It is hard because a batch does not always fit into one
 * commit, and because windows of a partition without messages are closed by commits that no lease
 * fences.
 *
 * What must hold:
 * - A commit holds what the messages that it acknowledges brought about, and nothing of others. So
 *   a large batch is committed by its beginnings: messages up to one, with all that they did, under
 *   the lease that is kept. A message is never divided.
 * - One exception is harmless: windows that a message closes may be put out before it is
 *   acknowledged, when they are many. They are closed before the message itself is folded, so they
 *   hold messages that were acknowledged; if the worker dies, the message comes again first of all,
 *   and closes the rest.
 * - The result does not depend on where a batch begins and ends: the clock moves with each message.
 * - After a failure nothing here is used again: the caller drops the state and gives the batch
 *   back. That also settles a commit whose answer was lost: either it was applied, and the next
 *   delivery begins behind it, or the lease is over and it will not be. Rejected: to send it again,
 *   since a partial acknowledgement that is carried out twice passes messages over.
 * - What a window puts out carries an id that is made with the window and stored in its row. So the
 *   flush of one worker and the cycle of another do not both put it out: the second commit is
 *   refused as a duplicate, and its worker reads the state again. Rejected: ids made of names and
 *   times alone, which would refuse whoever reads his source again from its beginning. Outputs
 *   without a window need no ids, for the lease fences them.
 */
import { misuse } from '../base/checks.js';
import { mintId } from '../base/mint-id.js';
import { validated } from '../base/standard-schema.js';
import { writeJson } from '../base/write-json.js';
import type { Lease } from '../consume/lease.js';
import { checked } from '../consume/poll.js';
import type { Message } from '../messages/message.js';
import type { GateContext } from './gates.js';
import { accOf, accText, type PartitionState, type Row, stateKeyOf } from './partition-state.js';
import type { Place, StreamCalls } from './stream-calls.js';
import { applySteps, type Item, isPromise, type StreamPlan } from './stream-plan.js';
import { instantOf, type StreamContext, type WindowPlan } from './windows.js';

/**
 * Changes and outputs of a commit. The broker takes 50,000 of each and 410,000 units of work, of
 * which an output into a partition that is not there yet takes 74: 5,000 of them are 370,000.
 */
const PARTS_MAX = 5000;
/** Characters of outputs: 24 MiB in UTF-8 at most, and a body has up to 64. */
const OUTPUT_CHARS_MAX = 8 * 1024 * 1024;

export const NO_METRICS = {
  /** Commits, those of flushes among them. */
  cycles: 0,
  flushes: 0,
  /** Messages that were acknowledged. */
  messages: 0,
  /** Values that went to the sink. */
  outputs: 0,
  stateChanges: 0,
  /** Values that came too late and were dropped. */
  late: 0,
  /** Messages that a gate let wait. */
  denied: 0,
  /** Cycles that came to nothing. */
  errors: 0,
};
/** What a worker did since it began. */
export type StreamMetrics = typeof NO_METRICS;

export interface CycleSite {
  readonly plan: StreamPlan;
  readonly calls: StreamCalls;
  readonly metrics: StreamMetrics;
  /** The broker's time, or a little earlier. */
  nowMs(): number;
}

export class Cycle {
  readonly #site: CycleSite;
  readonly #place: Place;
  readonly #partition: string;
  readonly #state: PartitionState;
  #pushes: string[] = [];
  #pushChars = 0;
  #outputs = 0;
  #late = 0;
  /** Messages of the batch that are acknowledged, and that are folded. */
  #acked = 0;
  #folded = 0;

  constructor(site: CycleSite, place: Place, partition: string, state: PartitionState) {
    this.#site = site;
    this.#place = place;
    this.#partition = partition;
    this.#state = state;
  }

  /** Messages of the batch that are acknowledged. */
  get acked(): number {
    return this.#acked;
  }

  /**
   * false: what is left of the batch is to be given back, since the time was over. `messagesMax`:
   * of one commit.
   */
  async run(
    messages: readonly Message[],
    messagesMax: number,
    lease: Lease,
    untilMs: number,
  ): Promise<boolean> {
    const { metrics, nowMs } = this.#site;
    for (const message of messages) {
      if (lease.lost !== null) throw lease.lost;
      if (!(await this.#fold(message))) {
        metrics.denied++;
        // What was denied keeps its lease: it comes again, in order, when that ends.
        if (this.#folded > this.#acked) await this.#commit(false);
        return true;
      }
      this.#folded++;
      if (this.#folded === messages.length) break;
      const unacked = this.#folded - this.#acked;
      const isOver = nowMs() >= untilMs;
      if (isOver || unacked >= messagesMax || this.#isFull()) await this.#commit(false);
      if (isOver) return false;
    }
    await this.#commit(true);
    return true;
  }

  /** Puts out the windows that have ended by the clock. Nobody may fold into them any more. */
  async flush(window: WindowPlan, clockMs: number): Promise<void> {
    while (await this.#close(window, clockMs, true)) await this.#commit(true, null);
    if (this.#state.changes === 0) return;
    await this.#commit(true, null);
    this.#site.metrics.flushes++;
  }

  /** false: the gate denied it. */
  async #fold(message: Message): Promise<boolean> {
    const { plan } = this.#site;
    const time = Date.parse(message.createdAt);
    const context = { key: this.#partition, partition: this.#partition, time, message };
    await checked(message, plan.schema);
    const items = await applySteps(plan.before, { value: message.data, context });
    for (const [i, item] of items.entries()) {
      if (plan.window !== null) await this.#foldInto(plan.window, item, i === 0);
      else if (plan.gate === null) await this.#put(await applySteps(plan.after, item), null);
      else if (!(await this.#passes(item))) return false;
    }
    return true;
  }

  async #passes({ value, context }: Item): Promise<boolean> {
    const { plan, nowMs } = this.#site;
    const now = nowMs();
    const stateKey = stateKeyOf('gate', 'state', context.key);
    // Forgotten rows go with the commit of the message; before, they are not its business.
    const row = this.#state.find(stateKey);
    const known = row === undefined || row.endMs <= now ? {} : accOf(row);
    const judged = { ...context, state: JSON.parse(JSON.stringify(known)), now } as GateContext;
    const answer = plan.gate?.(value, judged);
    if (!(isPromise(answer) ? await answer : answer)) return false;
    while (!this.#isFull() && this.#state.takeEnded(now) !== undefined);
    const found = this.#state.find(stateKey);
    if (found !== undefined) this.#state.remove(found);
    const { state: acc, forgetAt: endMs = Infinity } = judged;
    if (!(endMs > 0)) throw misuse('forgetAt', endMs, 'milliseconds since the epoch');
    if (Object.keys(acc).length > 0) {
      const { key } = context;
      this.#state.add({ stateKey, key, startMs: now, endMs, id: stateKey, text: null, acc });
    }
    await this.#put(await applySteps(plan.after, { value, context }), null);
    return true;
  }

  async #foldInto(window: WindowPlan, { value, context }: Item, isFirst: boolean): Promise<void> {
    const source = context as StreamContext;
    const state = this.#state;
    let { time } = source;
    let clockMs = time;
    let isLate = false;
    if (window.eventTime !== null) {
      time = instantOf(window.eventTime(value, source));
      isLate = time < state.watermarkMs;
      state.raiseWatermark(time - window.latenessMs);
      clockMs = state.watermarkMs;
    }
    // What a message closes may go ahead of it until a part of it is folded.
    while (await this.#close(window, clockMs, isFirst)) await this.#commit(false);
    const rows = isLate && !window.includeLate ? [] : await this.#rows(window, time, source.key);
    if (rows.length === 0) this.#late++;
    const { reducer } = this.#site.plan;
    for (const row of rows) {
      const isNew = row.acc === undefined && row.text === null;
      const known = isNew ? JSON.parse(reducer?.initial ?? 'null') : accOf(row);
      const folded = reducer?.fold(known, value, source);
      const acc = isPromise(folded) ? await folded : folded;
      if (acc === undefined) throw misuse('what reduce gave', acc, 'the state, which is JSON');
      // As text, so that what is changed in one window later is not changed in the others.
      const mayShare = rows.length > 1 && reducer?.keepsValue && typeof acc === 'object';
      state.change(row, acc, mayShare ? accText(acc) : null);
    }
    // A late value may have opened a window again that was closed.
    if (isLate) await this.#close(window, clockMs, false);
  }

  /** The open windows of a key at a time; none: it is before all that are open. */
  async #rows(window: WindowPlan, timeMs: number, key: string): Promise<Row[]> {
    const rows: Row[] = [];
    for (const [startMs, endMs] of window.spans(timeMs)) {
      const stateKey = stateKeyOf(window.tag, new Date(startMs).toISOString(), key);
      let row = this.#state.find(window.gapMs === null ? stateKey : key);
      if (row !== undefined && window.gapMs !== null) {
        if (timeMs < row.startMs - window.gapMs && !window.includeLate) return [];
        if (timeMs >= row.endMs) {
          this.#state.remove(row);
          await this.#putWindow(row);
          row = undefined;
        } else {
          row.startMs = Math.min(row.startMs, startMs);
          row.endMs = Math.max(row.endMs, endMs);
        }
      }
      if (row === undefined) {
        const id = mintId(this.#site.nowMs());
        row = { stateKey, key, startMs, endMs, id, text: null, acc: undefined };
        this.#state.add(row);
      }
      rows.push(row);
    }
    return rows;
  }

  /** Puts out windows that have ended; true: the commit is full, and there may be more. */
  async #close({ graceMs }: WindowPlan, clockMs: number, inParts: boolean): Promise<boolean> {
    while (!inParts || !this.#isFull()) {
      const row = this.#state.takeEnded(clockMs - graceMs);
      if (row === undefined) return false;
      await this.#putWindow(row);
    }
    return true;
  }

  async #putWindow(row: Row): Promise<void> {
    const { plan } = this.#site;
    const { key, startMs: windowStart, endMs: windowEnd } = row;
    const value = { key, windowStart, windowEnd, value: plan.reducer?.finish(accOf(row)) };
    const context = { key, partition: this.#partition, time: windowEnd, message: null };
    await this.#put(await applySteps(plan.after, { value, context }), row.id);
  }

  /** `id`: that of the window. */
  async #put(items: readonly Item[], id: string | null): Promise<void> {
    const { sink } = this.#site.plan;
    for (const [i, { value, context }] of items.entries()) {
      this.#outputs++;
      if (sink.kind === 'foreach') {
        await sink.act(value, context);
        continue;
      }
      if (sink.schema !== undefined) await validated(sink.schema, value, 'value');
      const wanted = sink.partition ?? this.#partition;
      const partition = typeof wanted === 'string' ? wanted : await wanted(value, context);
      if (typeof partition !== 'string' || partition === '') {
        throw misuse('what partition of to() gave', partition, 'a text that is not empty');
      }
      const names = JSON.stringify({ queue: sink.queue, partition }).slice(0, -1);
      const unique = id === null ? '' : `,"transactionId":${JSON.stringify(`${id}:${i}`)}`;
      const text = `${names}${unique},"payload":${writeJson(value, 'value')}}`;
      this.#pushes.push(text);
      this.#pushChars += text.length;
    }
  }

  #isFull(): boolean {
    const parts = this.#state.changes + this.#pushes.length;
    return parts >= PARTS_MAX || this.#pushChars >= OUTPUT_CHARS_MAX;
  }

  /** `count`: the messages that are folded and not yet acknowledged; null: no acknowledgement. */
  async #commit(isLast: boolean, count: number | null = this.#folded - this.#acked): Promise<void> {
    const { calls, metrics } = this.#site;
    const operations = this.#state.operations();
    const commit = { operations, pushes: this.#pushes, count, isLast };
    await calls.commit(this.#place, commit);
    this.#state.committed();
    metrics.cycles++;
    metrics.messages += count ?? 0;
    metrics.stateChanges += operations.length;
    metrics.outputs += this.#outputs;
    metrics.late += this.#late;
    this.#acked = this.#folded;
    this.#pushes = [];
    this.#pushChars = 0;
    this.#outputs = 0;
    this.#late = 0;
  }
}
