/**
 * Clients of a fake group: producers and consumers that ask whichever node comes to hand, each with
 * one request at a time, and write down what they did and saw.
 *
 * Producers give no transaction id, so a request that a node does twice is stored twice. A request
 * without an answer is never repeated.
 */
import { Answers, type FakeGroup, type FakeMachine } from '@svc/broker/testing';
import type { RefusedOutcome } from '@svc/engine';
import type { DeliveredOutcome, SubmittedOutcome } from '@svc/http';
import type { Ack, AckOutcome, Delivery, ReadRecord, Send } from '../checkers/history.js';
import type { SeededRandom } from '../seeded-random.js';
import { messagesOf, pushCommand, sendOutcome, TENANT } from '../simulation/client-messages.js';

const QUEUE = 'q';
const PARTITIONS = ['p', 'r', 's'];
export const GROUP = 'g';
const LEASE_MS = 2000;
/** Deadline of pushes and acks; a pop says its own. */
export const DEADLINE_MS = 30_000;
/** How early before its deadline a request may be refused. */
const EARLY_MS = 300;

/** What a pop took of one partition. */
interface Claimed {
  readonly partitionId: string;
  readonly deliveries: readonly Delivery[];
}

interface Open {
  readonly machine: FakeMachine;
  readonly end: (answer: 'lost') => void;
}

export class StormClients {
  readonly sends: Send[] = [];
  readonly deliveries: Delivery[] = [];
  readonly acks: Ack[] = [];
  /** What no client should see, whatever happens. */
  readonly complaints: string[] = [];
  readonly #group: FakeGroup;
  readonly #random: SeededRandom;
  readonly #open = new Set<Open>();
  #calls = 0;
  #values = 0;
  /** When a pop last found something. */
  deliveredMs = 0;
  producing = true;
  consuming = true;

  constructor(group: FakeGroup, random: SeededRandom) {
    this.#group = group;
    this.#random = random;
  }

  get waiting(): number {
    return this.#open.size;
  }

  /** The process of the machine has ended: whoever waits for it loses the connection. */
  lost(machine: FakeMachine): void {
    for (const open of [...this.#open]) if (open.machine === machine) open.end('lost');
  }

  /** Any node that runs, a new connection for each request. */
  #machine(): FakeMachine {
    const running = [...this.#group.machines.values()].filter(({ node }) => node !== null);
    return this.#random.pick(running);
  }

  /** `done` runs once, with the answer or with `lost`. */
  #ask<Answer>(
    make: (machine: FakeMachine, answers: Answers<Answer>) => void,
    done: (answer: Answer | 'lost') => void,
  ): { readonly leave: () => void } {
    const machine = this.#machine();
    const answers = new Answers<Answer>();
    const end = (answer: Answer | 'lost') => {
      if (this.#open.delete(open)) done(answer);
    };
    const open: Open = { machine, end };
    this.#open.add(open);
    // What follows an answer is the client's, and not part of the node that answered.
    answers.onAnswer = (answer) => void this.#group.after(0, () => end(answer));
    make(machine, answers);
    const leave = () => {
      if (answers.all.length > 0 || !this.#open.has(open)) return;
      machine.inProcess(() => answers.leave());
      end('lost');
    };
    return { leave };
  }

  #judgeRefusal(what: string, beganMs: number, leftMs: number, refused: RefusedOutcome): void {
    const tookMs = this.#group.nowMs - beganMs;
    if (tookMs >= leftMs - EARLY_MS) return;
    const { reason, error } = refused.refusal;
    this.complaints.push(`${what} was refused after ${tookMs.toFixed(0)} ms: ${reason}, ${error}`);
  }

  // --- producers -------------------------------------------------------------------------------

  produce(): void {
    if (!this.producing) return;
    const value = `m${++this.#values}`;
    const payload = `{"value":"${value}","pad":""}`;
    const partition = this.#random.pick(PARTITIONS);
    const message = { value, partition, transactionId: null, payload };
    const call = this.#calls++;
    const beganMs = this.#group.nowMs;
    this.#ask<SubmittedOutcome>(
      (machine, answers) => machine.submit(pushCommand(QUEUE, [message]), answers),
      (answer) => {
        const pushed = answer !== 'lost' && answer.kind === 'pushed' ? answer : null;
        const refused = answer !== 'lost' && answer.kind === 'refused' ? answer : null;
        if (refused !== null) this.#judgeRefusal(value, beganMs, DEADLINE_MS, refused);
        this.sends.push({
          ...message,
          partition: `${QUEUE}/${partition}`,
          call,
          index: 0,
          beganMs,
          endedMs: this.#group.nowMs,
          outcome: pushed === null ? 'unknown' : sendOutcome(pushed.status[0]),
          messageId: pushed?.messageIds[0] ?? null,
        });
        this.#group.after(this.#random.between(0, 15), () => this.produce());
      },
    );
  }

  // --- consumers -------------------------------------------------------------------------------

  consume(): void {
    if (!this.consuming) return;
    const random = this.#random;
    const call = this.#calls++;
    const beganMs = this.#group.nowMs;
    const waitMs = random.between(100, 1500);
    const batch = random.between(1, 12);
    const again = () => this.#group.after(random.between(0, 10), () => this.consume());
    const { leave } = this.#ask<DeliveredOutcome | RefusedOutcome>(
      (machine, into) => machine.pop(QUEUE, waitMs, into, batch),
      (answer) => {
        if (answer === 'lost') again();
        else if (answer.kind === 'refused') {
          this.#judgeRefusal(`pop ${call}`, beganMs, waitMs, answer);
          again();
        } else this.#settle(this.#delivered(answer, call, beganMs), again);
      },
    );
    if (!random.chance(0.2)) return;
    this.#group.after(random.chance(0.5) ? random.next() * 4 : random.between(0, waitMs), leave);
  }

  #delivered(outcome: DeliveredOutcome, call: number, beganMs: number): Claimed[] {
    const endedMs = this.#group.nowMs;
    const { leaseId, claims } = outcome;
    const shared = { group: GROUP, leaseId, call, leaseMs: LEASE_MS, beganMs, endedMs };
    if (claims.length > 0) this.deliveredMs = endedMs;
    return claims.map(({ partition, partitionNumber, batches }) => {
      const own = batches.flatMap((batch) => messagesOf(batch, partitionNumber));
      const place = `${QUEUE}/${partition}`;
      const deliveries = own.map((one): Delivery => ({ ...one, ...shared, partition: place }));
      this.deliveries.push(...deliveries);
      return { partitionId: `${partitionNumber}`, deliveries };
    });
  }

  /** A pop claims one partition. */
  #settle([claimed]: readonly Claimed[], done: () => void): void {
    const last = claimed?.deliveries[claimed.deliveries.length - 1];
    if (claimed === undefined || last === undefined || this.#random.chance(0.03)) {
      done();
      return;
    }
    const { transactionId, leaseId, offset, partition } = last;
    const beganMs = this.#group.nowMs;
    const item = { transactionId, partitionId: claimed.partitionId, leaseId, error: null };
    this.#ask<SubmittedOutcome>(
      (machine, answers) =>
        machine.submit(
          {
            kind: 'ack',
            tenant: TENANT,
            consumerGroup: GROUP,
            items: [{ ...item, status: 'completed' }],
          },
          answers,
        ),
      (answer) => {
        if (answer !== 'lost' && answer.kind === 'refused') {
          this.#judgeRefusal(`ack of ${offset}`, beganMs, DEADLINE_MS, answer);
        }
        const outcome = ackOutcome(answer);
        const endedMs = this.#group.nowMs;
        const shared = { group: GROUP, partition, leaseId, signal: false, beganMs, endedMs };
        for (const { offset } of claimed.deliveries) this.acks.push({ ...shared, offset, outcome });
        done();
      },
    );
  }
}

function ackOutcome(answer: SubmittedOutcome | 'lost'): AckOutcome {
  if (answer === 'lost' || answer.kind !== 'acked') return 'unknown';
  const [item] = answer.items;
  if (item?.success !== true) return 'refused';
  return item.noop ? 'noop' : 'done';
}

/** Everything that is stored, as a node shows it. */
export function readAll(group: FakeGroup, machine: FakeMachine): ReadRecord[] {
  return PARTITIONS.flatMap((partition) => readPartition(group, machine, partition));
}

function readPartition(group: FakeGroup, machine: FakeMachine, partition: string): ReadRecord[] {
  const records: ReadRecord[] = [];
  for (;;) {
    const answers = machine.fetch(QUEUE, partition, records.length);
    group.until('a fetch', () => answers.all.length > 0);
    const outcome = answers.one;
    if (outcome.kind === 'refused') throw new Error(outcome.refusal.error);
    const [entry] = outcome.entries;
    const number = entry?.partitionNumber ?? 0;
    const messages = entry?.batches.flatMap((batch) => messagesOf(batch, number)) ?? [];
    if (messages.length === 0) return records;
    for (const { offset, transactionId, payload } of messages) {
      records.push({ partition: `${QUEUE}/${partition}`, offset, transactionId, payload });
    }
  }
}
