/**
 * Workload 10 (timers) on real processes. A client uses a key alone, and leaves it for another one
 * after a call without an answer, which may still come. The queue deduplicates nothing, so that
 * firing twice shows; a consumer that commits at delivery tells when a message was there first.
 */
import {
  checkTimers,
  type FiredMessage,
  type TimerCall,
  type TimerSchedule,
} from '../checkers/timer-checker.js';
import type { HttpClient } from '../process/http-client.js';
import type { NodeCaller, Reply } from '../process/node-caller.js';
import { sleep } from '../process/node-under-test.js';
import { readPartitions } from '../process/partition-reader.js';
import type { SeededRandom } from '../seeded-random.js';
import {
  bodyOf,
  type Finding,
  type LoadPart,
  type LoadPartOptions,
  Loops,
  wasRefused,
} from './load-part.js';

const CLIENTS = 2;
const PARTITIONS = ['0', '1'];
const DELAY_MS_MAX = 1500;
/** Lateness in a cluster that is well. */
const LATE_MS_MAX = 1500;
const RETRY_MS = 50;

/** The members of an answer that the load reads. */
interface ToldAnswer {
  readonly results: readonly {
    readonly status: 'scheduled' | 'rescheduled' | 'cancelled' | 'absent';
    readonly txn?: string;
    readonly messageId?: string;
  }[];
}

export class TimerLoad implements LoadPart {
  readonly queues: readonly string[];
  readonly #loops: Loops;
  readonly #random: SeededRandom;
  readonly #queue: string;
  readonly #calls: TimerCall[] = [];
  readonly #seen = new Map<string, { readonly messageId: string; readonly atMs: number }>();
  /** By client, the key that it uses; null: another one. */
  readonly #keys: (string | null)[] = [];
  #isConfigured = false;
  #count = 0;

  constructor(options: LoadPartOptions) {
    this.#loops = new Loops(options);
    this.#random = options.random.fork();
    this.#queue = options.name;
    this.queues = [this.#queue];
  }

  get size(): number {
    return this.#calls.length;
  }

  start(): void {
    for (let i = 0; i < CLIENTS; i++) this.#loops.run((caller) => this.#use(caller, i));
    this.#loops.run((caller) => this.#consume(caller));
  }

  /** Waits until everything is long due. */
  async finish(): Promise<void> {
    await this.#loops.end();
    const dues = this.#calls.map(({ endedMs, schedule }) => endedMs + (schedule?.delayMs ?? 0));
    const dueMs = Math.max(performance.now(), ...dues);
    await sleep(dueMs + LATE_MS_MAX - performance.now());
  }

  abandon(): Promise<void> {
    return this.#loops.end();
  }

  async judge([node]: readonly HttpClient[]): Promise<readonly Finding[]> {
    if (node === undefined) throw new Error('no node is running');
    const places = PARTITIONS.map((partition) => `${this.#queue}/${partition}`);
    const promised = new Map(
      this.#calls.map(({ schedule, messageId }) => [schedule?.transactionId, messageId]),
    );
    const records = await readPartitions(node, places);
    const messages = records.map(({ partition, transactionId, payload }): FiredMessage => {
      // Reading by offset shows no ids, so nothing is said of one that nobody popped.
      const unseen = { messageId: promised.get(transactionId) ?? '', atMs: Infinity };
      const { messageId, atMs } = this.#seen.get(transactionId) ?? unseen;
      return { destination: partition, transactionId, messageId, payload, seenMs: atMs };
    });
    return checkTimers({ calls: this.#calls, messages, clockBreaksMs: [] });
  }

  async #use(caller: NodeCaller, client: number): Promise<void> {
    if (!this.#isConfigured) return this.#configure(caller);
    const random = this.#random;
    const key = this.#keys[client] ?? `k${this.#count++}`;
    const delayMs = random.chance(0.1) ? 0 : random.between(0, DELAY_MS_MAX);
    const schedule = random.chance(0.35) ? null : this.#newSchedule(delayMs);
    const outcome = await this.#ask(caller, key, schedule);
    this.#keys[client] = outcome !== 'unknown' && random.chance(0.8) ? key : null;
    // Now and then the next call comes when the timer is due.
    if (random.chance(0.3)) await sleep(random.between(0, delayMs));
  }

  #newSchedule(delayMs: number): TimerSchedule {
    const transactionId = `t${this.#count++}`;
    const destination = `${this.#queue}/${this.#random.pick(PARTITIONS)}`;
    return { transactionId, delayMs, payload: `{"timer":"${transactionId}"}`, destination };
  }

  async #configure(caller: NodeCaller): Promise<void> {
    const options = { dedupWindowSeconds: 0 };
    const body = JSON.stringify({ queue: this.#queue, options });
    const reply = await caller.post('configure', '/api/v1/configure', body);
    this.#isConfigured ||= reply.kind === 'answer' && reply.answer.status === 200;
    if (!this.#isConfigured) await sleep(RETRY_MS);
  }

  async #ask(
    caller: NodeCaller,
    key: string,
    schedule: TimerSchedule | null,
  ): Promise<TimerCall['outcome']> {
    const place = { queue: this.#queue, timerKey: key };
    const op =
      schedule === null ? { op: 'cancel', ...place } : { ...place, ...scheduled(schedule) };
    const beganMs = performance.now();
    const reply = await caller.post('timers', '/api/v1/timers', JSON.stringify([op]));
    const call = { key, schedule, beganMs, endedMs: performance.now(), ...toldBy(reply) };
    this.#calls.push(call);
    return call.outcome;
  }

  async #consume(caller: NodeCaller): Promise<void> {
    const query = 'consumerGroup=alarm&batch=10&partitions=2&autoAck=true&wait=true&timeout=500';
    const path = `/api/v1/pop/queue/${this.#queue}?${query}`;
    const reply = await caller.get('pop', path);
    const atMs = performance.now();
    if (reply.kind !== 'answer' || reply.answer.status !== 200) return;
    const { messages } = JSON.parse(reply.answer.text) as {
      readonly messages: readonly { readonly transactionId: string; readonly id: string }[];
    };
    for (const { transactionId, id } of messages) {
      if (!this.#seen.has(transactionId)) this.#seen.set(transactionId, { messageId: id, atMs });
    }
  }
}

function toldBy(reply: Reply): Pick<TimerCall, 'outcome' | 'messageId' | 'removed'> {
  const [result] = bodyOf<ToldAnswer>(reply)?.results ?? [];
  if (result === undefined) {
    const outcome = wasRefused(reply) ? 'refused' : 'unknown';
    return { outcome, messageId: null, removed: null };
  }
  const { status, txn = null, messageId = null } = result;
  return { outcome: status, messageId, removed: status === 'cancelled' ? txn : null };
}

function scheduled({ transactionId, delayMs, payload, destination }: TimerSchedule): object {
  return {
    op: 'schedule',
    partition: destination.slice(destination.lastIndexOf('/') + 1),
    delayMs,
    txn: transactionId,
    payload: Buffer.from(payload).toString('base64'),
  };
}
