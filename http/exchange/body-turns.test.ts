// Goal: of the connections that bring large bodies one is read in a turn of the loop, and only a
// body for which there is room; a turn that took long is followed by as long a rest, and nobody is
// forgotten. Method: turns, rests, the clock and the room by hand; then real sockets, whose bytes
// the budget of bodies tells of as they are read.
import { afterEach, describe, expect, test } from 'vitest';
import type { Reply, SubmittedOutcome } from '../ports/service.js';
import { PUSHED, TestFront, until } from '../testing/front.fake.js';
import { type RawClient, requestBytes } from '../testing/raw-client.fake.js';
import { BodyBudget } from './body-budget.js';
import { BodyTurns, type LargeBody } from './body-turns.js';

const MIB = 1_048_576;
const PUSH = '/api/v1/push';

interface Connection extends LargeBody {
  /** Bytes that have not been read. */
  left: number;
  isPaused: boolean;
  isOpen: boolean;
  isRefused: boolean;
  refuse(): void;
}

/** How a connection behaves where it is not as most are. */
interface Ways {
  /** Bytes that it holds in each turn of the loop. */
  readonly bytes?: number;
  /** Time that it takes to read those. */
  readonly ms?: number;
  readonly owner?: string;
  readonly isOpen?: boolean;
}

class Rig {
  nowMs = 0;
  readonly rests: number[] = [];
  readonly budget: BodyBudget;
  readonly turns: BodyTurns;
  readonly #connections: { name: string; one: Connection; bytes: number; ms: number }[] = [];
  #later: (() => void)[] = [];
  #timers: (() => void)[] = [];

  constructor(budgetBytes = 1024 * MIB) {
    this.budget = new BodyBudget(budgetBytes, budgetBytes);
    this.turns = new BodyTurns(
      this.budget,
      () => this.nowMs,
      (run) => this.#later.push(run),
      (ms, run) => {
        this.rests.push(ms);
        this.#timers.push(() => {
          this.nowMs += ms;
          run();
        });
      },
    );
  }

  connect(name: string, left: number, ways: Ways = {}): Connection {
    const { bytes = MIB, ms = 1, owner = name, isOpen = true } = ways;
    const one: Connection = {
      left,
      holder: { owner, bodyBytes: 0, upperBytes: 0, upperOwner: '' },
      share: 'growing',
      get missingBytes() {
        return one.left;
      },
      isPaused: false,
      isOpen,
      isRefused: false,
      goOn: () => {
        one.isPaused = false;
      },
      refuse: () => {
        one.isRefused = true;
        this.turns.leave(one);
        this.answer(one);
      },
    };
    this.#connections.push({ name, one, bytes, ms });
    return one;
  }

  answer(one: Connection): void {
    one.isOpen = false;
    this.budget.release('growing', one.holder);
    this.turns.look();
  }

  /** A turn of the loop; who was read in it. */
  turn(): string {
    let names = '';
    for (const { name, one, bytes, ms } of this.#connections) {
      if (one.isPaused || one.left === 0 || bytes === 0 || one.isRefused) continue;
      names += name;
      const count = Math.min(bytes, one.left);
      if (!this.turns.leavesRoom(one, count)) {
        one.refuse();
        continue;
      }
      const isPromised = this.turns.has(one);
      const isTaken = this.budget.reserve('growing', one.holder, count, isPromised);
      if (!isTaken) throw new Error('no room');
      one.left -= count;
      if (one.left === 0) this.turns.leave(one);
      else one.isPaused = !this.turns.read(one, count);
      this.nowMs += ms;
    }
    for (const run of [...this.#later.splice(0), ...this.#timers.splice(0)]) run();
    return names;
  }

  turnsOf(count: number): string[] {
    return Array.from({ length: count }, () => this.turn()).filter((names) => names !== '');
  }
}

describe('turns', () => {
  test('one is read in a turn of the loop, each until its body is complete', () => {
    const rig = new Rig();
    for (const name of ['a', 'b', 'c']) rig.connect(name, 5 * MIB, { bytes: 2 * MIB });
    // The first bytes of all of them come before anybody knows how many follow.
    expect(rig.turnsOf(40)).toEqual(['abc', 'a', 'a', 'b', 'b', 'c', 'c']);
    expect(rig.rests).toEqual([]);
  });

  test('a lone one rests behind each long look, and is never in line', () => {
    const rig = new Rig();
    const lone = rig.connect('a', 5 * MIB, { bytes: MIB, ms: 20 });
    expect(rig.turn()).toBe('a');
    expect([lone.isPaused, rig.turns.waiting]).toEqual([true, 0]);
    expect(rig.turnsOf(40)).toEqual(['a', 'a', 'a', 'a']);
    expect(rig.rests).toEqual([20, 20, 20, 20]);
  });

  test('one that is filled again and again has the turn until it is complete', () => {
    const rig = new Rig();
    for (const name of ['a', 'b']) rig.connect(name, 2 * MIB, { bytes: MIB / 4 });
    rig.connect('c', 12 * MIB, { bytes: MIB / 2 });
    rig.connect('d', MIB, { bytes: MIB / 4 });
    const order = rig.turnsOf(200).join('');
    expect(order).toBe(`abcd${'a'.repeat(7)}${'b'.repeat(7)}${'c'.repeat(23)}ddd`);
  });

  test('one that is never done has the turn for a second', () => {
    const rig = new Rig();
    rig.connect('a', 200 * MIB, { bytes: 65_536 });
    rig.connect('b', 2 * MIB);
    // A millisecond for each look.
    const order = rig.turnsOf(1100).join('');
    expect(order.indexOf('b', 2)).toBeGreaterThan(990);
    expect(order.indexOf('b', 2)).toBeLessThan(1010);
  });

  test('one that brings little loses the turn, unpaused, and waits when it brings more', () => {
    const rig = new Rig();
    const slow = rig.connect('a', 3 * MIB);
    for (const name of ['b', 'c']) rig.connect(name, 3 * MIB);
    rig.turn();
    const held = slow.left;
    slow.left = 0;
    expect(rig.turnsOf(20)).toEqual(['b', 'b', 'c', 'c']);
    expect(slow.isPaused).toBe(false);
    slow.left = held;
    expect(rig.turnsOf(20)).toEqual(['a', 'a']);
  });

  test('trickles hold nobody up', () => {
    const rig = new Rig();
    for (const name of ['a', 'b', 'c', 'd']) rig.connect(name, 64 * MIB, { bytes: 1000 });
    const fast = rig.connect('z', 4 * MIB);
    rig.turnsOf(40);
    expect(fast.left).toBe(0);
  });

  test('behind a long turn of the loop nobody is read for as long, with an end', () => {
    const rig = new Rig();
    rig.connect('a', 3 * MIB, { ms: 20 });
    rig.connect('b', 3 * MIB, { ms: 900 });
    const order: string[] = [];
    for (let turns = 0; turns < 40; turns++) {
      const rests = rig.rests.length;
      const names = rig.turn();
      if (names !== '') order.push(names);
      if (rig.rests.length > rests) order.push(`${rig.rests.at(-1)} ms`);
    }
    expect(order.join(' ')).toBe('ab 50 ms a 20 ms a b 50 ms b');
  });

  test('who does not wait any more takes nobody else his turn', () => {
    const rig = new Rig();
    rig.connect('y', 4 * MIB);
    for (let left = 0; left < 3; left++) rig.connect('x', 4 * MIB, { isOpen: false });
    rig.connect('a', 2 * MIB);
    rig.turn();
    expect(rig.turnsOf(20)).toEqual(['y', 'y', 'y', 'a']);
  });

  test('another address has the next turn, however many one has in the line', () => {
    const rig = new Rig();
    for (let index = 0; index < 5; index++) rig.connect('a', 2 * MIB);
    rig.connect('b', 2 * MIB);
    expect(rig.turnsOf(40)).toEqual(['aaaaab', 'a', 'b', 'a', 'a', 'a', 'a']);
  });
});

describe('room', () => {
  test('a turn waits until there is room for all of the body', () => {
    const rig = new Rig(16 * MIB);
    const first = rig.connect('a', 8 * MIB);
    const second = rig.connect('b', 8 * MIB);
    rig.turnsOf(40);
    expect([first.left, second.left, second.isPaused]).toEqual([0, 7 * MIB, true]);
    rig.answer(first);
    rig.turnsOf(40);
    expect([second.left, second.isRefused]).toEqual([0, false]);
  });

  test('one that fits passes one that does not', () => {
    const rig = new Rig(16 * MIB);
    const first = rig.connect('a', 6 * MIB);
    const large = rig.connect('b', 10 * MIB);
    const small = rig.connect('c', 3 * MIB);
    rig.turnsOf(40);
    expect([first.left, large.left, small.left]).toEqual([0, 9 * MIB, 0]);
  });

  test('what comes before a turn is kept where it leaves the turn its room', () => {
    const rig = new Rig(16 * MIB);
    const bodies = ['a', 'b', 'c'].map((name) => rig.connect(name, 8 * MIB, { bytes: 3 * MIB }));
    rig.turnsOf(40);
    expect(bodies.map(({ isRefused }) => isRefused)).toEqual([false, false, true]);
    expect(bodies.map(({ left }) => left / MIB)).toEqual([0, 5, 8]);
  });

  test('of what comes while nobody has the turn only what can be completed is kept', () => {
    const rig = new Rig(16 * MIB);
    const first = rig.connect('a', 8 * MIB, { bytes: 2 * MIB, ms: 1001 });
    const second = rig.connect('b', 8 * MIB);
    rig.turnsOf(2);
    // The first one loses its turn in the next turn of the loop, and then these come.
    const late = ['c', 'd'].map((name) => rig.connect(name, 8 * MIB, { bytes: 3 * MIB }));
    const bodies = [first, second, ...late];
    for (let turns = 0; turns < 100; turns++) {
      rig.turn();
      for (const one of bodies) if (one.left === 0 && one.isOpen) rig.answer(one);
    }
    expect(bodies.map(({ left, isRefused }) => [left / MIB, isRefused])).toEqual([
      [0, false],
      [0, false],
      [8, true],
      [8, true],
    ]);
  });

  test('bodies that are read in part do not wait for each other', () => {
    const rig = new Rig(16 * MIB);
    const ways = { bytes: MIB / 4, ms: 100 };
    const bodies = ['a', 'b', 'c'].map((name) => rig.connect(name, 8 * MIB, ways));
    for (let turns = 0; turns < 400; turns++) {
      rig.turn();
      for (const one of bodies) if (one.left === 0 && one.isOpen) rig.answer(one);
    }
    expect(bodies.map(({ left, isRefused }) => [left, isRefused])).toEqual(
      new Array(3).fill([0, false]),
    );
  });
});

describe('real connections', () => {
  let front: TestFront;

  afterEach(() => front.stop());

  /** Number of bodies that come to hold 2 MiB, in each turn of the loop that has some. */
  function watchGrowth(): number[] {
    const { budget } = front.rim;
    const reserve = budget.reserve.bind(budget);
    const turns: number[] = [];
    let isOver = true;
    budget.reserve = (share, body, bytes, isPromised) => {
      if (body.bodyBytes < 2 * MIB && body.bodyBytes + bytes >= 2 * MIB) {
        if (isOver) {
          turns.push(0);
          isOver = false;
          setImmediate(() => {
            isOver = true;
          });
        }
        turns.push((turns.pop() ?? 0) + 1);
      }
      return reserve(share, body, bytes, isPromised);
    };
    return turns;
  }

  function pushOf(bytes: number): Buffer {
    const body = `{"items":[{"queue":"q","payload":"${'x'.repeat(bytes)}"}]}`;
    return requestBytes(PUSH, { body });
  }

  /** The service keeps what comes until a test answers it. */
  function holdAnswers(): Reply<SubmittedOutcome>[] {
    const held: Reply<SubmittedOutcome>[] = [];
    front.service.onSubmit = (_, reply) => held.push(reply);
    return held;
  }

  const waiting = () => front.rim.bodies.waiting;

  test('bodies of 8 MiB grow in turns of their own, and all arrive', async () => {
    front = await TestFront.startPushed();
    const growing = watchGrowth();
    const request = pushOf(8 * MIB);
    const clients = Array.from({ length: 10 }, () => front.client());
    for (const client of clients) client.send(request);
    for (const client of clients) expect((await client.answer()).status).toBe(201);
    expect(growing).toEqual(new Array(10).fill(1));
    for (const command of front.service.submitted) {
      if (command.kind !== 'push') throw new Error('a push was expected');
      expect(command.body.length).toBeGreaterThan(8 * MIB);
    }
    // The connections are read on behind the bodies.
    for (const client of clients) client.send(request.subarray(0, 100));
    for (const client of clients) client.send(request.subarray(100));
    for (const client of clients) expect((await client.answer()).status).toBe(201);
  });

  test('all are taken one after the other where one has room', async () => {
    front = await TestFront.startPushed({ bodyBytesInFlightMax: 12 * MIB });
    const request = pushOf(6 * MIB);
    const clients = Array.from({ length: 10 }, () => front.client());
    for (const client of clients) client.send(request);
    for (const client of clients) expect((await client.answer()).status).toBe(201);
  });

  test('one that waits for room is not read, and is refused in the end', async () => {
    front = await TestFront.start({ bodyBytesInFlightMax: 16 * MIB });
    const held = holdAnswers();
    front.client().send(pushOf(8 * MIB));
    await until(() => held.length === 1);
    const client = front.client();
    client.send(pushOf(10 * MIB));
    await until(() => waiting() === 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { budget } = front.rim;
    expect(budget.used('growing')).toBeLessThan(12 * MIB);
    front.service.nowMs += 10_000;
    const refused = await client.answer();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(refused.headers.get('connection')).toBe('close');
    expect(waiting()).toBe(0);
    held[0]?.send(PUSHED);
    expect(held).toHaveLength(1);
  });

  test('what comes with a head takes no room from the one that has the turn', async () => {
    front = await TestFront.startPushed({ bodyBytesInFlightMax: 8 * MIB });
    const request = pushOf(9 * MIB);
    const [first, second, small] = [front.client(), front.client(), front.client()];
    first.send(request.subarray(0, 1.5 * MIB));
    await until(() => front.rim.budget.used('growing') >= 1.5 * MIB);
    second.send(pushOf(2 * MIB).subarray(0, MIB / 4));
    // A head that tells much and brings little costs nobody anything, and waits.
    small.send(pushOf(2 * MIB).subarray(0, 1000));
    expect((await second.answer()).status).toBe(503);
    first.send(request.subarray(1.5 * MIB));
    expect((await first.answer()).status).toBe(201);
    expect(front.server.inFlight()).toBe(1);
  });

  test('one that waits is read when what takes its room is answered', async () => {
    front = await TestFront.start({ bodyBytesInFlightMax: 16 * MIB });
    const held = holdAnswers();
    front.client().send(pushOf(8 * MIB));
    await until(() => held.length === 1);
    const client = front.client();
    client.send(pushOf(10 * MIB));
    await until(() => waiting() === 1);
    held[0]?.send(PUSHED);
    await until(() => held.length === 2);
    held[1]?.send(PUSHED);
    expect((await client.answer()).status).toBe(201);
  });

  test('a body of unknown length needs the room of the longest', async () => {
    front = await TestFront.start({ bodyBytesInFlightMax: 16 * MIB, bodyBytesMax: 8 * MIB });
    const held = holdAnswers();
    front.client().send(pushOf(6 * MIB));
    await until(() => held.length === 1);
    const client = front.client();
    startChunked(client);
    client.send(chunk(' '.repeat(2 * MIB)));
    await until(() => waiting() === 1);
    client.send(`${chunk(SMALL_BODY)}0\r\n\r\n`);
    held[0]?.send(PUSHED);
    await until(() => held.length === 2);
    held[1]?.send(PUSHED);
    expect((await client.answer()).status).toBe(201);
  });

  test('a buffer is made for the length that was told once 2 MiB of it came', async () => {
    front = await TestFront.startPushed();
    const made: number[] = [];
    const allocate = Buffer.allocUnsafeSlow;
    Buffer.allocUnsafeSlow = (bytes) => {
      made.push(bytes);
      return allocate(bytes);
    };
    try {
      const request = pushOf(20 * MIB);
      const client = front.client();
      client.send(request);
      expect((await client.answer()).status).toBe(201);
      expect(made.at(-1)).toBeGreaterThan(20 * MIB);
      expect(made.at(-2)).toBeLessThan(4 * MIB);
    } finally {
      Buffer.allocUnsafeSlow = allocate;
    }
  });
});

const SMALL_BODY = '{"items":[{"queue":"q","payload":1}]}';

function startChunked(client: RawClient): void {
  client.send(`POST ${PUSH} HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n`);
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}
