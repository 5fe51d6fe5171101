// Goal: whatever connections break, and when, each call ends once and with its own answer, each
// handler learns of its end once, and frames come at most once and in order. Method: three whole
// ports and their calls over relays whose connections are broken by chance. No seed is printed: it
// would not bring back what the sockets and the machine do by themselves.
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connected, type FakePeer, PeerWorld, pause, until } from '../testing/peer-sockets.fake.js';
import { PeerCalls } from './calls.js';
import type { ServedCall } from './served-calls.js';

const NODES = [1, 2, 3];
const ROUNDS = 150;

let world: PeerWorld;
let peers: FakePeer[];
let calls: PeerCalls[];
const passing = new Set<Socket>();
let [asked, ended, right, handled, over] = [0, 0, 0, 0, 0];

beforeEach(async () => {
  world = new PeerWorld();
  peers = await Promise.all(NODES.map((node) => world.peer(node)));
  for (const peer of peers) {
    const others = peers.filter((other) => other !== peer);
    const ways = others.map(async (other) => ({
      ...other.address,
      port: await world.relay(other.port, passing),
    }));
    peer.sockets.setPeers(await Promise.all(ways));
  }
  calls = peers.map(
    ({ sockets, clock }) => new PeerCalls({ port: sockets, clock, random: Math.random }),
  );
});

afterEach(() => world.close());

async function together(): Promise<void> {
  for (const one of peers) {
    for (const other of peers) if (one !== other) await connected(one, other);
  }
}

/** Answers after a while, unless nobody waits any more. */
function serve(own: PeerCalls): void {
  const inHand = new Set<ServedCall>();
  own.serve('command', (call) => {
    handled++;
    const { body } = call;
    inHand.add(call);
    call.onGone = () => {
      expect(inHand.delete(call)).toBe(true);
      over++;
    };
    setTimeout(() => {
      if (!inHand.delete(call)) return;
      call.onGone = null;
      call.answer([body]);
      over++;
    }, Math.random() * 20);
  });
}

/** Frames say which round they are of. */
function listen(own: PeerCalls): void {
  const newest = new Map<string, number>();
  own.onFrame = (from, channel, frame) => {
    const key = `${from} ${channel}`;
    const round = Buffer.from(frame).readUInt32LE(0);
    expect(round).toBeGreaterThan(newest.get(key) ?? -1);
    newest.set(key, round);
  };
}

function ask(own: PeerCalls, to: number, round: number): void {
  const body = Buffer.alloc(4 + (round % 50) * 197, round);
  asked++;
  const call = own.call(to, 'command', [body], 60_000, (answer) => {
    ended++;
    if (typeof answer === 'string') return;
    expect(Buffer.compare(answer, body)).toBe(0);
    right++;
  });
  if (round % 17 === 0) {
    call.cancel();
    ended++;
  }
  const head = Buffer.alloc(4);
  head.writeUInt32LE(round, 0);
  for (const channel of ['control', 'consensus', 'bulk'] as const) {
    own.send(to, channel, [head, body]);
  }
}

test('a storm of broken connections', async () => {
  for (const each of calls) {
    serve(each);
    listen(each);
  }
  await together();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, each] of calls.entries()) {
      for (const to of NODES) if (to !== NODES[at]) ask(each, to, round);
    }
    if (round % 10 === 0) {
      const all = [...passing];
      all[Math.floor(Math.random() * all.length)]?.destroy();
    }
    await pause(1);
  }
  await until('every call has ended', () => ended === asked);
  await until('every handler knows', () => over === handled);
  expect(right).toBeGreaterThan(asked / 10);
  for (const each of calls) expect(each.inFlight).toEqual({ own: 0, served: 0 });
  expect(peers.reduce((sum, peer) => sum + peer.count('closed'), 0)).toBeGreaterThan(5);
  // And then all is as before.
  await together();
}, 30_000);
