// Goal: whatever the order of turns and wake-ups, however full the rings, and wherever a thread
// dies, each request of a thread is answered once at most and applied once at most, a claim is its
// client's or is given back, and nothing is held once all have ended. Method: both sides of the
// real channel on two loops that a seed moves turn by turn; a broker, a front of the core and
// clients that know what each request must be answered. `SVC_TEST_SEED` replays a seed alone.
import type { AckCommand, PopCommand, PushCommand } from '@svc/engine';
import { AnswerBudget, type Exchange, type Reply, type SubmittedOutcome } from '@svc/http';
import { DEFAULT_TENANT, newMeters } from '@svc/wire';
import { expect, test } from 'vitest';
import type { SeededRandom } from '../testing/recovery.fake.js';
import {
  type BothReply,
  Broker,
  bytesOf,
  Client,
  CoreFront,
  LARGEST,
  Model,
  type PopReply,
  uuidOf,
} from '../testing/thread-storm.fake.js';
import { Channel } from './channel.js';
import { RemoteService } from './remote-service.js';
import { ringMemory } from './ring.js';
import { ThreadServer } from './thread-server.js';

const SEEDS = 150;
const STEPS = 400;
/** The work that is left after the steps takes no more than so many turns. */
const LAST_STEPS = 200_000;
const BUDGET_BYTES = 256 * 1024;
const TENANT = DEFAULT_TENANT;

/** A loop: what runs in its turns, and the wake-ups on their way to it. */
class Loop {
  readonly turns: (() => void)[] = [];
  readonly messages: (() => void)[] = [];
  isDead = false;

  readonly soon = (work: () => void): void => void this.turns.push(work);

  get isIdle(): boolean {
    return this.isDead || this.turns.length + this.messages.length === 0;
  }

  step(random: SeededRandom): void {
    if (this.isDead) return;
    const from = random.chance(0.5) ? [this.turns, this.messages] : [this.messages, this.turns];
    (from[0]?.shift() ?? from[1]?.shift())?.();
  }
}

function unasked(): never {
  throw new Error('no gate is asked');
}

/** One life of a front thread, and of the core's end of it. */
class Life {
  readonly loop = new Loop();
  readonly clients: Client[] = [];
  readonly server: ThreadServer;
  readonly coreEnd: Channel;
  readonly threadEnd: Channel;
  readonly #model: Model;
  readonly #largest: number;
  readonly #service: RemoteService;
  /** A millisecond passes from one look at the clock to the next. */
  #looks = 0;

  constructor(world: World) {
    const { model, core, broker, front, answers, largest, ringBytes } = world;
    const [toCore, toThread] = [ringMemory(ringBytes), ringMemory(ringBytes)];
    this.#model = model;
    this.#largest = largest;
    const { loop } = this;
    this.coreEnd = new Channel({
      outward: toThread,
      inward: toCore,
      wake: () => loop.messages.push(() => this.threadEnd.woken()),
      soon: core.soon,
      nowMs: () => this.#looks++,
      onFrame: (kind, id, content) => this.server.received(kind, id, content),
    });
    this.server = new ThreadServer({
      service: () => broker,
      send: (kind, id, parts) => this.coreEnd.send(kind, id, parts),
      nowMs: () => 5000,
      front: {
        rim: { answers },
        gate: { judge: unasked, timerHorizonSeconds: unasked },
        call: (request, client) => front.call(request, client),
      },
      gateway: () => null,
      meters: newMeters(),
    });
    this.threadEnd = new Channel({
      outward: toCore,
      inward: toThread,
      wake: () => core.messages.push(() => this.coreEnd.woken()),
      soon: loop.soon,
      nowMs: () => this.#looks++,
      onFrame: (kind, id, content) => this.#service.received(kind, id, content),
    });
    this.#service = new RemoteService(
      this.threadEnd,
      () => 1000,
      () => {},
    );
    this.coreEnd.open();
    this.threadEnd.open();
  }

  /** Requests that either end knows, and frames that wait. */
  get held(): number {
    const waits = Number(!this.coreEnd.idle) + Number(!this.threadEnd.idle);
    return this.server.open + this.#service.open + waits;
  }

  ask(): void {
    const { random } = this.#model;
    const request = this.#model.next();
    const client = new Client(request, this.#model);
    this.clients.push(client);
    const body = bytesOf(request, this.#model.size(this.#largest));
    const pop: PopCommand = { ...POP, consumerGroup: `${request}` };
    const acks: AckCommand = { ...ACKS, items: [{ ...ACK, transactionId: `${request}` }] };
    const kind = random.between(0, 3);
    if (kind === 0) {
      const push = { ...PUSH, body, transactionIds: [`${request}`] };
      this.#service.submit(push, client as unknown as Reply<SubmittedOutcome>);
    } else if (kind === 1) this.#service.pop(pop, client as unknown as PopReply);
    else if (kind === 2) this.#service.ackAndPop(acks, pop, client as unknown as BothReply);
    else {
      const passed = { method: 'POST', target: `/${request}`, headers: [], body };
      this.#service.pass(passed, client as unknown as Exchange);
    }
  }

  /** The thread does nothing any more; the core has not heard of it. */
  die(): void {
    this.loop.isDead = true;
  }

  /** The core hears. */
  leave(): void {
    this.coreEnd.close();
    this.server.close();
  }
}

const PUSH: PushCommand = {
  kind: 'push',
  tenant: TENANT,
  producerSub: null,
  body: Buffer.alloc(0),
  groups: [{ queue: 'q', partition: 'p' }],
  itemGroup: [0],
  transactionIds: [],
  payloadStart: [0],
  payloadEnd: [0],
};
const POP: PopCommand = {
  kind: 'pop',
  tenant: TENANT,
  scope: { kind: 'queue', queue: 'q' },
  consumerGroup: '',
  batch: 1,
  partitions: 1,
  autoAck: false,
  wait: true,
  deadlineMs: 31_000,
  leaseSeconds: 30,
  subscription: { mode: 'all' },
  conflation: null,
  autopilot: null,
};
const ACK = { partitionId: '7', leaseId: uuidOf(1), status: 'completed', error: null } as const;
const ACKS: AckCommand = { kind: 'ack', tenant: TENANT, consumerGroup: 'g', items: [] };

class World {
  readonly model: Model;
  readonly core = new Loop();
  readonly broker: Broker;
  readonly front: CoreFront;
  readonly answers: AnswerBudget;
  readonly largest: number;
  readonly ringBytes: number;
  life: Life;
  /** Lives that are over; the core has heard of all of them but, for a while, the last one. */
  readonly past: Life[] = [];
  #unheard: Life | null = null;
  #sweeps = 0;

  constructor(seed: number) {
    this.model = new Model(seed);
    const { random } = this.model;
    // Rarely a ring as of a node, and a frame that takes several turns through it.
    [this.ringBytes, this.largest] = random.chance(0.03)
      ? [1024 * 1024, LARGEST / 2]
      : [2 ** random.between(8, 13), 40_000];
    this.broker = new Broker(this.model, this.largest);
    this.front = new CoreFront(this.model, this.largest);
    this.answers = new AnswerBudget(BUDGET_BYTES, this.core.soon);
    this.life = new Life(this);
  }

  step(): void {
    const { random } = this.model;
    const { loop, clients } = this.life;
    const act = random.between(0, 19);
    const client = clients[random.between(0, clients.length - 1)];
    if (act <= 1) this.life.ask();
    else if (act === 2) client?.take();
    else if (act === 3 && random.chance(0.3)) client?.leave();
    else if (act <= 5) this.broker.step();
    else if (act <= 7) this.front.step();
    else if (act === 8 && random.chance(0.02)) this.answers.sweep(this.#sweeps++);
    else if (act === 9 && random.chance(0.05)) this.#dies();
    else if (act <= 13) this.core.step(random);
    else loop.step(random);
  }

  #dies(): void {
    this.#unheard?.leave();
    this.#unheard = this.life;
    this.past.push(this.life);
    this.life.die();
    this.life = new Life(this);
  }

  /** No client asks any more, none leaves, and all are answered. */
  runOut(): void {
    const { random } = this.model;
    this.#unheard?.leave();
    while (!this.core.isIdle || !this.life.loop.isIdle) {
      this.core.step(random);
      this.life.loop.step(random);
    }
    this.#judgeAbandoned();
    for (let step = 0; step < LAST_STEPS && !this.#isOver; step++) {
      this.core.step(random);
      this.life.loop.step(random);
      this.broker.step();
      this.front.step();
      for (const client of this.life.clients) client.take();
      if (step % 1000 === 999) this.answers.sweep(10_000);
    }
  }

  /** The core has heard of all who have gone: nobody works for them. */
  #judgeAbandoned(): void {
    const staying = new Set<number>();
    for (const { request, gone } of this.life.clients) if (!gone) staying.add(request);
    const working = [...this.broker.pending, ...this.front.open].filter(({ stops }) => stops);
    expect(working.filter(({ request }) => !staying.has(request))).toEqual([]);
  }

  get #isOver(): boolean {
    const isQuiet = this.core.isIdle && this.life.loop.isIdle;
    const isAnswered = this.broker.pending.size + this.front.open.size === 0;
    return isQuiet && isAnswered && this.life.clients.every(({ hasEnded }) => hasEnded);
  }

  judge(): void {
    expect(this.life.clients.filter(({ hasEnded }) => !hasEnded)).toEqual([]);
    expect(this.life.held).toBe(0);
    for (const { server } of this.past) expect(server.open).toBe(0);
    expect([this.broker.pending.size, this.front.open.size]).toEqual([0, 0]);
    expect([this.answers.used('pop'), this.answers.waiting('pop')]).toEqual([0, 0]);
    // A message on its way to a thread that died keeps its lease until that ends.
    const { claims } = this.model;
    const lost = this.life.clients.filter(({ request }) => claims.get(request) === 'on its way');
    expect(lost).toEqual([]);
  }
}

function storm(seed: number): void {
  try {
    const world = new World(seed);
    for (let step = 0; step < STEPS; step++) world.step();
    world.runOut();
    world.judge();
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
  }
}

test('a storm of requests, wake-ups and deaths leaves every request with one end', () => {
  const only = process.env.SVC_TEST_SEED;
  if (only !== undefined) storm(Number(only));
  else for (let seed = 1; seed <= SEEDS; seed++) storm(seed);
});
