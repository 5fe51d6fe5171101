/**
 * Clients of simulated machines: producers with and without transaction ids, consumers that pop,
 * wait, acknowledge in every way, extend, dawdle and vanish, and one that reads by offset. What
 * they did and saw is a history for the same checkers that judge real processes.
 *
 * Everything is a chain of callbacks: a promise would resume outside the loop's events.
 */
import type { Broker } from '@svc/broker';
import type { AckCommand, AckStatus } from '@svc/engine';
import type { DeliveredOutcome, Reply, SubmittedOutcome } from '@svc/http';
import {
  type Ack,
  type AckOutcome,
  type Delivery,
  type ReadRecord,
  type Send,
  type SendOutcome,
  ZERO_ID,
} from '../checkers/history.js';
import type { SeededRandom } from '../seeded-random.js';
import {
  CHURNED,
  configureCommand,
  type Message,
  messagesOf,
  pushCommand,
  sendOutcome,
  TENANT,
} from './client-messages.js';
import type { Caller, ClientNetwork, NoAnswer } from './client-network.js';
import { ClientQueues } from './client-queues.js';
import type { Pace } from './pace.js';
import type { SimulatedLoop } from './simulated-loop.js';

export const GROUPS = ['first', 'second'] as const;
const PARTITIONS = ['0', '1', '2'];
const LEASE_SECONDS = 1;
const CHURNERS = 3;

/** What the pops of all clients have in common. */
const POP = {
  kind: 'pop',
  tenant: TENANT,
  batch: 3,
  partitions: 2,
  autoAck: false,
  wait: true,
  leaseSeconds: LEASE_SECONDS,
  subscription: { mode: 'all' },
  conflation: null,
  autopilot: null,
} as const;

/** Messages that are sent together. */
interface Batch {
  readonly queue: string;
  readonly messages: readonly Message[];
}

/** One message of a claim, as its consumer acknowledges it. */
interface Claimed {
  readonly delivery: Delivery;
  readonly partitionId: string;
}

export interface SimulatedClientsOptions {
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly network: ClientNetwork;
  readonly pace: Pace;
  /** Queues follow each other: what is sent must be known to have ended, so it has an id. */
  readonly turnover: boolean;
  readonly note: (text: string) => void;
}

export class SimulatedClients {
  readonly queues = new ClientQueues();
  readonly sends: Send[] = [];
  readonly deliveries: Delivery[] = [];
  readonly acks: Ack[] = [];
  readonly reads: ReadRecord[] = [];
  /** What a client saw that is wrong by itself. */
  readonly wrong: string[] = [];
  readonly #loop: SimulatedLoop;
  readonly #random: SeededRandom;
  readonly #network: ClientNetwork;
  readonly #pace: Pace;
  readonly #turnover: boolean;
  readonly #note: (text: string) => void;
  #producing = true;
  /** Only completed, each batch whole, so that the groups come to the end. */
  #orderly = false;
  /** Calls with transaction ids so far. */
  readonly #sent: Batch[] = [];
  #producers = 0;
  #acksOpen = 0;
  #calls = 0;
  #values = 0;

  constructor({ loop, random, network, pace, turnover, note }: SimulatedClientsOptions) {
    this.#loop = loop;
    this.#random = random;
    this.#network = network;
    this.#pace = pace;
    this.#turnover = turnover;
    this.#note = note;
  }

  start(): void {
    if (this.#orderly) return;
    const random = this.#random;
    // A queue into which something without an id went unanswered is never left for good.
    const idShare = this.#turnover ? random.pick([0.3, 1, 1]) : 0.7;
    for (let i = random.between(1, 3); i > 0; i--) {
      this.#producers++;
      this.#produce(this.#network.caller(), random.chance(idShare));
    }
    for (const group of GROUPS) {
      this.#consume(this.#network.caller(), group, null);
      for (let i = random.between(0, 2); i > 0; i--) {
        const partition = random.chance(0.5) ? random.pick(PARTITIONS) : null;
        this.#consume(this.#network.caller(), group, partition);
      }
    }
    this.#readNow(this.#network.caller(), random.pick(PARTITIONS));
    this.#take(this.#network.caller(), this.queues.newest, -1, random.pick(PARTITIONS));
    if (random.chance(0.5)) this.#churn(this.#network.caller());
  }

  /** Queues that come and go, and nothing else yet. */
  churnAlone(): void {
    for (let i = 0; i < CHURNERS; i++) this.#churn(this.#network.caller());
  }

  /** The end of the run: no more pushes, and consumers that do nothing but complete. */
  settle(): void {
    this.#producing = false;
    this.#orderly = true;
    this.#pace.hurry();
  }

  /** Producers whose last push has not ended yet. */
  get producersLeft(): number {
    return this.#producers;
  }

  /** Acks whose end is not part of the history yet. */
  get acksOpen(): number {
    return this.#acksOpen;
  }

  /** Every group has consumed all of it, as far as the acks say. */
  haveConsumed(records: readonly ReadRecord[], acks: readonly Ack[] = this.acks): boolean {
    const acked = new Map<string, number>();
    for (const { group, partition, offset, outcome, signal } of acks) {
      const done = outcome === 'done' || outcome === 'noop' || (signal && outcome === 'unknown');
      const key = `${group} ${partition}`;
      if (done) acked.set(key, Math.max(acked.get(key) ?? -1, offset));
    }
    return records.every(({ partition, offset }) =>
      GROUPS.every((group) => (acked.get(`${group} ${partition}`) ?? -1) >= offset),
    );
  }

  /**
   * Reads one partition from its start; `done` gets its records, null when there was no answer.
   */
  readAll(
    caller: Caller,
    queue: string,
    partition: string,
    done: (records: ReadRecord[] | null) => void,
  ): void {
    const read: ReadRecord[] = [];
    const next = (offset: number) => {
      this.#fetch(caller, queue, partition, offset, (records) => {
        if (records === null) return done(null);
        read.push(...records);
        if (records.length === 0) return done(read);
        next(offset + records.length);
      });
    };
    next(0);
  }

  get partitions(): readonly string[] {
    return PARTITIONS;
  }

  /** After as long as the pace of the run makes of it. */
  #soon(delayMs: number, work: () => void): void {
    this.#loop.schedule(this.#pace.stretch(delayMs), null, work);
  }

  // --- producers -------------------------------------------------------------------------------

  #produce(caller: Caller, withIds: boolean): void {
    if (!this.#producing) {
      this.#producers--;
      return;
    }
    // Now and then what was sent before is sent again, as by a client that lost its memory.
    const queue = this.queues.newest;
    const sent = this.#sent.filter((earlier) => earlier.queue === queue);
    const again = withIds && sent.length > 0 && this.#random.chance(0.1);
    const batch = again ? this.#random.pick(sent) : { queue, messages: this.#compose(withIds) };
    if (withIds && !again) this.#sent.push(batch);
    this.queues.begin(queue, 'push');
    this.#push(caller, batch, withIds, 0, (known) => {
      // Without an id nobody knows whether it still comes: that queue is never read for good.
      if (withIds || known) this.queues.end(queue, 'push');
      const rests = this.#turnover || this.#random.chance(0.5);
      const pauseMs = rests ? this.#random.between(5, 60) : 1;
      this.#soon(pauseMs, () => this.#produce(caller, withIds));
    });
  }

  #compose(withIds: boolean): Message[] {
    const random = this.#random;
    const home = random.pick(PARTITIONS);
    return Array.from({ length: random.between(1, random.chance(0.1) ? 30 : 4) }, () => {
      this.#values++;
      const value = `m${this.#values}`;
      const pad = 'x'.repeat(random.chance(0.02) ? random.between(0, 3000) : random.between(0, 60));
      return {
        value,
        partition: random.chance(0.3) ? random.pick(PARTITIONS) : home,
        transactionId: withIds ? `t-${value}` : null,
        payload: `{"value":"${value}","pad":"${pad}"}`,
      };
    });
  }

  /** A message without an id is not sent again: it could be stored twice, rightly. */
  #push(
    caller: Caller,
    batch: Batch,
    withIds: boolean,
    tries: number,
    done: (known: boolean) => void,
  ): void {
    const { queue, messages } = batch;
    const call = this.#calls++;
    const beganMs = this.#loop.nowMs;
    caller.call<SubmittedOutcome>(
      (broker, reply) => broker.submit(pushCommand(queue, messages), reply),
      (answer) => {
        const ended = this.#noteSends(batch, call, beganMs, answer);
        if (ended || (answer !== 'refused' && !withIds)) return done(ended);
        if (!this.#producing && answer === 'refused') return done(true);
        const delayMs = this.#pace.again(tries);
        this.#loop.after(delayMs, () => this.#push(caller, batch, withIds, tries + 1, done));
      },
    );
  }

  /** True when the outcome is definite. */
  #noteSends(
    { queue, messages }: Batch,
    call: number,
    beganMs: number,
    answer: SubmittedOutcome | NoAnswer,
  ): boolean {
    if (answer === 'refused') return false;
    const endedMs = this.#loop.nowMs;
    const pushed = answer !== 'unknown' && answer.kind === 'pushed' ? answer : null;
    messages.forEach((message, index) => {
      const outcome: SendOutcome = pushed === null ? 'unknown' : sendOutcome(pushed.status[index]);
      const id = pushed?.messageIds[index] ?? null;
      const messageId = id === ZERO_ID ? null : id;
      const partition = `${queue}/${message.partition}`;
      this.sends.push({ ...message, partition, call, index, beganMs, endedMs, outcome, messageId });
    });
    const what = pushed === null ? 'unknown' : [...pushed.status].join('');
    this.#note(`push ${messages[0]?.value}+${messages.length} ${what}`);
    return pushed !== null;
  }

  // --- consumers -------------------------------------------------------------------------------

  #consume(caller: Caller, group: string, partition: string | null): void {
    const random = this.#random;
    const queue = random.pick(this.queues.live);
    this.queues.begin(queue, 'take');
    this.#pop(caller, group, queue, partition, (claimed) => {
      const again = (delayMs: number): void => {
        this.queues.end(queue, 'take');
        this.#soon(delayMs, () => this.#consume(caller, group, partition));
      };
      if (claimed.length === 0) return again(random.between(1, 30));
      if (!this.#orderly && random.chance(0.02)) return again(1);
      const dawdles = !this.#orderly && random.chance(0.03);
      const thinkMs = dawdles ? LEASE_SECONDS * 1000 + 50 : random.next() * 4;
      const act = () => this.#settleBatch(caller, group, claimed, () => again(0));
      if (!this.#orderly && random.chance(0.1)) this.#extend(caller, claimed, act);
      else this.#loop.after(thinkMs, act);
    });
  }

  #pop(
    caller: Caller,
    group: string,
    queue: string,
    partition: string | null,
    done: (claimed: Claimed[]) => void,
  ): void {
    const random = this.#random;
    const call = this.#calls++;
    const beganMs = this.#loop.nowMs;
    const batch = random.between(1, 8);
    const width = random.between(1, 3);
    const wait = random.chance(0.6);
    const waitMs = random.between(20, this.#turnover ? 60 : 400);
    const timeoutMs = Math.ceil(this.#pace.stretch(waitMs));
    caller.call<DeliveredOutcome | { readonly kind: 'refused' }>(
      (broker, reply) =>
        broker.pop(
          {
            ...POP,
            scope:
              partition === null
                ? { kind: 'queue', queue }
                : { kind: 'partition', queue, partition },
            consumerGroup: group,
            batch,
            partitions: width,
            wait,
            deadlineMs: broker.monotonicMs() + timeoutMs,
          },
          reply,
        ),
      (answer) => {
        if (answer === 'refused' || answer === 'unknown' || answer.kind === 'refused') {
          return done([]);
        }
        const claimed = this.#noteDeliveries(group, queue, call, beganMs, answer);
        const places = claimed.map(({ delivery }) => placeOf(delivery)).join(' ');
        this.#note(`pop ${group} since ${beganMs.toFixed(1)} ${places}`);
        done(claimed);
      },
      timeoutMs,
    );
  }

  #noteDeliveries(
    group: string,
    queue: string,
    call: number,
    beganMs: number,
    outcome: DeliveredOutcome,
  ): Claimed[] {
    const endedMs = this.#loop.nowMs;
    const { leaseId } = outcome;
    const leaseMs = LEASE_SECONDS * 1000;
    const claimed: Claimed[] = [];
    for (const { partition, partitionNumber, batches } of outcome.claims) {
      for (const message of batches.flatMap((batch) => messagesOf(batch, partitionNumber))) {
        const delivery: Delivery = {
          ...message,
          partition: `${queue}/${partition}`,
          group,
          leaseId,
          call,
          leaseMs,
          beganMs,
          endedMs,
        };
        this.deliveries.push(delivery);
        claimed.push({ delivery, partitionId: `${partitionNumber}` });
      }
    }
    return claimed;
  }

  /**
   * Completes the batch; before the end some consumers complete a part first, or give one message a
   * signal, which ends the lease with everything below the message completed.
   */
  #settleBatch(caller: Caller, group: string, claimed: readonly Claimed[], done: () => void): void {
    const random = this.#random;
    const single = new Set(claimed.map(({ partitionId }) => partitionId)).size === 1;
    if (!this.#orderly && single && random.chance(0.15)) {
      const at = random.between(0, claimed.length - 1);
      const status = random.pick<AckStatus>(['failed', 'retry', 'dlq', 'failed']);
      this.#ack(caller, group, claimed.slice(0, at + 1), status, 0, done);
      return;
    }
    const split = random.chance(0.2) ? random.between(1, claimed.length) : claimed.length;
    this.#ack(caller, group, claimed.slice(0, split), 'completed', 0, () => {
      if (split === claimed.length) return done();
      this.#ack(caller, group, claimed.slice(split), 'completed', 0, done);
    });
  }

  /** `last` is the status of the last message; the others are completed. */
  #ack(
    caller: Caller,
    group: string,
    claimed: readonly Claimed[],
    last: AckStatus,
    tries: number,
    done: () => void,
  ): void {
    const beganMs = this.#loop.nowMs;
    const command: AckCommand = {
      kind: 'ack',
      tenant: TENANT,
      consumerGroup: group,
      items: claimed.map(({ delivery, partitionId }, i) => ({
        transactionId: delivery.transactionId,
        partitionId,
        leaseId: delivery.leaseId,
        status: i === claimed.length - 1 ? last : 'completed',
        error: null,
      })),
    };
    this.#acksOpen++;
    caller.call<SubmittedOutcome>(
      (broker, reply) => broker.submit(command, reply),
      (answer) => {
        this.#acksOpen--;
        this.#noteAcks(claimed, last, beganMs, answer);
        const definite = answer !== 'refused' && answer !== 'unknown' && answer.kind === 'acked';
        // A signal is not repeated: it would be a second one.
        if (definite || last !== 'completed') return done();
        const delayMs = this.#pace.again(tries);
        this.#loop.after(delayMs, () => this.#ack(caller, group, claimed, last, tries + 1, done));
      },
    );
  }

  #noteAcks(
    claimed: readonly Claimed[],
    last: AckStatus,
    beganMs: number,
    answer: SubmittedOutcome | NoAnswer,
  ): void {
    if (answer === 'refused') return;
    const endedMs = this.#loop.nowMs;
    const acked = answer !== 'unknown' && answer.kind === 'acked' ? answer : null;
    claimed.forEach(({ delivery }, i) => {
      const { group, partition, offset, leaseId } = delivery;
      const signal = last !== 'completed' && i === claimed.length - 1;
      const item = acked?.items[i];
      let outcome: AckOutcome = 'unknown';
      if (item !== undefined) {
        if (!item.success) outcome = 'refused';
        else if (signal && !item.dlq) outcome = 'released';
        else outcome = item.noop ? 'noop' : 'done';
      }
      this.acks.push({ group, partition, offset, leaseId, signal, beganMs, endedMs, outcome });
      this.#note(`ack ${group} ${placeOf(delivery)} ${signal ? last : ''} ${outcome}`);
    });
  }

  #extend(caller: Caller, claimed: readonly Claimed[], done: () => void): void {
    const leaseId = claimed[0]?.delivery.leaseId ?? '';
    caller.call<SubmittedOutcome>(
      (broker, reply) =>
        broker.submit({ kind: 'extend', tenant: TENANT, leaseId, seconds: 2 }, reply),
      (answer) => {
        const told = answer !== 'refused' && answer !== 'unknown' && answer.kind === 'extended';
        this.#note(`extend ${told ? answer.renewed : 'unknown'}`);
        done();
      },
    );
  }

  // --- deliveries without a lease --------------------------------------------------------------

  /** A group that commits at delivery sees every message once at most, in order. */
  #take(caller: Caller, queue: string, lastOffset: number, partition: string): void {
    if (this.#orderly) return;
    if (queue !== this.queues.newest) {
      this.#take(caller, this.queues.newest, -1, partition);
      return;
    }
    this.queues.begin(queue, 'take');
    const timeoutMs = Math.ceil(this.#pace.stretch(this.#random.between(20, 200)));
    caller.call<DeliveredOutcome | { readonly kind: 'refused' }>(
      (broker, reply) => {
        const scope = { kind: 'partition', queue, partition } as const;
        const deadlineMs = broker.monotonicMs() + timeoutMs;
        broker.pop({ ...POP, scope, consumerGroup: 'taker', autoAck: true, deadlineMs }, reply);
      },
      (answer) => {
        this.queues.end(queue, 'take');
        let last = lastOffset;
        if (answer !== 'refused' && answer !== 'unknown' && answer.kind !== 'refused') {
          for (const { partitionNumber, batches } of answer.claims) {
            for (const { offset } of batches.flatMap((each) => messagesOf(each, partitionNumber))) {
              if (offset <= last) this.wrong.push(`taken twice: ${partition}@${offset}`);
              last = offset;
            }
          }
          this.#note(`take ${partition}@${last}`);
        }
        this.#soon(this.#random.between(1, 40), () => this.#take(caller, queue, last, partition));
      },
      timeoutMs,
    );
  }

  // --- queues that come and go -----------------------------------------------------------------

  /** No checker looks at these messages. At times the others' queue is to wait before retries. */
  #churn(caller: Caller): void {
    if (this.#orderly) return;
    const random = this.#random;
    const own = random.between(0, 2);
    const what = random.pick(['configure', 'delete', 'pop', 'push', 'push'] as const);
    const queue = what === 'configure' && own === 0 ? this.queues.newest : `${CHURNED}${own}`;
    this.queues.begin(queue, 'take');
    this.#note(`churn ${queue} ${what}`);
    caller.call<SubmittedOutcome | DeliveredOutcome>(
      (broker, reply) => this.#change(queue, what, broker, reply),
      () => {
        this.queues.end(queue, 'take');
        this.#soon(random.between(1, 30), () => this.#churn(caller));
      },
    );
  }

  #change(
    queue: string,
    what: 'configure' | 'delete' | 'pop' | 'push',
    broker: Broker,
    reply: Reply<SubmittedOutcome | DeliveredOutcome>,
  ): void {
    const random = this.#random;
    switch (what) {
      case 'configure':
        broker.submit(configureCommand(queue, random.between(0, 3), random.chance(0.5)), reply);
        return;
      case 'delete':
        broker.submit({ kind: 'delete-queue', tenant: TENANT, queue }, reply);
        return;
      case 'pop': {
        const scope = { kind: 'queue', queue } as const;
        const deadlineMs = broker.monotonicMs() + 50;
        broker.pop({ ...POP, scope, consumerGroup: 'churner', deadlineMs }, reply);
        return;
      }
      case 'push':
        broker.submit(pushCommand(queue, this.#compose(random.chance(0.5))), reply);
    }
  }

  // --- reading by offset -----------------------------------------------------------------------

  #readNow(caller: Caller, partition: string): void {
    if (this.#orderly) return;
    const from = this.#random.between(0, 20);
    const queue = this.queues.newest;
    this.queues.begin(queue, 'take');
    this.#fetch(caller, queue, partition, from, (records) => {
      this.queues.end(queue, 'take');
      this.reads.push(...(records ?? []));
      const next = this.#random.pick(PARTITIONS);
      this.#soon(this.#random.between(10, 60), () => this.#readNow(caller, next));
    });
  }

  #fetch(
    caller: Caller,
    queue: string,
    partition: string,
    offset: number,
    done: (records: ReadRecord[] | null) => void,
  ): void {
    caller.call<Parameters<FetchReply['send']>[0]>(
      (broker, reply) =>
        broker.fetch(
          {
            tenant: TENANT,
            entries: [{ queue, partition, offset, maxBytes: 100_000 }],
            maxWaitMs: 0,
            minBytes: 0,
            deadlineMs: broker.monotonicMs(),
          },
          reply,
        ),
      (answer) => {
        if (answer === 'refused' || answer === 'unknown' || answer.kind === 'refused') {
          return done(null);
        }
        const { batches = [], partitionNumber = 0 } = answer.entries[0] ?? {};
        const messages = batches.flatMap((batch) => messagesOf(batch, partitionNumber));
        done(messages.map((message) => ({ ...message, partition: `${queue}/${partition}` })));
      },
    );
  }
}

type FetchReply = Parameters<Broker['fetch']>[1];

function placeOf({ partition, offset }: { partition: string; offset: number }): string {
  return `${partition}@${offset}`;
}
