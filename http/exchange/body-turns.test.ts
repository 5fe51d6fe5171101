// Goal: of the connections that bring large bodies one is read in a turn of the loop, a turn that
// took long is followed by as long a rest, and nobody is forgotten. Method: turns, rests and the
// clock by hand; then real sockets, whose bytes the budget of bodies tells of as they are read.
import { expect, test } from 'vitest';
import { TestFront } from '../testing/front.fake.js';
import { requestBytes } from '../testing/raw-client.fake.js';
import { BodyTurns } from './body-turns.js';
import type { Rim } from './exchange.js';

const MIB = 1_048_576;

interface Connection {
  left: number;
  isPaused: boolean;
  /** False: its client has gone. */
  readonly isOpen: boolean;
  goOn(): boolean;
}

class Rig {
  nowMs = 0;
  readonly rests: number[] = [];
  readonly #connections: { name: string; one: Connection; bytes: number; ms: number }[] = [];
  #later: (() => void)[] = [];
  readonly turns = new BodyTurns(
    () => this.nowMs,
    (run) => this.#later.push(run),
    (ms, run) => {
      this.rests.push(ms);
      this.#later.push(() => {
        this.nowMs += ms;
        run();
      });
    },
  );

  /** One that holds `bytes` in each turn of the loop, which take `ms` to read. */
  connect(name: string, left: number, bytes: number, ms: number, isOpen = true): Connection {
    const one: Connection = {
      left,
      isPaused: false,
      isOpen,
      goOn: () => {
        one.isPaused = !isOpen;
        return isOpen;
      },
    };
    this.#connections.push({ name, one, bytes, ms });
    return one;
  }

  /** A turn of the loop; who was read in it. */
  turn(): string {
    let names = '';
    for (const { name, one, bytes, ms } of this.#connections) {
      if (one.isPaused || one.left === 0 || bytes === 0) continue;
      names += name;
      const count = Math.min(bytes, one.left);
      one.left -= count;
      if (one.left === 0) this.turns.leave(one);
      else one.isPaused = !this.turns.read(one, count);
      this.nowMs += ms;
    }
    for (const run of this.#later.splice(0)) run();
    return names;
  }

  turnsOf(count: number): string[] {
    return Array.from({ length: count }, () => this.turn()).filter((names) => names !== '');
  }
}

test('full connections are read one in a turn of the loop, each until its body is complete', () => {
  const rig = new Rig();
  for (const name of ['a', 'b', 'c']) rig.connect(name, 5 * MIB, 2 * MIB, 1);
  // The first bytes of all of them come before anybody knows how many follow.
  expect(rig.turnsOf(40)).toEqual(['abc', 'a', 'a', 'b', 'b', 'c', 'c']);
  expect(rig.rests).toEqual([]);
});

test('one that is filled again and again has the turn until it is complete', () => {
  const rig = new Rig();
  for (const name of ['a', 'b']) rig.connect(name, 2 * MIB, MIB / 4, 1);
  rig.connect('c', 12 * MIB, MIB / 2, 1);
  rig.connect('d', MIB, MIB / 4, 1);
  const order = rig.turnsOf(200).join('');
  expect(order).toBe(`abcd${'a'.repeat(7)}${'b'.repeat(7)}${'c'.repeat(23)}ddd`);
});

test('one that brings little in each turn of the loop has the turn for a second', () => {
  const rig = new Rig();
  rig.connect('a', 4 * MIB, 1000, 1);
  rig.connect('b', 2 * MIB, MIB, 1);
  // A millisecond for each look.
  const order = rig.turnsOf(1100).join('');
  expect(order.indexOf('b', 2)).toBeGreaterThan(990);
  expect(order.indexOf('b', 2)).toBeLessThan(1010);
});

test('one that brings nothing loses the turn, and waits again when it does', () => {
  const rig = new Rig();
  const slow = rig.connect('a', 3 * MIB, MIB, 1);
  for (const name of ['b', 'c']) rig.connect(name, 3 * MIB, MIB, 1);
  rig.turn();
  const held = slow.left;
  slow.left = 0;
  expect(rig.turnsOf(20)).toEqual(['b', 'b', 'c', 'c']);
  expect(slow.isPaused).toBe(false);
  slow.left = held;
  expect(rig.turnsOf(20)).toEqual(['a', 'a']);
});

test('behind a long turn of the loop nobody is read for as long, with an end', () => {
  const rig = new Rig();
  rig.connect('a', 3 * MIB, MIB, 20);
  rig.connect('b', 3 * MIB, MIB, 900);
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
  for (let left = 0; left < 3; left++) rig.connect('x', 4 * MIB, MIB, 1, false);
  rig.connect('a', 2 * MIB, MIB, 1);
  rig.turn();
  expect(rig.turnsOf(4)).toEqual(['a']);
});

/** Number of bodies that come to hold 2 MiB, in each turn of the loop that has some. */
function watchGrowth(front: TestFront): number[] {
  const { budget } = front.server as unknown as Rim;
  const reserve = budget.reserve.bind(budget);
  const turns: number[] = [];
  let isOver = true;
  budget.reserve = (share, heldBytes, bytes) => {
    if (heldBytes < 2 * MIB && heldBytes + bytes >= 2 * MIB) {
      if (isOver) {
        turns.push(0);
        isOver = false;
        setImmediate(() => {
          isOver = true;
        });
      }
      turns.push((turns.pop() ?? 0) + 1);
    }
    return reserve(share, heldBytes, bytes);
  };
  return turns;
}

test('real connections: bodies of 8 MiB grow in turns of their own, and all arrive', async () => {
  const front = await TestFront.startPushed();
  try {
    const growing = watchGrowth(front);
    const payload = 'x'.repeat(8 * MIB);
    const body = `{"items":[{"queue":"q","payload":"${payload}"}]}`;
    const request = requestBytes('/api/v1/push', { body });
    const clients = Array.from({ length: 10 }, () => front.client());
    for (const client of clients) client.send(request);
    for (const client of clients) expect((await client.answer()).status).toBe(201);
    expect(growing).toEqual(new Array(10).fill(1));
    for (const command of front.service.submitted) {
      if (command.kind !== 'push') throw new Error('a push was expected');
      expect(command.body.length).toBe(body.length);
    }
    // The connections are read on behind the bodies.
    for (const client of clients) client.send(request.subarray(0, 100));
    for (const client of clients) client.send(request.subarray(100));
    for (const client of clients) expect((await client.answer()).status).toBe(201);
  } finally {
    await front.stop();
  }
});

test('a buffer is made for the length that was told once 2 MiB of it came', async () => {
  const front = await TestFront.startPushed();
  const made: number[] = [];
  const allocate = Buffer.allocUnsafeSlow;
  Buffer.allocUnsafeSlow = (bytes) => {
    made.push(bytes);
    return allocate(bytes);
  };
  try {
    const body = `{"items":[{"queue":"q","payload":"${'x'.repeat(20 * MIB)}"}]}`;
    const answer = await front.client().request('/api/v1/push', { body });
    expect(answer.status).toBe(201);
    expect(made.at(-1)).toBe(body.length);
    expect(made.at(-2)).toBeLessThan(4 * MIB);
  } finally {
    Buffer.allocUnsafeSlow = allocate;
    await front.stop();
  }
});
