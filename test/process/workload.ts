/**
 * Clients that load a node and write down what they did and saw: producers with and without
 * transaction ids, and the consumers of two groups, pinned and wildcard, waiting and not. They keep
 * going through any number of crashes: what got no answer is sent again when that is safe, and
 * noted either way.
 */
import type { AckResult, PopAnswer, PushResult } from '@svc/wire';
import type { Ack, Delivery, ReadRecord, Send, SendOutcome } from '../checkers/history.js';
import type { SeededRandom } from '../seeded-random.js';
import { type Answer, type HttpClient, NoAnswer } from './http-client.js';
import { sleep } from './node-under-test.js';
import { rawMembers } from './raw-json.js';

export const GROUPS = ['billing', 'audit'] as const;

/** `<queue>/<partition>`. */
const PARTITIONS = [...named('crash.a', 16), ...named('crash.b', 8)];

function named(queue: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${queue}/${i}`);
}

const QUEUES = ['crash.a', 'crash.b'];

const LEASE_SECONDS = 3;
const RETRY_MS = 25;
/** Producers pause above it, so that the groups can finish soon after the last push. */
const BACKLOG_MAX = 800;

interface Message {
  readonly value: string;
  readonly partition: string;
  readonly transactionId: string | null;
  readonly payload: string;
}

/** What a consumer does differently from the others. */
interface ConsumerSettings {
  readonly group: string;
  /** What follows `/api/v1/pop`. */
  readonly path: string;
  readonly wait: boolean;
}

export class Workload {
  readonly sends: Send[] = [];
  readonly deliveries: Delivery[] = [];
  readonly acks: Ack[] = [];
  readonly #client: HttpClient;
  readonly #random: SeededRandom;
  readonly #running: Promise<void>[] = [];
  #producing = true;
  #consuming = true;
  #calls = 0;
  #values = 0;
  /** Values, each once however often it was acknowledged. */
  readonly #acknowledged = new Set<string>();
  readonly #consumed = new Map<string, number>();

  constructor(client: HttpClient, random: SeededRandom) {
    this.#client = client;
    this.#random = random;
  }

  start(): void {
    for (const withIds of [true, true, true, false, false, false])
      this.#run(this.#produce(withIds));
    for (const group of GROUPS) {
      const consumers: ConsumerSettings[] = [
        { group, path: '/queue/crash.a', wait: true },
        { group, path: '/queue/crash.a', wait: true },
        { group, path: '/queue/crash.a', wait: false },
        { group, path: '/queue/crash.b', wait: true },
        { group, path: '/queue/crash.b', wait: true },
        { group, path: '/queue/crash.a/partition/1', wait: true },
        { group, path: '/queue/crash.b/partition/0', wait: false },
      ];
      for (const consumer of consumers) this.#run(this.#consume(consumer));
    }
  }

  get pushesAcked(): number {
    return this.#acknowledged.size;
  }

  get acksDone(): number {
    return this.acks.filter(({ outcome }) => outcome === 'done').length;
  }

  stopProducing(): void {
    this.#producing = false;
  }

  /** Resolves when no client does anything any more. */
  async stop(): Promise<void> {
    this.#producing = false;
    this.#consuming = false;
    await Promise.all(this.#running);
  }

  /** Messages of both queues that some group has not acknowledged. */
  async pending(): Promise<number> {
    let pending = 0;
    for (const queue of QUEUES) {
      for (const group of GROUPS) {
        const path = `/api/v1/resources/queues/${queue}/depth?group=${group}`;
        const answer = await this.#client.get(path);
        if (answer.status === 404) continue;
        pending += (JSON.parse(answer.text) as { pending: number }).pending;
      }
    }
    return pending;
  }

  /** Every record of every partition, by offset. */
  async readLog(): Promise<ReadRecord[]> {
    const records: ReadRecord[] = [];
    for (const place of PARTITIONS) {
      const [queue, partition] = place.split('/');
      let offset = 0;
      for (;;) {
        const body = { entries: [{ queue, partition, offset }] };
        const answer = await this.#client.post('/api/v1/fetch', body);
        const { entries } = JSON.parse(answer.text) as {
          entries: { records: { offset: number; transactionId: string }[] }[];
        };
        const read = entries[0]?.records ?? [];
        const payloads = rawMembers(answer.text, 'payload');
        read.forEach((record, i) => {
          const { transactionId } = record;
          const payload = payloads[i] ?? '';
          records.push({ partition: place, offset: record.offset, transactionId, payload });
        });
        const last = read[read.length - 1];
        if (last === undefined) break;
        offset = last.offset + 1;
      }
    }
    return records;
  }

  #run(client: Promise<void>): void {
    this.#running.push(client);
  }

  async #produce(withIds: boolean): Promise<void> {
    const random = this.#random.fork();
    const sent: (readonly Message[])[] = [];
    while (this.#producing) {
      await sleep(random.between(0, 30));
      if (this.#backlog() > BACKLOG_MAX) continue;
      // Now and then what was sent before is sent again, as by a client that lost its memory.
      const again = withIds && sent.length > 0 && random.chance(0.05);
      const messages = again ? random.pick(sent) : this.#compose(random, withIds);
      if (withIds && !again) sent.push(messages);
      if (!again && random.chance(0.03)) await this.#sendBroken(messages);
      else await this.#sendUntilAnswered(messages, withIds);
    }
  }

  #backlog(): number {
    const slowest = Math.min(...GROUPS.map((group) => this.#consumed.get(group) ?? 0));
    return this.#acknowledged.size - slowest;
  }

  #compose(random: SeededRandom, withIds: boolean): Message[] {
    const home = random.pick(PARTITIONS);
    return Array.from({ length: random.between(1, 20) }, () => {
      this.#values++;
      const value = `m${this.#values}`;
      const pad = 'x'.repeat(random.between(0, 300));
      return {
        value,
        partition: random.chance(0.2) ? random.pick(PARTITIONS) : home,
        transactionId: withIds ? `t-${value}` : null,
        payload: `{"value":"${value}", "n":1.50,"pad":"${pad}"}`,
      };
    });
  }

  /** A message without an id is not sent again: it could be stored twice, rightly. */
  async #sendUntilAnswered(messages: readonly Message[], withIds: boolean): Promise<void> {
    for (;;) {
      const outcome = await this.#send(messages);
      if (outcome === 'answered' || (outcome === 'unknown' && !withIds)) return;
      if (!this.#producing && outcome === 'not-sent') return;
      await sleep(RETRY_MS);
    }
  }

  async #send(messages: readonly Message[]): Promise<'answered' | 'unknown' | 'not-sent'> {
    const call = this.#calls++;
    const beganMs = performance.now();
    const note = (i: number, outcome: SendOutcome, messageId: string | null) => {
      const message = messages[i] as Message;
      const endedMs = performance.now();
      this.sends.push({ ...message, call, index: i, beganMs, endedMs, outcome, messageId });
    };
    const answer = await this.#ask(() => this.#client.post('/api/v1/push', bodyOf(messages)));
    if (answer === 'refused') return 'not-sent';
    if (answer !== 'unknown' && answer.status === 201) {
      for (const result of JSON.parse(answer.text) as PushResult[]) {
        const queued = result.status === 'queued' || result.status === 'duplicate';
        note(result.index, queued ? (result.status as SendOutcome) : 'refused', result.message_id);
        if (queued) this.#acknowledged.add(messages[result.index]?.value ?? '');
      }
      return 'answered';
    }
    messages.forEach((_, i) => {
      note(i, 'unknown', null);
    });
    return 'unknown';
  }

  /** One name too long refuses the whole call: none of its messages may ever be seen. */
  async #sendBroken(messages: readonly Message[]): Promise<void> {
    const call = this.#calls++;
    const beganMs = performance.now();
    const last = { queue: 'q'.repeat(500), payload: 0 };
    const body = bodyOf(messages).replace(/\]\}$/, `,${JSON.stringify(last)}]}`);
    const answer = await this.#ask(() => this.#client.post('/api/v1/push', body));
    if (answer === 'refused') return;
    const outcome: SendOutcome =
      answer !== 'unknown' && answer.status === 413 ? 'refused' : 'unknown';
    const endedMs = performance.now();
    messages.forEach((message, index) => {
      const messageId = null;
      this.sends.push({ ...message, call, index, beganMs, endedMs, outcome, messageId });
    });
  }

  async #consume(settings: ConsumerSettings): Promise<void> {
    const random = this.#random.fork();
    while (this.#consuming) {
      const popped = await this.#pop(settings, random);
      if (popped === null) {
        await sleep(settings.wait ? 10 : random.between(20, 120));
        continue;
      }
      // Some are slow, a few too slow for their lease, a few die with their batch.
      if (random.chance(0.1)) await sleep(random.between(20, 200));
      if (random.chance(0.002)) await sleep(LEASE_SECONDS * 1000 + 300);
      if (random.chance(0.003)) continue;
      const at = random.chance(0.2) ? random.between(1, popped.length) : popped.length;
      await this.#ackUntilAnswered(settings.group, popped.slice(0, at));
      if (at < popped.length) await this.#ackUntilAnswered(settings.group, popped.slice(at));
    }
  }

  async #pop(settings: ConsumerSettings, random: SeededRandom): Promise<Claimed[] | null> {
    const query =
      `consumerGroup=${settings.group}&batch=${random.between(1, 5)}` +
      `&partitions=${random.between(1, 3)}&leaseSeconds=${LEASE_SECONDS}` +
      `&wait=${settings.wait}&timeout=1500`;
    const call = this.#calls++;
    const beganMs = performance.now();
    const path = `/api/v1/pop${settings.path}?${query}`;
    const answer = await this.#ask(() => this.#client.get(path));
    if (answer === 'refused' || answer === 'unknown' || answer.status !== 200) return null;
    const endedMs = performance.now();
    const { messages } = JSON.parse(answer.text) as PopAnswer;
    const payloads = rawMembers(answer.text, 'data');
    const leaseMs = LEASE_SECONDS * 1000;
    return messages.map((message, i) => {
      const delivery: Delivery = {
        partition: `${message.queue}/${message.partition}`,
        offset: message.offset,
        transactionId: message.transactionId,
        payload: payloads[i] ?? '',
        group: settings.group,
        messageId: message.id,
        leaseId: message.leaseId,
        call,
        leaseMs,
        beganMs,
        endedMs,
      };
      this.deliveries.push(delivery);
      return { delivery, partitionId: message.partitionId };
    });
  }

  async #ackUntilAnswered(group: string, claimed: readonly Claimed[]): Promise<void> {
    for (;;) {
      const beganMs = performance.now();
      const body = {
        consumerGroup: group,
        acknowledgments: claimed.map(({ delivery, partitionId }) => ({
          transactionId: delivery.transactionId,
          partitionId,
          leaseId: delivery.leaseId,
        })),
      };
      const answer = await this.#ask(() => this.#client.post('/api/v1/ack/batch', body));
      const answered = answer !== 'refused' && answer !== 'unknown' && answer.status === 200;
      const results = answered ? (JSON.parse(answer.text) as AckResult[]) : null;
      if (answer !== 'refused') this.#noteAcks(claimed, beganMs, results);
      if (results !== null) return;
      await sleep(RETRY_MS);
    }
  }

  #noteAcks(
    claimed: readonly Claimed[],
    beganMs: number,
    results: readonly AckResult[] | null,
  ): void {
    const endedMs = performance.now();
    claimed.forEach(({ delivery }, i) => {
      const { group, partition, offset, leaseId } = delivery;
      const outcome = ackOutcome(results?.[i]);
      const signal = false;
      this.acks.push({ group, partition, offset, leaseId, signal, beganMs, endedMs, outcome });
      if (outcome === 'done') this.#consumed.set(group, (this.#consumed.get(group) ?? 0) + 1);
    });
  }

  /** `refused`: the request never left. `unknown`: no answer. */
  async #ask(request: () => Promise<Answer>): Promise<Answer | 'refused' | 'unknown'> {
    try {
      return await request();
    } catch (error) {
      if (error instanceof NoAnswer) return error.code;
      throw error;
    }
  }
}

interface Claimed {
  readonly delivery: Delivery;
  readonly partitionId: string;
}

function ackOutcome(result: AckResult | undefined): Ack['outcome'] {
  if (result === undefined) return 'unknown';
  if (!result.success) return 'refused';
  return result.noop ? 'noop' : 'done';
}

/** Payload texts go in as they are. */
function bodyOf(messages: readonly Message[]): string {
  const items = messages.map(({ partition, transactionId, payload }) => {
    const [queue, name] = partition.split('/');
    const id = transactionId === null ? '' : `"transactionId":"${transactionId}",`;
    return `{"queue":"${queue}","partition":"${name}",${id}"payload":${payload}}`;
  });
  return `{"items":[${items.join(',')}]}`;
}

/** The value of a payload that a producer composed. */
export function valueOfPayload(payload: string): string | null {
  return /^\{"value":"(m\d+)", "n":1\.50,"pad":"x*"\}$/.exec(payload)?.[1] ?? null;
}
