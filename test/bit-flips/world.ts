/**
 * Machines started from images, the network between them, and one client that asks and waits: a
 * request runs the simulated time until it is answered, so that what a test does reads in order.
 */
import type { Broker } from '@svc/broker';
import type { Reply } from '@svc/http';
import { SeededRandom } from '../seeded-random.js';
import { ClientNetwork, isTurnedAway, type NoAnswer } from '../simulation/client-network.js';
import { noFaults } from '../simulation/faults.js';
import { Judge } from '../simulation/judge.js';
import { DIRECTORY, peerList } from '../simulation/machine-settings.js';
import { PeerNetwork } from '../simulation/peer-network.js';
import { SimulatedLoop } from '../simulation/simulated-loop.js';
import { type MachineImage, restore } from './image.js';
import { Machine } from './machine.js';

export interface Setting {
  /** 1: alone, without peers. */
  readonly machines: number;
  /** Entries that are kept although nothing refers to them. */
  readonly logKeep: number;
}

/** 2025-06-01, so that stamps look like stamps. */
export const START_US = 1_748_736_000_000_000;
const PATIENCE_MS = 3000;
const AGAIN_MS = 20;
const TRIES_MAX = 1000;
/** A run has about a hundred thousand. */
const STEPS_MAX = 3_000_000;
export const SEGMENT_BYTES = 4096;

export type Request<Answer> = (broker: Broker, reply: Reply<Answer>) => void;

export class World {
  readonly loop: SimulatedLoop;
  readonly judge = new Judge();
  readonly machines: readonly Machine[];
  readonly #peers: PeerNetwork | null;
  readonly #clients: ClientNetwork;
  readonly #setting: Setting;
  #steps = 0;

  /** Without images all is founded anew. */
  constructor(
    setting: Setting,
    seed: number,
    startUs: number,
    images: readonly MachineImage[] | null,
  ) {
    const { machines } = setting;
    const random = new SeededRandom(seed);
    const [faults, counts] = [new Set<never>(), noFaults()];
    const enter = (number: number, work: () => void) => this.machine(number).enter(work);
    this.#setting = setting;
    this.loop = new SimulatedLoop(startUs);
    const { loop } = this;
    this.#peers =
      machines === 1
        ? null
        : new PeerNetwork({
            loop,
            random: random.fork(),
            machines,
            faults,
            counts,
            enter,
            onCorrupt: (_machine, deliver) => deliver(),
            onSend: null,
          });
    this.#clients = new ClientNetwork({
      loop,
      random: random.fork(),
      machines,
      faults,
      counts,
      patienceMs: PATIENCE_MS,
      owesAnswer: () => false,
      enter,
    });
    this.machines = Array.from({ length: machines }, (_, at) => {
      const number = at + 1;
      const image = images?.[at] ?? { number, files: new Map(), stores: new Map() };
      return this.#newMachine(number, image, random.fork());
    });
  }

  #newMachine(number: number, image: MachineImage, random: SeededRandom): Machine {
    return new Machine(
      {
        number,
        environment: environmentOf(this.#setting, number),
        loop: this.loop,
        random,
        connect: () => this.#peers?.open(number) ?? null,
        onBegan: (machine) => {
          if (machine.node !== null) this.#clients.up(number, machine.node.broker);
        },
        onEnded: () => {
          this.judge.end(number);
          this.#peers?.close(number);
          this.#clients.down(number);
        },
        onObserved: (machine) => {
          const view = machine.view();
          if (view !== null) this.judge.observe(number, view);
        },
      },
      (defer) => restore(image, random.between(0, 2 ** 31), defer),
    );
  }

  machine(number: number): Machine {
    const machine = this.machines[number - 1];
    if (machine === undefined) throw new RangeError(`there is no machine ${number}`);
    return machine;
  }

  get wallUs(): number {
    return this.loop.startUs + Math.ceil(this.loop.nowMs * 1000);
  }

  /** The machine that leads in the newest term; null when none does. */
  get leader(): Machine | null {
    let newest: Machine | null = null;
    for (const machine of this.machines) {
      const { status } = machine;
      if (status?.leading === true && status.term > (newest?.status?.term ?? 0)) newest = machine;
    }
    return newest;
  }

  #step(): void {
    if (this.#steps++ > STEPS_MAX) throw new Error(`no end; ${this.picture()}`);
    if (!this.loop.step()) throw new Error('nothing is going to happen any more');
  }

  run(durationMs: number): void {
    let passed = false;
    this.loop.schedule(durationMs, null, () => {
      passed = true;
    });
    while (!passed) this.#step();
  }

  /** False when that does not come true in time. */
  until(isTrue: () => boolean, withinMs: number): boolean {
    const untilMs = this.loop.nowMs + withinMs;
    while (!isTrue()) {
      if (this.loop.nowMs > untilMs) return false;
      this.run(1);
    }
    return true;
  }

  /** One try at one machine. */
  ask<Answer>(machine: number, request: Request<Answer>): Answer | NoAnswer {
    let given: { readonly answer: Answer | NoAnswer } | null = null;
    this.#clients.call<Answer>(machine, request, 0, (answer) => {
      given = { answer };
    });
    while (given === null) this.#step();
    return (given as { readonly answer: Answer | NoAnswer }).answer;
  }

  /** Sends a request and ignores its answer. */
  tell<Answer>(machine: number, request: Request<Answer>): void {
    this.#clients.call<Answer>(machine, request, 0, () => {});
  }

  /** Until a leader answers; the request has to be one that may be repeated. */
  askLeader<Answer>(request: Request<Answer>): Answer {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { leader } = this;
      const answer = leader === null ? 'refused' : this.ask(leader.number, request);
      if (!isTurnedAway(answer)) return answer as Answer;
      this.run(AGAIN_MS);
    }
    throw new Error(`no leader answers; ${this.picture()}`);
  }

  picture(): string {
    return this.machines
      .map(({ number, running, status, serving, ends, node }) => {
        const raft =
          status === null
            ? 'without consensus'
            : `${status.role} term ${status.term} commit ${status.commit} ` +
              `applied ${status.applied} log ${status.firstIndex}-${status.lastIndex}` +
              `${status.recovering ? ' recovering' : ''}`;
        const words = [running ? raft : 'down', serving ? 'serving' : 'not serving'];
        if (node?.repairing === true) words.push('repairing');
        return `machine ${number}: ${[...words, ...ends].join(', ')}`;
      })
      .join('; ');
  }
}

function environmentOf({ machines, logKeep }: Setting, number: number): Record<string, string> {
  const environment: Record<string, string> = {
    SVC_RAFT_DIR: DIRECTORY,
    SVC_SERVER_ID: 'simulated',
    SVC_RAFT_SEGMENT_BYTES: `${SEGMENT_BYTES}`,
    SVC_RAFT_DURABLE_EVERY_MS: '300',
    SVC_RAFT_PURGE_HOLD_S: '1',
    SVC_RAFT_LOG_KEEP: `${logKeep}`,
    SVC_STORE_SCRUB_EVERY_S: '1',
    SVC_STMT_TIMEOUT_MS: '2000',
  };
  if (machines === 1) return environment;
  return {
    ...environment,
    SVC_RAFT_REPLICATOR: 'raft',
    SVC_RAFT_NODE_ID: `${number}`,
    SVC_RAFT_PEERS: peerList(Array.from({ length: machines }, (_, i) => i + 1)),
    SVC_RAFT_HEARTBEAT_MS: '100',
    SVC_RAFT_ELECTION_MS: '400',
  };
}
