/**
 * A storm over forwarding: clients that ask any node of a fake group, while nodes are killed, cut
 * off, made slow, asked to hand over, and the calls between them are lost. Afterwards the history
 * is judged: every message that was answered is stored once, in order, delivered and acked once,
 * and nothing was refused before its deadline.
 */
import { FakeGroup, type FakeMachine } from '@svc/broker/testing';
import { checkLog } from '../checkers/log-checker.js';
import { checkQueue } from '../checkers/queue-checker.js';
import { SeededRandom } from '../seeded-random.js';
import { readValue } from '../simulation/client-messages.js';
import { DEADLINE_MS, GROUP, readAll, StormClients } from './storm-clients.js';

const STORM_MS = 3000;
const PRODUCERS = 4;
const CONSUMERS = 4;
const QUIET_MS = 4000;

export interface Storm {
  readonly anomalies: readonly string[];
  readonly messages: number;
  readonly unknown: number;
  readonly faults: readonly string[];
}

export function forwardingStorm(seed: number): Storm {
  const random = new SeededRandom(seed);
  const group = new FakeGroup({ founders: random.chance(0.8) ? 3 : 5, seed: seed + 1 });
  const clients = new StormClients(group, random.fork());
  const faults = new Faults(group, clients, random.fork());
  group.leader();
  for (let i = 0; i < PRODUCERS; i++) clients.produce();
  for (let i = 0; i < CONSUMERS; i++) clients.consume();
  faults.begin();
  group.run(STORM_MS);
  faults.end();
  clients.producing = false;
  // What a fault or a client left leased comes again when its lease has ended.
  group.run(QUIET_MS);
  const isEmpty = () => group.nowMs - clients.deliveredMs > QUIET_MS;
  group.until('an empty queue', isEmpty, 2 * DEADLINE_MS);
  clients.consuming = false;
  group.until('all answers', () => clients.waiting === 0, 2 * DEADLINE_MS);
  group.converge();
  const records = readAll(group, group.leader());
  const { sends, deliveries, acks } = clients;
  const log = checkLog({ sends, records, otherReads: [], readValue });
  const queue = checkQueue({ sends, records, groups: [GROUP], deliveries, acks });
  return {
    anomalies: [
      ...clients.complaints,
      ...[...log, ...queue].map(({ kind, text }) => `${kind}: ${text}`),
    ],
    messages: sends.length,
    unknown: sends.filter(({ outcome }) => outcome === 'unknown').length,
    faults: faults.done,
  };
}

class Faults {
  readonly done: string[] = [];
  readonly #group: FakeGroup;
  readonly #clients: StormClients;
  readonly #random: SeededRandom;
  #isOver = false;

  constructor(group: FakeGroup, clients: StormClients, random: SeededRandom) {
    this.#group = group;
    this.#clients = clients;
    this.#random = random;
  }

  begin(): void {
    this.#group.after(this.#random.between(20, 300), () => {
      if (this.#isOver) return;
      this.#next();
      this.begin();
    });
  }

  end(): void {
    this.#isOver = true;
    this.#group.heal();
    for (const machine of this.#group.machines.values()) if (machine.node === null) machine.start();
  }

  #next(): void {
    const random = this.#random;
    switch (random.between(0, 6)) {
      case 0:
        this.#kill(random.pick([...this.#group.machines.values()]));
        break;
      case 1:
        for (const leader of this.#group.leaders) this.#kill(leader);
        break;
      case 2:
        this.#transfer();
        break;
      case 3:
        this.#cut('cut off', (node) => (from, to) => (from === node) !== (to === node));
        break;
      case 4:
        this.#cut('deaf', (node) => (_from, to) => to === node);
        break;
      case 5:
        this.#cut(
          'behind',
          (node) => (_from, to, channel) => to === node && channel === 'consensus',
        );
        break;
      default:
        this.#loseCalls();
    }
  }

  #kill(machine: FakeMachine): void {
    const { machines } = this.#group;
    const isDown = [...machines.values()].some(({ node }) => node === null);
    if (isDown) return;
    const kind = this.#random.chance(0.5) ? 'power' : 'process';
    this.done.push(`${kind} ${machine.number}`);
    machine.crash(kind);
    this.#clients.lost(machine);
    this.#group.after(this.#random.between(30, 400), () => {
      if (machine.node === null) machine.start();
    });
  }

  #transfer(): void {
    const [leader] = this.#group.leaders;
    const target = this.#random.pick([...this.#group.machines.values()]);
    const member = target.node?.member;
    if (leader === undefined || member === undefined) return;
    this.done.push(`transfer ${leader.number} to ${target.number}`);
    leader.transfer(member);
  }

  #cut(what: string, lost: (node: number) => FakeGroup['lost']): void {
    const { number } = this.#random.pick([...this.#group.machines.values()]);
    this.done.push(`${what} ${number}`);
    this.#lose(lost(number));
  }

  #loseCalls(): void {
    this.done.push('calls are lost');
    const often = this.#random.pick([0.1, 0.3, 1]);
    const way = this.#random.pick(['calls', 'answers']);
    this.#lose((_from, _to, channel) => channel === way && this.#random.chance(often));
  }

  /** One fault of the network at a time; the next one takes its place. */
  #lose(lost: FakeGroup['lost']): void {
    this.#group.lost = lost;
    this.#group.after(this.#random.between(20, 500), () => {
      if (this.#group.lost === lost) this.#group.heal();
    });
  }
}
