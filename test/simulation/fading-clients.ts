/**
 * Clients of queues whose messages do not stay: a producer, consumers that commit at delivery, and
 * rules of retention with windows of a second or so. They make most of the log dead while the
 * checked queues keep a little of it live, so that appends move; and what leaves, and when, is
 * judged by what the entries say (watched-state.ts).
 *
 * What a consumer must see: nothing twice, nothing out of order, nothing that was not sent.
 */
import type { ConfigureCommand } from '@svc/engine';
import type { DeliveredOutcome, SubmittedOutcome } from '@svc/http';
import type { SeededRandom } from '../seeded-random.js';
import { messagesOf, pushCommand, TENANT } from './client-messages.js';
import type { Caller, ClientNetwork } from './client-network.js';
import type { Pace } from './pace.js';
import type { SimulatedLoop } from './simulated-loop.js';

const QUEUES = ['fade.aged', 'fade.read', 'fade.both'] as const;
const RULES: readonly ConfigureCommand['changes'][] = [
  { maxWaitTimeSeconds: 1 },
  { retentionEnabled: true, completedRetentionSeconds: 1 },
  { retentionEnabled: true, retentionSeconds: 3, completedRetentionSeconds: 1 },
];
const PARTITIONS = ['a', 'b'];
const AGAIN_MS = 50;

export class FadingClients {
  /** What a client saw that is wrong by itself. */
  readonly wrong: string[] = [];
  readonly #loop: SimulatedLoop;
  readonly #random: SeededRandom;
  readonly #network: ClientNetwork;
  readonly #pace: Pace;
  readonly #sent = new Set<string>();
  readonly #last = new Map<string, number>();
  #values = 0;
  #ended = false;

  constructor(parts: {
    readonly loop: SimulatedLoop;
    readonly random: SeededRandom;
    readonly network: ClientNetwork;
    readonly pace: Pace;
  }) {
    this.#loop = parts.loop;
    this.#random = parts.random;
    this.#network = parts.network;
    this.#pace = parts.pace;
  }

  start(): void {
    QUEUES.forEach((queue, i) => {
      const caller = this.#network.caller();
      this.#configure(caller, queue, RULES[i] ?? {}, () => {
        this.#take(this.#network.caller(), queue, 'sleepy');
        this.#produce(caller, queue);
        this.#take(this.#network.caller(), queue, 'fader');
      });
    });
  }

  /** Nothing more is sent or taken. */
  end(): void {
    this.#ended = true;
  }

  #soon(delayMs: number, work: () => void): void {
    this.#loop.schedule(this.#pace.stretch(delayMs), null, () => {
      if (!this.#ended) work();
    });
  }

  #configure(
    caller: Caller,
    queue: string,
    changes: ConfigureCommand['changes'],
    done: () => void,
  ): void {
    caller.call<SubmittedOutcome>(
      (broker, reply) =>
        broker.submit({ kind: 'configure', tenant: TENANT, queue, replace: false, changes }, reply),
      (answer) => {
        const isDone = answer !== 'refused' && answer !== 'unknown' && answer.kind === 'configured';
        if (isDone) done();
        else this.#soon(AGAIN_MS, () => this.#configure(caller, queue, changes, done));
      },
    );
  }

  #produce(caller: Caller, queue: string): void {
    const random = this.#random;
    const partition = random.pick(PARTITIONS);
    const messages = Array.from({ length: random.between(1, 4) }, () => {
      const value = `f${this.#values++}`;
      const payload = `{"value":"${value}","pad":"${'x'.repeat(random.between(0, 400))}"}`;
      this.#sent.add(`${queue}/${partition} ${payload}`);
      return { value, partition, transactionId: null, payload };
    });
    caller.call<SubmittedOutcome>(
      (broker, reply) => broker.submit(pushCommand(queue, messages), reply),
      () => this.#soon(random.between(5, 60), () => this.#produce(caller, queue)),
    );
  }

  /** One group stays with what it finds; the other registers, and seldom comes back. */
  #take(caller: Caller, queue: string, group: 'fader' | 'sleepy'): void {
    const random = this.#random;
    caller.call<DeliveredOutcome | { readonly kind: 'refused' }>(
      (broker, reply) =>
        broker.pop(
          {
            kind: 'pop',
            tenant: TENANT,
            scope: { kind: 'queue', queue },
            consumerGroup: group,
            batch: group === 'fader' ? 10 : 1,
            partitions: group === 'fader' ? 2 : 1,
            autoAck: true,
            wait: false,
            deadlineMs: broker.monotonicMs() + 50,
            leaseSeconds: null,
            subscription: { mode: 'all' },
            conflation: null,
            autopilot: null,
          },
          reply,
        ),
      (answer) => {
        if (answer !== 'refused' && answer !== 'unknown' && answer.kind !== 'refused') {
          this.#look(queue, group, answer);
        }
        // Now and then it stays away for longer than a message does.
        const away = group === 'sleepy' || random.chance(0.05);
        const pauseMs = away ? random.between(1000, 3000) : random.between(5, 80);
        this.#soon(pauseMs, () => this.#take(caller, queue, group));
      },
    );
  }

  #look(queue: string, group: string, { claims }: DeliveredOutcome): void {
    for (const { partition, partitionNumber, batches } of claims) {
      const place = `${queue}/${partition}`;
      for (const batch of batches) {
        for (const { offset, payload } of messagesOf(batch, partitionNumber)) {
          const read = `${group} ${place}`;
          const last = this.#last.get(read) ?? -1;
          if (offset <= last) this.wrong.push(`faded twice: ${read}@${offset} after ${last}`);
          this.#last.set(read, Math.max(last, offset));
          if (this.#sent.has(`${place} ${payload}`)) continue;
          this.wrong.push(`faded: ${place}@${offset} was never sent: ${payload}`);
        }
      }
    }
  }
}
