/**
 * Lets the checked queues follow each other (`ClientQueues`), so that rows stop referring to the
 * log and it is given up while clients work.
 *
 * What must hold: what is read last of a queue is all that was ever stored in it. So a queue is
 * read only when every push into it has had a definite answer, behind a read that shows everything
 * answered before; and it is left for good only when that reading was consumed by every group and
 * nobody has a request for it under way. A push that was repeated may still arrive late and create
 * the queue anew: such a leftover is deleted with the next ones.
 */
import { WHOLE } from '@svc/engine';
import type { ReadRecord } from '../checkers/history.js';
import type { SeededRandom } from '../seeded-random.js';
import { TENANT } from './client-messages.js';
import type { Caller } from './client-network.js';
import type { SimulatedClients } from './simulated-clients.js';
import type { SimulatedLoop } from './simulated-loop.js';

const TURN_MS = 400;
const LIVE_MAX = 3;
const LOOK_MS = 40;
/** A queue is deleted so often, with so much time between. */
const DELETIONS = 2;
const AGAIN_MS = 1500;

export class QueueTurnover {
  /** Records of queues that are gone. */
  readonly records: ReadRecord[] = [];
  readonly #loop: SimulatedLoop;
  readonly #random: SeededRandom;
  readonly #clients: SimulatedClients;
  readonly #caller: Caller;
  readonly #note: (text: string) => void;
  /** Consumers have left it, and some are still asking. */
  #leaving: string | null = null;
  #ended = false;

  constructor(parts: {
    readonly loop: SimulatedLoop;
    readonly random: SeededRandom;
    readonly clients: SimulatedClients;
    readonly caller: Caller;
    readonly note: (text: string) => void;
  }) {
    this.#loop = parts.loop;
    this.#random = parts.random;
    this.#clients = parts.clients;
    this.#caller = parts.caller;
    this.#note = parts.note;
    this.#later(TURN_MS, () => this.#turn());
    this.#later(LOOK_MS, () => this.#look());
  }

  /** From here on queues stay; the one that consumers have left is theirs again. */
  end(): void {
    this.#ended = true;
    if (this.#leaving !== null) this.#clients.queues.comeBack(this.#leaving);
    this.#leaving = null;
  }

  #later(meanMs: number, work: () => void): void {
    this.#loop.schedule(meanMs * (0.5 + this.#random.next()), null, () => {
      if (!this.#ended) work();
    });
  }

  #turn(): void {
    const { queues } = this.#clients;
    // Few at a time: the consumers have to come after.
    if (queues.live.length < LIVE_MAX && queues.isUsed(queues.newest)) queues.moveOn();
    this.#later(TURN_MS, () => this.#turn());
  }

  #look(): void {
    const again = () => this.#later(LOOK_MS, () => this.#look());
    const { queues } = this.#clients;
    const queue = this.#leaving ?? queues.left;
    if (queue === null || (queue === this.#leaving && !queues.isIdle(queue, 'take'))) {
      again();
      return;
    }
    this.#confirm(queue, (confirmed) => {
      if (!confirmed) return again();
      this.#read(queue, (records) => {
        if (records !== null && !this.#ended) this.#judge(queue, records);
        again();
      });
    });
  }

  /** `done(true)`: the machine that answered shows everything that was answered before. */
  #confirm(queue: string, done: (confirmed: boolean) => void): void {
    this.#caller.call<{ readonly kind: string }>(
      (broker, reply) => broker.queueDetail(TENANT, queue, WHOLE, reply),
      (answer) => done(answer !== 'refused' && answer !== 'unknown' && answer.kind !== 'refused'),
    );
  }

  #read(queue: string, done: (records: ReadRecord[] | null) => void): void {
    const all: ReadRecord[] = [];
    const partitions = [...this.#clients.partitions];
    const next = () => {
      const partition = partitions.pop();
      if (partition === undefined) return done(all);
      this.#clients.readAll(this.#caller, queue, partition, (records) => {
        if (records === null) return done(null);
        all.push(...records);
        next();
      });
    };
    next();
  }

  #judge(queue: string, records: readonly ReadRecord[]): void {
    const { queues } = this.#clients;
    if (!this.#clients.haveConsumed(records)) return;
    if (queue !== this.#leaving) {
      this.#leaving = queue;
      queues.leave(queue);
      return;
    }
    this.#leaving = null;
    this.records.push(...records);
    this.#note(`queue ${queue} is done with ${records.length} messages`);
    this.#delete(queue, DELETIONS);
  }

  #delete(queue: string, times: number): void {
    if (times === 0) return;
    this.#caller.call<{ readonly kind: string }>(
      (broker, reply) => broker.submit({ kind: 'delete-queue', tenant: TENANT, queue }, reply),
      (answer) => {
        const done = answer !== 'refused' && answer !== 'unknown' && answer.kind !== 'refused';
        this.#later(done ? AGAIN_MS : LOOK_MS, () => this.#delete(queue, done ? times - 1 : times));
      },
    );
  }
}
