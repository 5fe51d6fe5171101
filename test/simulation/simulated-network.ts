/**
 * What lies between the clients and the node: latency, connections that end with the process,
 * answers that are lost, and clients that go away. A client learns how its request ended in exactly
 * one call.
 */
import type { Broker } from '@svc/broker';
import type { Reply } from '@svc/http';
import type { SeededRandom } from '../seeded-random.js';
import type { Fault } from './faults.js';
import type { SimulatedLoop } from './simulated-loop.js';
import type { SimulatedMachine } from './simulated-machine.js';

/** `refused`: the request never reached a process. `unknown`: it may have had its effect. */
export type NoAnswer = 'refused' | 'unknown';

interface Connection {
  /** The process has gone, or the client has. */
  broken: boolean;
  readonly fail: () => void;
}

const LATENCY_MS_MAX = 1;

export class SimulatedNetwork {
  readonly #loop: SimulatedLoop;
  readonly #random: SeededRandom;
  readonly #machine: SimulatedMachine;
  readonly #faults: ReadonlySet<Fault>;
  readonly #connections = new Set<Connection>();
  #broker: Broker | null = null;
  #faultsOn = true;

  constructor(
    loop: SimulatedLoop,
    random: SeededRandom,
    machine: SimulatedMachine,
    faults: ReadonlySet<Fault>,
  ) {
    this.#loop = loop;
    this.#random = random;
    this.#machine = machine;
    this.#faults = faults;
  }

  up(broker: Broker): void {
    this.#broker = broker;
  }

  down(): void {
    this.#broker = null;
    for (const connection of this.#connections) {
      connection.broken = true;
      connection.fail();
    }
    this.#connections.clear();
  }

  heal(): void {
    this.#faultsOn = false;
  }

  /** `request` runs in the process; `done` runs at the client, once. */
  call<Answer>(
    request: (broker: Broker, reply: Reply<Answer>) => void,
    done: (answer: Answer | NoAnswer) => void,
  ): void {
    let ended = false;
    const end = (answer: Answer | NoAnswer) => {
      if (ended) return;
      ended = true;
      this.#connections.delete(connection);
      done(answer);
    };
    const connection: Connection = {
      broken: false,
      fail: () => this.#later(() => end('unknown')),
    };
    const lost = this.#happens('lost-answer', 0.01);
    const reply = new SimulatedReply<Answer>(connection, (answer) => {
      // What a dying process has sent may still arrive, so this does not ask whether it lives.
      if (lost) this.#loop.after(200, () => end('unknown'));
      else this.#later(() => end(answer));
    });
    this.#later(() => {
      const broker = this.#broker;
      if (broker === null) {
        end('refused');
        return;
      }
      this.#connections.add(connection);
      if (this.#happens('client-gone', 0.02)) this.#leaveSoon(connection, reply, end);
      this.#machine.inProcess(() => request(broker, reply));
    });
  }

  #leaveSoon<Answer>(
    connection: Connection,
    reply: SimulatedReply<Answer>,
    end: (answer: NoAnswer) => void,
  ): void {
    this.#loop.after(this.#random.next() * 3, () => {
      if (connection.broken || reply.sent) return;
      connection.broken = true;
      this.#machine.inProcess(() => reply.leave());
      end('unknown');
    });
  }

  #later(work: () => void): void {
    this.#loop.after(0.02 + this.#random.next() * LATENCY_MS_MAX, work);
  }

  #happens(fault: Fault, probability: number): boolean {
    if (!this.#faultsOn || !this.#faults.has(fault)) return false;
    if (!this.#random.chance(probability)) return false;
    this.#machine.counts[fault]++;
    return true;
  }
}

class SimulatedReply<Answer> implements Reply<Answer> {
  onGone: (() => void) | null = null;
  sent = false;
  readonly #connection: Connection;
  readonly #deliver: (answer: Answer) => void;

  constructor(connection: Connection, deliver: (answer: Answer) => void) {
    this.#connection = connection;
    this.#deliver = deliver;
  }

  get gone(): boolean {
    return this.#connection.broken;
  }

  send(answer: Answer): boolean {
    if (this.sent) throw new Error('a request was answered twice');
    this.sent = true;
    if (this.#connection.broken) return false;
    this.#deliver(answer);
    return true;
  }

  /** The client closes the connection. */
  leave(): void {
    const { onGone } = this;
    this.onGone = null;
    onGone?.();
  }
}
