/**
 * What lies between the clients and the machines: latency, connections that end with the process,
 * answers that are lost, clients that go away or lose patience, and the search for the leader. A
 * client learns how its request ended in exactly one call.
 */
import type { Broker } from '@svc/broker';
import type { Reply } from '@svc/http';
import type { SeededRandom } from '../seeded-random.js';
import type { Fault, FaultCounts } from './faults.js';
import type { SimulatedLoop } from './simulated-loop.js';
import { Violation } from './violation.js';

/** `refused`: the request never reached a process. `unknown`: it may have had its effect. */
export type NoAnswer = 'refused' | 'unknown';

export interface ClientNetworkOptions {
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly machines: number;
  readonly faults: ReadonlySet<Fault>;
  readonly counts: FaultCounts;
  /** A client gives up a request after this time; infinite: it waits for the process to end. */
  readonly patienceMs: number;
  /** The process has run without a break since then: it owes an answer. */
  readonly owesAnswer: (machine: number, sinceMs: number) => boolean;
  /** Runs `work` in the process of a machine. */
  readonly enter: (machine: number, work: () => void) => void;
}

interface Connection {
  readonly machine: number;
  /** The process has gone, or the client has. */
  broken: boolean;
  /** The network let go of it: nobody hears what the process makes of it. */
  dropped: boolean;
  readonly fail: () => void;
}

type Request<Answer> = (broker: Broker, reply: Reply<Answer>) => void;
type Suits = (machine: number) => boolean;
const ANY: Suits = () => true;

const LATENCY_MS_MAX = 1;
const LOST_ANSWER_MS = 200;
/** Every request of a run has its deadline within it, and what it asks to wait for. */
const DEADLINE_MS_MAX = 4500;

export class ClientNetwork {
  readonly #options: ClientNetworkOptions;
  readonly #connections = new Set<Connection>();
  readonly #brokers = new Map<number, Broker>();
  #faultsOn = true;
  calls = 0;

  constructor(options: ClientNetworkOptions) {
    this.#options = options;
  }

  up(machine: number, broker: Broker): void {
    this.#brokers.set(machine, broker);
  }

  /** Nobody new is served there; who is, still gets an answer. */
  shut(machine: number): void {
    this.#brokers.delete(machine);
  }

  /** Somebody waits for an answer of this machine. */
  isAwaited(machine: number): boolean {
    for (const connection of this.#connections) if (connection.machine === machine) return true;
    return false;
  }

  /** The process has gone. `drops`: the way to it has, and with it what was on its way. */
  down(machine: number, drops = false): void {
    this.#brokers.delete(machine);
    for (const connection of this.#connections) {
      if (connection.machine !== machine) continue;
      this.#connections.delete(connection);
      connection.broken = true;
      connection.dropped = drops;
      connection.fail();
    }
  }

  heal(): void {
    this.#faultsOn = false;
  }

  /**
   * One client's way in. It stays with a machine as long as that one serves it. Where `suits` is
   * false it is turned away.
   */
  caller(suits: Suits = ANY): Caller {
    return new Caller(this, this.#options.random.between(1, this.#options.machines), suits);
  }

  /** The machine to try after this one. */
  next(machine: number): number {
    const { random, machines } = this.#options;
    return machines === 1 ? 1 : 1 + ((machine - 1 + random.between(1, machines - 1)) % machines);
  }

  /** `request` runs in the process; `done` runs at the client, once. */
  call<Answer>(
    machine: number,
    request: Request<Answer>,
    waitMs: number,
    done: (answer: Answer | NoAnswer) => void,
    suits: Suits = ANY,
  ): void {
    const { loop, enter, patienceMs } = this.#options;
    this.calls++;
    let ended = false;
    const end = (answer: Answer | NoAnswer) => {
      if (ended) return;
      ended = true;
      this.#connections.delete(connection);
      done(answer);
    };
    const connection: Connection = {
      machine,
      broken: false,
      dropped: false,
      fail: () => this.#later(() => end('unknown')),
    };
    const lost = this.#happens('lost-answer', 0.01);
    const reply = new SimulatedReply<Answer>(connection, (answer) => {
      // What a dying process has sent may still arrive, so this does not ask whether it lives.
      if (lost) loop.schedule(LOST_ANSWER_MS, null, () => end('unknown'));
      else this.#later(() => end(connection.dropped ? 'unknown' : answer));
    });
    this.#later(() => {
      const broker = this.#brokers.get(machine);
      if (broker === undefined || !suits(machine)) {
        end('refused');
        return;
      }
      this.#connections.add(connection);
      const { random } = this.#options;
      if (this.#happens('client-gone', 0.02)) {
        this.#leave(random.next() * 3, connection, reply, end);
      } else if (patienceMs < Number.POSITIVE_INFINITY) {
        this.#leave(patienceMs + waitMs, connection, reply, end);
        if (patienceMs >= DEADLINE_MS_MAX) this.#watch(patienceMs + waitMs, connection, reply);
      }
      enter(machine, () => request(broker, reply));
    });
  }

  /** A request that is held, forwarded or parked has its answer when its deadline has passed. */
  #watch<Answer>(delayMs: number, connection: Connection, reply: SimulatedReply<Answer>): void {
    const { machine } = connection;
    const { loop, owesAnswer } = this.#options;
    const sinceMs = loop.nowMs;
    loop.schedule(delayMs, null, () => {
      if (connection.dropped || reply.sent || !owesAnswer(machine, sinceMs)) return;
      const askedMs = sinceMs.toFixed(0);
      throw new Violation('unanswered', `machine ${machine} kept a request of ${askedMs} ms`);
    });
  }

  #leave<Answer>(
    delayMs: number,
    connection: Connection,
    reply: SimulatedReply<Answer>,
    end: (answer: NoAnswer) => void,
  ): void {
    this.#options.loop.schedule(delayMs, null, () => {
      if (connection.broken || reply.sent) return;
      connection.broken = true;
      this.#options.enter(connection.machine, () => reply.leave());
      end('unknown');
    });
  }

  #later(work: () => void): void {
    const { loop, random } = this.#options;
    loop.schedule(0.02 + random.next() * LATENCY_MS_MAX, null, work);
  }

  #happens(fault: 'lost-answer' | 'client-gone', probability: number): boolean {
    const { faults, random, counts } = this.#options;
    if (!this.#faultsOn || !faults.has(fault)) return false;
    if (!random.chance(probability)) return false;
    counts[fault]++;
    return true;
  }
}

export class Caller {
  readonly #network: ClientNetwork;
  readonly #suits: Suits;
  #machine: number;

  constructor(network: ClientNetwork, machine: number, suits: Suits) {
    this.#network = network;
    this.#machine = machine;
    this.#suits = suits;
  }

  /** Where it asks now. */
  get machine(): number {
    return this.#machine;
  }

  /** From now on this one asks there. */
  moveTo(machine: number): void {
    this.#machine = machine;
  }

  /** `waitMs`: how long the request itself asks the broker to wait. */
  call<Answer>(
    request: Request<Answer>,
    done: (answer: Answer | NoAnswer) => void,
    waitMs = 0,
  ): void {
    const machine = this.#machine;
    const heard = (answer: Answer | NoAnswer) => {
      if (isTurnedAway(answer)) this.#machine = this.#network.next(machine);
      done(answer);
    };
    this.#network.call<Answer>(machine, request, waitMs, heard, this.#suits);
  }
}

const TURNED_AWAY = new Set(['no_leader', 'retry', 'timeout', 'standby']);

/** The machine is down, does not answer, does not lead, or belongs to a standby. */
export function isTurnedAway(answer: unknown): boolean {
  if (answer === 'refused' || answer === 'unknown') return true;
  if (typeof answer !== 'object' || answer === null || !('refusal' in answer)) return false;
  const { reason } = answer.refusal as { readonly reason: string };
  return TURNED_AWAY.has(reason);
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
