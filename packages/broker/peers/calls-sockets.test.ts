// Goal: over sockets, a caller is told at once when the way to its answer is gone, a handler when
// its caller is, and neither large nor many calls hold up others. Method: whole ports on this
// machine, on a clock ten times as fast, whose connections are cut in the middle of calls.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SystemClock } from '../system/clock.js';
import {
  connected,
  type FakePeer,
  NO_CLUSTER,
  PeerWorld,
  pause,
  until,
} from '../testing/peer-sockets.fake.js';
import { type CallDone, PeerCalls } from './calls.js';
import type { ServedCall } from './served-calls.js';

let world: PeerWorld;
let served: ServedCall[];
let outcomes: string[];

beforeEach(() => {
  world = new PeerWorld();
  served = [];
  outcomes = [];
});

afterEach(() => world.close());

function callsOf(peer: FakePeer): PeerCalls {
  return new PeerCalls({ port: peer.sockets, clock: peer.clock, random: Math.random });
}

const bytes = (text: string) => [Buffer.from(text)];
const noted: CallDone = (answer) => {
  outcomes.push(typeof answer === 'string' ? answer : `= ${Buffer.from(answer)}`);
};

test('many calls both ways, each with its own answer', async () => {
  const pair = await world.pair();
  const [a, b] = pair.map(callsOf) as [PeerCalls, PeerCalls];
  for (const calls of [a, b]) calls.serve('command', (call) => call.answer([call.body]));
  let [right, done] = [0, 0];
  for (let i = 0; i < 3000; i++) {
    for (const [calls, to] of [
      [a, 2],
      [b, 1],
    ] as const) {
      const body = `${to} ${i}`;
      calls.call(to, 'command', bytes(body), 60_000, (answer) => {
        done++;
        if (typeof answer !== 'string' && `${Buffer.from(answer)}` === body) right++;
      });
    }
    if (i % 100 === 0) await pause(0);
  }
  await until('all answers', () => done === 6000);
  expect(right).toBe(6000);
});

test('a node that nobody knows and that belongs to nothing is answered', async () => {
  const member = await world.peer(1);
  const joiner = await world.peer(9, { cluster: () => NO_CLUSTER });
  joiner.sockets.setPeers([member.address]);
  await connected(joiner, member);
  callsOf(member).serve('ask', (call) => call.answer(bytes(`to ${call.from}`)));
  callsOf(joiner).call(1, 'ask', [], 1000, noted);
  await until('the answer', () => outcomes.length === 1);
  expect(outcomes).toEqual(['= to 9']);
});

test('a connection that breaks ends at once what went by it, on both sides', async () => {
  const slow = { clock: new SystemClock() };
  const [a, b] = await world.pair(slow, slow);
  const [asking, answering] = [callsOf(a), callsOf(b)];
  let gone = 0;
  answering.serve('command', (call) => {
    served.push(call);
    call.onGone = () => gone++;
  });
  for (let i = 0; i < 10; i++) asking.call(2, 'command', bytes('x'), 60_000, noted);
  await until('in hand', () => served.length === 10);
  a.sockets.setPeers([]);
  expect(outcomes).toEqual(Array(10).fill('unreachable'));
  await until('it is told', () => gone === 10);
  expect(served[0]?.answer(bytes('late'))).toBe(false);
  expect(answering.inFlight.served).toBe(0);
});

test('the end of either process is told at once', async () => {
  const slow = { clock: new SystemClock() };
  const [a, b] = await world.pair(slow, slow);
  const [asking, answering] = [callsOf(a), callsOf(b)];
  answering.serve('command', (call) => served.push(call));
  asking.call(2, 'command', bytes('x'), 60_000, noted);
  await until('in hand', () => served.length === 1);
  await b.sockets.close();
  await until('the caller is told', () => outcomes.length === 1, 500);
  expect(outcomes).toEqual(['unreachable']);
});

test('a call to a node that is away fails at once, and works as soon as it is back', async () => {
  const a = await world.peer(1);
  const asking = callsOf(a);
  asking.call(2, 'ask', [], 1000, noted);
  await until('told', () => outcomes.length === 1, 500);
  expect(outcomes).toEqual(['unreachable']);
  const b = await world.peer(2);
  callsOf(b).serve('ask', (call) => call.answer(bytes('here')));
  a.sockets.setPeers([b.address]);
  await connected(a, b);
  asking.call(2, 'ask', [], 1000, noted);
  await until('answered', () => outcomes.length === 2);
  expect(outcomes[1]).toBe('= here');
});

test('a node that hangs without a word does not keep its callers waiting', async () => {
  const port = await world.acceptor(2, (socket) => socket.resume());
  const a = await world.peer(1);
  const asking = callsOf(a);
  a.sockets.setPeers([{ node: 2, host: '127.0.0.1', port }]);
  await until('up', () => a.sockets.isUp(2, 'calls'));
  asking.call(2, 'command', bytes('x'), 600_000, noted);
  await until('told', () => outcomes.length === 1);
  expect(outcomes).toEqual(['unreachable']);
  expect(a.count('stalled')).toBeGreaterThan(0);
});

test('large questions and answers', async () => {
  const large = { entryBytesMax: 64 * 2 ** 20 };
  const [a, b] = await world.pair(large, large);
  const [asking, answering] = [callsOf(a), callsOf(b)];
  answering.serve('command', (call) => call.answer([call.body, call.body.subarray(0, 5)]));
  const body = Buffer.alloc(8 * 2 ** 20, 'question ');
  const answers: Uint8Array[] = [];
  for (let i = 0; i < 3; i++) {
    asking.call(2, 'command', [body], 600_000, (answer) => {
      if (typeof answer !== 'string') answers.push(answer);
      else noted(answer);
    });
  }
  await until('all', () => answers.length + outcomes.length === 3);
  expect(outcomes).toEqual([]);
  for (const answer of answers) {
    expect(Buffer.compare(answer, Buffer.concat([body, body.subarray(0, 5)]))).toBe(0);
  }
});
