/**
 * What a client does with the stream routes (streams 5), by hand: a worker that counts payloads in
 * tumbling windows of event time, over the real routes and nothing else.
 */
import type { PopAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { type Body, StreamUnderTest } from '../stream-calls.js';
import type { ContractTable } from '../table.js';

const WINDOW_MS = 60_000;
const TAG = 'tumb:60';
const SEPARATOR = '\u001f';
const KEYS = ['acme', 'zeta'];
const EMITTED_MS_MAX = 10_000;

interface Event {
  readonly key: string;
  readonly at: number;
  readonly value: number;
}

interface Window {
  readonly acc: number;
  readonly windowStart: number;
  readonly windowEnd: number;
}

interface WindowRow {
  readonly key: string;
  readonly value: Window;
}

/** Sums by key and minute. Closes a window when an event at or after its end was seen. */
class TumblingWorker {
  readonly stream: StreamUnderTest;

  constructor(stream: StreamUnderTest) {
    this.stream = stream;
  }

  /** One batch from pop to cycle; `commit` sends the cycle. False: there was nothing. */
  async step(commit = (cycle: Body) => this.#commit(cycle)): Promise<boolean> {
    const popped = await this.stream.pop({ batch: 4, leaseSeconds: 30 });
    if (popped === null) return false;
    await commit(await this.cycleOf(popped));
    return true;
  }

  /** What is to be committed for the batch, given what the query remembers of its partition. */
  async cycleOf({ messages, leaseId }: PopAnswer): Promise<Body> {
    const windows = await this.#windows();
    const touched = new Set<string>();
    let clock = 0;
    for (const { data } of messages) {
      const { key, at, value } = data as Event;
      clock = Math.max(clock, at);
      const windowStart = Math.floor(at / WINDOW_MS) * WINDOW_MS;
      const text = [TAG, new Date(windowStart).toISOString(), key].join(SEPARATOR);
      const acc = (windows.get(text)?.acc ?? 0) + value;
      windows.set(text, { acc, windowStart, windowEnd: windowStart + WINDOW_MS });
      touched.add(text);
    }
    const closed = [...windows].filter(([, { windowEnd }]) => windowEnd <= clock);
    return {
      ...this.#emit(closed.map(([key, value]) => ({ key, value }))),
      state_ops: [...touched, ...closed.map(([key]) => key)].map((key) => {
        const value = windows.get(key);
        const isClosed = closed.some(([other]) => other === key);
        return isClosed ? { type: 'delete', key } : { type: 'upsert', key, value };
      }),
      ack: { leaseId, status: 'completed', count: messages.length },
    };
  }

  /** Windows that no later event will close. */
  async flush(clock: number): Promise<void> {
    const key_prefix = TAG + SEPARATOR;
    const filter = { key_prefix, ripe_at_or_before: clock };
    const ripe = (await this.stream.rows(filter)) as readonly WindowRow[];
    const state_ops = ripe.map(({ key }) => ({ type: 'delete', key }));
    await this.#commit({ ...this.#emit(ripe), state_ops, ack: null });
  }

  async #windows(): Promise<Map<string, Window>> {
    const rows = (await this.stream.rows({ keys: [] })) as readonly WindowRow[];
    return new Map(rows.map(({ key, value }) => [key, value]));
  }

  /** The id of an emitted sum follows from what it is the sum of. */
  #emit(windows: readonly WindowRow[]): Body {
    const { sink, partitionId } = this.stream;
    const push_items = windows.map(({ key, value }) => {
      const [, , user = ''] = key.split(SEPARATOR);
      const transactionId = `sums:${partitionId}:${user}:${value.windowStart}`;
      return { queue: sink, partition: user, payload: value, transactionId };
    });
    return { push_items };
  }

  async #commit(cycle: Body): Promise<void> {
    await this.stream.cycle(cycle);
  }
}

/** Two keys in two partitions, in event time from 0 to three minutes; what each window sums to. */
async function pushEvents(broker: BrokerUnderTest): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  const items = Array.from({ length: 36 }, (_, i) => {
    const event = { key: KEYS[i % 2] ?? '', at: i * 5000, value: i };
    const window = `${event.key} ${Math.floor(event.at / WINDOW_MS) * WINDOW_MS}`;
    sums.set(window, (sums.get(window) ?? 0) + event.value);
    // A key has a partition of its own, so one worker at a time sees it.
    return { queue: broker.queue, partition: event.key, payload: event };
  });
  await broker.api.push(items);
  return sums;
}

/** So many windows as they were emitted, or what there is after EMITTED_MS_MAX: a fetch may lag. */
async function emitted(stream: StreamUnderTest, count: number): Promise<Map<string, number>> {
  const untilMs = performance.now() + EMITTED_MS_MAX;
  for (;;) {
    const sums = await emittedNow(stream);
    if (sums.size >= count || performance.now() > untilMs) return sums;
    await sleep(20);
  }
}

/** What the sink holds, each window once. */
async function emittedNow({ broker, sink }: StreamUnderTest): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  for (const partition of KEYS) {
    for (const { payload } of (await broker.api.fetch(sink, partition)).records) {
      const { acc, windowStart } = payload as Window;
      const window = `${partition} ${windowStart}`;
      expect(sums.has(window), `${window} was emitted twice`).toBe(false);
      sums.set(window, acc);
    }
  }
  return sums;
}

async function drain(worker: TumblingWorker): Promise<void> {
  while (await worker.step());
}

async function flushAll(worker: TumblingWorker): Promise<void> {
  const { broker } = worker.stream;
  const { partitions } = await broker.api.detail(broker.queue);
  for (const { id, name } of partitions) {
    if (!KEYS.includes(name)) continue;
    // The query remembers by number; a UUID names the same partition.
    worker.stream.partitionId = id;
    await worker.flush(Number.MAX_SAFE_INTEGER);
  }
}

export const streamWorker: ContractTable = {
  section: 'streams 5',
  rows: [
    {
      row: 'worker loop',
      does: 'each window once, with its sum; nothing is left',
      run: async (broker) => {
        const stream = await StreamUnderTest.register(broker);
        const sums = await pushEvents(broker);
        const worker = new TumblingWorker(stream);
        await drain(worker);
        await flushAll(worker);
        expect(await emitted(stream, sums.size)).toEqual(sums);
        expect(await stream.state()).toEqual([]);
      },
    },
    {
      row: 'worker loop',
      does: 'a cycle whose answer was lost is popped again or was done: never twice',
      run: async (broker) => {
        const stream = await StreamUnderTest.register(broker);
        const sums = await pushEvents(broker);
        const worker = new TumblingWorker(stream);
        let steps = 0;
        const lossy = async (cycle: Body) => {
          // The answer of every third cycle is lost, and the worker sends the cycle again.
          bodyOf(await stream.cycleRaw(cycle), 200);
          if (++steps % 3 !== 0) return;
          expect((await stream.refused(cycle)).reason).toBe('bad_lease');
        };
        while (await worker.step(lossy));
        await flushAll(worker);
        expect(await emitted(stream, sums.size)).toEqual(sums);
      },
    },
    {
      row: 'scaling',
      does: 'a worker that was too slow is fenced off by the one that took over',
      run: async (broker) => {
        const stream = await StreamUnderTest.register(broker);
        const sums = await pushEvents(broker);
        const slow = new TumblingWorker(stream);
        const popped = await stream.pop({ batch: 4, leaseSeconds: 1 });
        if (popped === null) throw new Error('nothing was delivered');
        const late = await slow.cycleOf(popped);
        const { partition_id } = stream.scope;
        const other = new TumblingWorker(stream);
        const path = { queue: broker.queue, partition: popped.partition };
        const taken = await broker.api.popPartition(path.queue, path.partition, {
          consumerGroup: stream.group,
          batch: 4,
          wait: true,
          timeout: 8000,
        });
        if (taken === null) throw new Error('nobody took over');
        await stream.cycle({ partition_id, ...(await other.cycleOf(taken)) });
        expect((await stream.refused({ partition_id, ...late })).reason).toBe('bad_lease');
        await drain(other);
        await flushAll(other);
        expect(await emitted(stream, sums.size)).toEqual(sums);
      },
    },
    {
      row: 'idle flush',
      does: 'ripe windows alone, and a flush that is repeated emits nothing',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const row = (minute: number, windowEnd: number) =>
          [
            [TAG, new Date(minute).toISOString(), 'acme'].join(SEPARATOR),
            { acc: 7, windowStart: minute, windowEnd },
          ] as const;
        await stream.store(row(0, WINDOW_MS), row(WINDOW_MS, 2 * WINDOW_MS));
        const worker = new TumblingWorker(stream);
        await worker.flush(WINDOW_MS);
        await worker.flush(WINDOW_MS);
        expect(await emitted(stream, 1)).toEqual(new Map([['acme 0', 7]]));
        expect(await stream.state()).toEqual([row(WINDOW_MS, 2 * WINDOW_MS)]);
      },
    },
    {
      row: 'gate',
      does: 'the allowed prefix is done, the denied message comes again first',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker, { leaseSeconds: 1 });
        await stream.cycle({
          state_ops: [{ key: 'tokens', value: 0 }],
          push_items: [{ queue: stream.sink, transactionId: 'a' }],
          ack: stream.ack({ count: 1 }),
          release_lease: false,
        });
        const again = await stream.pop({ wait: true, timeout: 8000 });
        expect(again?.messages.map(({ transactionId }) => transactionId)).toEqual(['b', 'c']);
        await stream.cycle({ ack: stream.ack({ count: 2 }) });
        expect(await stream.pop()).toBeNull();
      },
    },
  ],
};
