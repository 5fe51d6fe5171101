/**
 * Clients that load a node, or all nodes of a cluster, and write down what they did and saw:
 * producers with and without transaction ids, and the consumers of two groups, pinned and wildcard,
 * waiting and not, with acknowledgements by themselves and in the next pop. They keep going through
 * any number of crashes: what got no answer is sent again, at another node where there is one, when
 * that is safe, and noted either way.
 */
import type { AckedPopAnswer, AckResult, PopAnswer, PushResult } from '@svc/wire';
import type { Ack, Delivery, ReadRecord, Send, SendOutcome } from '../checkers/history.js';
import type { SeededRandom } from '../seeded-random.js';
import type { HttpClient } from './http-client.js';
import { NodeCaller, type Observe } from './node-caller.js';
import { sleep } from './node-under-test.js';
import { readPartitions } from './partition-reader.js';
import { rawMembers } from './raw-json.js';

export const GROUPS = ['billing', 'audit'] as const;

export interface WorkloadOptions {
  /** One for each node; may change while the load runs. */
  readonly nodes: readonly HttpClient[];
  readonly random: SeededRandom;
  /** Names the queues: `<name>.a` and `<name>.b`. */
  readonly name: string;
  /** After it a request counts as unanswered; the client's own when absent. */
  readonly requestMsMax?: number;
  /** A producer rests up to so long between two pushes. */
  readonly restMsMax?: number;
  readonly leaseSeconds?: number;
  /** Messages that some group has still to consume before producers pause. */
  readonly backlogMax?: number;
  readonly observe?: Observe;
}

const REST_MS_MAX = 30;
const LEASE_SECONDS = 3;
const RETRY_MS = 25;
/** An acknowledgement without an answer is sent for so long when consuming ends in a hurry. */
const LAST_ACKS_MS = 5000;
/** The time that a load may take to run out, on nodes that serve. */
const RUN_OUT_MS_MAX = 60_000;
const RUN_OUT_POLL_MS = 100;
/** The groups shall finish soon after the last push. */
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
  /** The acknowledgements of a batch go with the pop of the next one. */
  readonly isJoined: boolean;
}

export class Workload {
  readonly sends: Send[] = [];
  readonly deliveries: Delivery[] = [];
  readonly acks: Ack[] = [];
  readonly queues: readonly string[];
  /** `<queue>/<partition>`. */
  readonly partitions: readonly string[];
  readonly #options: WorkloadOptions;
  readonly #random: SeededRandom;
  readonly #producers: Promise<void>[] = [];
  readonly #consumers: Promise<void>[] = [];
  #producing = true;
  #consuming = true;
  /** Acknowledgements without an answer are sent until then. */
  #ackUntilMs = Number.POSITIVE_INFINITY;
  #calls = 0;
  #values = 0;
  /** Values, each once however often it was acknowledged. */
  readonly #acknowledged = new Set<string>();
  readonly #consumed = new Map<string, number>();

  constructor(options: WorkloadOptions) {
    this.#options = options;
    this.#random = options.random;
    const [a, b] = [`${options.name}.a`, `${options.name}.b`];
    this.queues = [a, b];
    this.partitions = [...named(a, 16), ...named(b, 8)];
  }

  start(): void {
    for (const withIds of [true, true, true, false, false, false]) {
      this.#producers.push(this.#produce(withIds));
    }
    const [a, b] = this.queues;
    for (const group of GROUPS) {
      const consumers: ConsumerSettings[] = [
        { group, path: `/queue/${a}`, wait: true, isJoined: true },
        { group, path: `/queue/${a}`, wait: true, isJoined: false },
        { group, path: `/queue/${a}`, wait: false, isJoined: true },
        { group, path: `/queue/${b}`, wait: true, isJoined: true },
        { group, path: `/queue/${b}`, wait: true, isJoined: false },
        { group, path: `/queue/${a}/partition/1`, wait: true, isJoined: true },
        { group, path: `/queue/${b}/partition/0`, wait: false, isJoined: false },
      ];
      for (const consumer of consumers) this.#consumers.push(this.#consume(consumer));
    }
  }

  get pushesAcked(): number {
    return this.#acknowledged.size;
  }

  get acksDone(): number {
    return this.acks.filter(({ outcome }) => outcome === 'done').length;
  }

  /**
   * Ends the load on nodes that serve. What was sent is sent until its answer has come, the groups
   * consume all that is stored, and acknowledgements are sent until their answers have come: a
   * checker that finds something missing has found a loss. `pending` as the method of that name.
   */
  async runOut(pending: () => Promise<number>): Promise<void> {
    const untilMs = performance.now() + RUN_OUT_MS_MAX;
    this.#producing = false;
    let isProduced = false;
    const produced = Promise.all(this.#producers).then(() => {
      isProduced = true;
    });
    for (let left = Number.NaN; left !== 0; ) {
      await sleep(RUN_OUT_POLL_MS);
      // Pushes under way may be stored after the backlog was asked for.
      if (isProduced) left = await pending();
      if (left !== 0 && performance.now() > untilMs) {
        throw new Error(
          isProduced ? `${left} messages are never consumed` : 'a push has no answer',
        );
      }
    }
    await produced;
    this.#consuming = false;
    this.#ackUntilMs = untilMs;
    await Promise.all(this.#consumers);
  }

  /**
   * Ends the load at once, whatever the nodes do. Resolves when no client does anything any more.
   */
  async stop(): Promise<void> {
    this.#producing = false;
    this.#consuming = false;
    this.#ackUntilMs = Math.min(this.#ackUntilMs, performance.now() + LAST_ACKS_MS);
    await Promise.all([...this.#producers, ...this.#consumers]);
  }

  /** Messages of both queues that some group has not acknowledged, as `client`'s node says. */
  async pending(client: HttpClient): Promise<number> {
    let pending = 0;
    for (const queue of this.queues) {
      for (const group of GROUPS) {
        const path = `/api/v1/resources/queues/${queue}/depth?group=${group}`;
        const answer = await client.get(path);
        if (answer.status === 404) continue;
        if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
        pending += (JSON.parse(answer.text) as { pending: number }).pending;
      }
    }
    return pending;
  }

  /** Every record of every partition, by offset, as `client`'s node has it. */
  readLog(client: HttpClient): Promise<ReadRecord[]> {
    return readPartitions(client, this.partitions);
  }

  async #produce(withIds: boolean): Promise<void> {
    const random = this.#random.fork();
    const caller = this.#caller(random);
    const sent: (readonly Message[])[] = [];
    while (this.#producing) {
      await sleep(random.between(0, this.#options.restMsMax ?? REST_MS_MAX));
      if (this.#backlog() > (this.#options.backlogMax ?? BACKLOG_MAX)) continue;
      // Now and then what was sent before is sent again, as by a client that lost its memory.
      const again = withIds && sent.length > 0 && random.chance(0.05);
      const messages = again ? random.pick(sent) : this.#compose(random, withIds);
      if (withIds && !again) sent.push(messages);
      if (!again && random.chance(0.03)) await this.#sendBroken(caller, messages);
      else await this.#sendUntilAnswered(caller, messages, withIds);
    }
  }

  get #leaseSeconds(): number {
    return this.#options.leaseSeconds ?? LEASE_SECONDS;
  }

  #caller(random: SeededRandom): NodeCaller {
    const { nodes, requestMsMax, observe } = this.#options;
    return new NodeCaller({ nodes, random, requestMsMax, observe });
  }

  #backlog(): number {
    const slowest = Math.min(...GROUPS.map((group) => this.#consumed.get(group) ?? 0));
    return this.#acknowledged.size - slowest;
  }

  #compose(random: SeededRandom, withIds: boolean): Message[] {
    const home = random.pick(this.partitions);
    return Array.from({ length: random.between(1, 20) }, () => {
      this.#values++;
      const value = `m${this.#values}`;
      const pad = 'x'.repeat(random.between(0, 300));
      return {
        value,
        partition: random.chance(0.2) ? random.pick(this.partitions) : home,
        transactionId: withIds ? `t-${value}` : null,
        payload: `{"value":"${value}", "n":1.50,"pad":"${pad}"}`,
      };
    });
  }

  /** A message without an id is not sent again: it could be stored twice, rightly. */
  async #sendUntilAnswered(
    caller: NodeCaller,
    messages: readonly Message[],
    withIds: boolean,
  ): Promise<void> {
    for (;;) {
      const outcome = await this.#send(caller, messages);
      if (outcome === 'answered' || (outcome === 'unknown' && !withIds)) return;
      if (!this.#producing && outcome !== 'unknown') return;
      if (!this.#consuming) return;
      await sleep(RETRY_MS);
    }
  }

  async #send(
    caller: NodeCaller,
    messages: readonly Message[],
  ): Promise<'answered' | 'unknown' | 'not-done'> {
    const call = this.#calls++;
    const beganMs = performance.now();
    const note = (i: number, outcome: SendOutcome, messageId: string | null) => {
      const message = messages[i] as Message;
      const endedMs = performance.now();
      this.sends.push({ ...message, call, index: i, beganMs, endedMs, outcome, messageId });
    };
    const reply = await caller.post('push', '/api/v1/push', bodyOf(messages));
    if (reply.kind === 'not-sent') return 'not-done';
    if (reply.kind === 'answer' && reply.answer.status === 201) {
      for (const result of JSON.parse(reply.answer.text) as PushResult[]) {
        const queued = result.status === 'queued' || result.status === 'duplicate';
        note(result.index, queued ? (result.status as SendOutcome) : 'refused', result.message_id);
        if (queued) this.#acknowledged.add(messages[result.index]?.value ?? '');
      }
      return 'answered';
    }
    const refused = reply.kind === 'refused';
    messages.forEach((_, i) => {
      note(i, refused ? 'refused' : 'unknown', null);
    });
    return refused ? 'not-done' : 'unknown';
  }

  /** One name too long refuses the whole call: none of its messages may ever be seen. */
  async #sendBroken(caller: NodeCaller, messages: readonly Message[]): Promise<void> {
    const call = this.#calls++;
    const beganMs = performance.now();
    const last = { queue: 'q'.repeat(500), payload: 0 };
    const body = bodyOf(messages).replace(/\]\}$/, `,${JSON.stringify(last)}]}`);
    const reply = await caller.post('broken push', '/api/v1/push', body);
    if (reply.kind === 'not-sent') return;
    const outcome: SendOutcome = reply.kind === 'refused' ? 'refused' : 'unknown';
    const endedMs = performance.now();
    messages.forEach((message, index) => {
      const messageId = null;
      this.sends.push({ ...message, call, index, beganMs, endedMs, outcome, messageId });
    });
  }

  async #consume(settings: ConsumerSettings): Promise<void> {
    const random = this.#random.fork();
    const caller = this.#caller(random);
    const owed: Claimed[] = [];
    while (this.#consuming) {
      const popped = await this.#pop(caller, settings, random, owed);
      if (popped === null) {
        await sleep(settings.wait ? 10 : random.between(20, 120));
        continue;
      }
      // Some are slow, a few too slow for their lease, a few die with their batch.
      if (random.chance(0.1)) await sleep(random.between(20, 200));
      if (random.chance(0.002)) await sleep(this.#leaseSeconds * 1000 + 300);
      if (random.chance(0.003)) continue;
      const at = random.chance(0.2) ? random.between(1, popped.length) : popped.length;
      const parts = [popped.slice(0, at), popped.slice(at)].filter(({ length }) => length > 0);
      if (settings.isJoined) owed.push(...(parts.pop() ?? []));
      for (const part of parts) await this.#ackUntilAnswered(caller, settings.group, part);
    }
    if (owed.length > 0) await this.#ackUntilAnswered(caller, settings.group, owed);
  }

  /** Carries what is owed, which is empty then if its verdicts came. */
  async #pop(
    caller: NodeCaller,
    settings: ConsumerSettings,
    random: SeededRandom,
    owed: Claimed[],
  ): Promise<Claimed[] | null> {
    const query =
      `consumerGroup=${settings.group}&batch=${random.between(1, 5)}` +
      `&partitions=${random.between(1, 3)}&leaseSeconds=${this.#leaseSeconds}` +
      `&wait=${settings.wait}&timeout=1500`;
    const call = this.#calls++;
    const beganMs = performance.now();
    const path = `/api/v1/pop${settings.path}?${query}`;
    const reply =
      owed.length === 0
        ? await caller.get('pop', path)
        : await caller.post('pop with acks', path, JSON.stringify({ acks: owed.map(ackOf) }));
    const answered = reply.kind === 'answer' && reply.answer.status === 200;
    if (owed.length > 0) {
      const acks = answered ? (JSON.parse(reply.answer.text) as AckedPopAnswer).acks : null;
      if (reply.kind !== 'not-sent') this.#noteAcks(owed, beganMs, acks);
      if (acks !== null) owed.length = 0;
      // The others go with the next pop once more.
      else if (random.chance(0.5)) {
        await this.#ackUntilAnswered(caller, settings.group, owed.splice(0));
      }
    }
    if (!answered) return null;
    const { answer } = reply;
    const endedMs = performance.now();
    const { messages } = JSON.parse(answer.text) as PopAnswer;
    if (messages.length === 0) return null;
    const payloads = rawMembers(answer.text, 'data');
    const leaseMs = this.#leaseSeconds * 1000;
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

  /** They may be done although their answer was lost: the record is to say so. */
  async #ackUntilAnswered(
    caller: NodeCaller,
    group: string,
    claimed: readonly Claimed[],
  ): Promise<void> {
    for (;;) {
      const beganMs = performance.now();
      const body = {
        consumerGroup: group,
        acknowledgments: claimed.map(ackOf),
      };
      const reply = await caller.post('ack', '/api/v1/ack/batch', JSON.stringify(body));
      const answered = reply.kind === 'answer' && reply.answer.status === 200;
      const results = answered ? (JSON.parse(reply.answer.text) as AckResult[]) : null;
      if (reply.kind !== 'not-sent') this.#noteAcks(claimed, beganMs, results);
      if (results !== null) return;
      if (performance.now() >= this.#ackUntilMs) return;
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
}

interface Claimed {
  readonly delivery: Delivery;
  readonly partitionId: string;
}

function named(queue: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${queue}/${i}`);
}

function ackOf({ delivery: { transactionId, leaseId }, partitionId }: Claimed) {
  return { transactionId, partitionId, leaseId };
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
