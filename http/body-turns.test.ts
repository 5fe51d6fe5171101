// Goal: of the connections that bring large bodies one is read in a turn of the loop, a turn that
// took long is followed by as long a rest, and nobody is forgotten. Method: turns, rests and the
// clock by hand; then real sockets, whose bytes the budget of bodies tells of as they are read.
import { expect, test } from 'vitest';
import { BodyTurns } from './body-turns.js';
import type { Rim } from './exchange.js';
import { TestFront } from './front.fake.js';
import { requestBytes } from './raw-client.fake.js';

const MIB = 1_048_576;

class Rig {
  nowMs = 0;
  readonly read: string[] = [];
  readonly rests: number[] = [];
  #later: (() => void)[] = [];
  #rest: (() => void) | null = null;
  readonly turns = new BodyTurns(
    () => this.nowMs,
    (run) => this.#later.push(run),
    (ms, run) => {
      this.rests.push(ms);
      this.#rest = () => {
        this.nowMs += ms;
        run();
      };
    },
  );

  /** A body that is read for `ms` in each of its turns, and waits again while some are left. */
  body(name: string, turns: number, ms: number): void {
    let left = turns;
    const waiting = {
      goOn: () => {
        if (left === 0) return false;
        this.read.push(name);
        left--;
        this.#later.unshift(() => {
          this.turns.wait(waiting);
          this.nowMs += ms;
        });
        return true;
      },
    };
    this.turns.wait(waiting);
  }

  /** What was read in it. */
  turn(): string {
    this.read.length = 0;
    for (const run of this.#later.splice(0)) run();
    return this.read.join('');
  }

  rest(): string {
    this.read.length = 0;
    this.#rest?.();
    this.#rest = null;
    return this.read.join('');
  }
}

test('one in a turn, in the order in which they came, and each again behind the others', () => {
  const rig = new Rig();
  for (const name of ['a', 'b', 'c']) rig.body(name, 2, 1);
  let order = '';
  for (let turns = 0; turns < 30; turns++) {
    const read = rig.turn();
    expect(read.length).toBeLessThanOrEqual(1);
    order += read;
  }
  expect(order).toBe('abcabc');
  expect(rig.rests).toEqual([]);
});

test('behind a long turn nobody is read for as long, with an end', () => {
  const rig = new Rig();
  rig.body('a', 2, 40);
  rig.body('b', 2, 900);
  const order: string[] = [];
  for (let turns = 0; turns < 30; turns++) {
    const read = rig.turn();
    if (read !== '') order.push(read);
    const rested = rig.rests.at(-1);
    const after = rig.rest();
    if (after !== '') order.push(`${rested} ms`, after);
  }
  expect(order.join(' ')).toBe('a 40 ms b 150 ms a 40 ms b');
});

test('who does not wait any more takes nobody else his turn', () => {
  const rig = new Rig();
  for (let left = 0; left < 3; left++) rig.turns.wait({ goOn: () => false });
  rig.body('a', 1, 1);
  rig.turn();
  expect(rig.turn()).toBe('a');
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
