// Goal: between honest nodes frames arrive whole, in order and from whom they say, connections come
// back whatever broke them, and nothing waits without an end. Method: whole ports over sockets of
// this machine, on a clock ten times as fast.
import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SystemClock } from '../system/clock.js';
import {
  CLUSTER,
  connected,
  type FakePeer,
  NO_CLUSTER,
  PeerWorld,
  pause,
  TOKEN,
  until,
} from '../testing/peer-sockets.fake.js';
import { PeerDialer } from './dialer.js';
import { DIALED_CHANNELS } from './handshake.js';
import { PeerLookup } from './lookup.js';

let world: PeerWorld;

beforeEach(() => {
  world = new PeerWorld();
});

afterEach(() => world.close());

const bytes = (text: string) => [Buffer.from(text)];

test('frames of each channel arrive whole, in order, from whom they say', async () => {
  const [a, b] = await world.pair();
  for (const channel of DIALED_CHANNELS) {
    for (let i = 0; i < 2000; i++) {
      const parts = [
        Buffer.from(`${channel} `),
        Buffer.alloc(i % 20 === 0 ? 0 : 10, 'x'),
        Buffer.from(`${i}`),
      ];
      expect(a.sockets.send(2, channel, parts)).toBe(true);
    }
  }
  await until('all frames', () => b.taken.length === 8000);
  expect(new Set(b.taken.map(({ from }) => from))).toEqual(new Set([1]));
  for (const channel of DIALED_CHANNELS) {
    const expected = Array.from(
      { length: 2000 },
      (_, i) => `${channel} ${i % 20 === 0 ? '' : 'xxxxxxxxxx'}${i}`,
    );
    expect(b.texts(channel)).toEqual(expected);
  }
  expect(a.taken).toEqual([]);
});

test('an answer reaches whoever asked, also a node whose address nobody has', async () => {
  const [member, joiner] = [
    await world.peer(1),
    await world.peer(9, { cluster: () => NO_CLUSTER }),
  ];
  joiner.sockets.setPeers([member.address]);
  await connected(joiner, member);
  joiner.sockets.send(1, 'calls', bytes('who leads?'));
  await until('the question', () => member.taken.length === 1);
  expect(member.sockets.send(9, 'answers', bytes('node 1'))).toBe(true);
  await until('the answer', () => joiner.taken.length === 1);
  expect(joiner.texts('answers')).toEqual(['node 1']);
  // There is no other way to it, and none at all to a node that never came.
  expect(member.sockets.send(9, 'calls', bytes('x'))).toBe(false);
  expect(member.sockets.send(8, 'answers', bytes('x'))).toBe(false);
  expect(member.count('dropped')).toBe(2);
});

test('a frame of 100 MiB arrives whole, and heartbeats do not wait for it', async () => {
  const large = { entryBytesMax: 100 * 2 ** 20, clock: new SystemClock() };
  const [a, b] = await world.pair(large, large);
  const entry = Buffer.alloc(100 * 2 ** 20);
  for (let at = 0; at < entry.length; at += 4096) entry.writeUInt32LE(at, at);
  a.sockets.send(2, 'consensus', [Buffer.from('head'), entry]);
  let beats = 0;
  while (b.texts('control').length < 20 || b.taken.every(({ channel }) => channel === 'control')) {
    a.sockets.send(2, 'control', bytes(`beat ${beats++}`));
    await pause(1);
  }
  const order = b.taken.map(({ channel }) => channel);
  expect(order.indexOf('control')).toBeLessThan(order.indexOf('consensus'));
  const frame = b.taken.find(({ channel }) => channel === 'consensus')?.frame ?? Buffer.alloc(0);
  expect(frame.length).toBe(4 + entry.length);
  expect(Buffer.compare(frame.subarray(4), entry)).toBe(0);
}, 30_000);

test('what waits for a peer that does not read is bounded, and the peer is given up', async () => {
  const stuck: Socket[] = [];
  const port = await world.acceptor(2, (socket) => {
    stuck.push(socket);
    socket.pause();
  });
  const a = await world.peer(1);
  a.sockets.setPeers([{ node: 2, host: '127.0.0.1', port }]);
  await until('up', () => a.sockets.isUp(2, 'consensus'));
  const frame = [Buffer.alloc(1_000_000)];
  let [taken, turned] = [0, 0];
  while (a.sockets.isUp(2, 'consensus') && a.count('stalled') === 0) {
    if (a.sockets.send(2, 'consensus', frame)) taken++;
    else turned++;
    await pause(0);
  }
  // What the sockets of the system hold, at most some MiB, comes on top of the 72 MiB and 1000 B.
  expect(taken).toBeGreaterThan(64);
  expect(taken).toBeLessThan(100);
  expect(turned).toBeGreaterThan(0);
  expect(a.count('dropped')).toBeGreaterThanOrEqual(turned);
  await until('it is told', () => a.unreachable.includes('2 consensus'));
  const before = stuck.length;
  await until('dialed again', () => stuck.length > before);
}, 20_000);

test('too many answers for one asker end its connection: it learns of the loss', async () => {
  const member = await world.peer(1);
  const asker = await world.enter(member.port, { channel: 'calls' });
  asker.pause();
  let told = false;
  member.sockets.onUnreachable = () => {
    told = true;
  };
  while (member.sockets.send(9, 'answers', [Buffer.alloc(1_000_000)])) {
    await pause(0);
  }
  expect(told).toBe(true);
  expect(member.count('overrun') + member.count('stalled')).toBe(1);
});

test('a peer comes back, again and again, and each loss is told', async () => {
  const a = await world.peer(1);
  let b = await world.peer(2);
  const { port } = b;
  a.sockets.setPeers([b.address]);
  for (let life = 0; life < 15; life++) {
    await connected(a, b);
    expect(a.sockets.send(2, 'control', bytes(`life ${life}`))).toBe(true);
    await until('the frame', () => b.texts('control').length === 1);
    a.unreachable.length = 0;
    await b.sockets.close();
    await until('the loss', () => DIALED_CHANNELS.every((c) => a.unreachable.includes(`2 ${c}`)));
    expect(a.sockets.send(2, 'control', bytes('lost'))).toBe(false);
    b = await world.peer(2, { port });
  }
  await connected(a, b);
  // A node that comes and goes is logged now and then, not at each turn.
  expect(a.lines.length).toBeLessThan(40);
}, 30_000);

test('a peer that is away is dialed less often, and at once when it is heard of', async () => {
  const a = await world.peer(1, { clock: new SystemClock() });
  const dials: number[] = [];
  const port = await world.server((socket) => {
    dials.push(performance.now());
    socket.destroy();
  });
  a.sockets.setPeers([{ node: 2, host: '127.0.0.1', port }]);
  await pause(2200);
  // Four channels, with pauses of 50, 100, 200, ... ms, each times 0.5 to 1.5: 4 to 7 in 2.2 s.
  expect(dials.length).toBeGreaterThan(4 * 3);
  expect(dials.length).toBeLessThanOrEqual(4 * 7);
  const gaps = dials.slice(-4).map((at) => at - (dials[0] ?? 0));
  expect(new Set(gaps).size).toBeGreaterThan(1);
  const before = dials.length;
  await world.enter(a.port, { from: 2 });
  await until('dialed', () => dials.length > before, 300);
}, 10_000);

test('a dial that meets silence is made anew when the peer is heard of', async () => {
  const b = await world.peer(2, { clock: new SystemClock() });
  let [asked, losses] = [0, 0];
  const dialer = new PeerDialer({
    channel: 'control',
    self: 1,
    peer: 2,
    host: 'svc-2',
    port: b.port,
    token: TOKEN,
    cluster: () => CLUSTER,
    limits: { frameBytesMax: 100, queueBytesMax: 100, gathering: 'step' },
    // The first is never answered.
    lookup: (_host, _options, done) => {
      if (++asked > 1) done(null, [{ address: '127.0.0.1', family: 4 }]);
    },
    clock: new SystemClock(),
    random: Math.random,
    onFrame: () => {},
    onDown: () => losses++,
  });
  try {
    dialer.hurry();
    await pause(300);
    expect([asked, dialer.isUp]).toEqual([1, false]);
    dialer.hurry();
    await until('up', () => dialer.isUp, 1000);
    dialer.hurry();
    expect([asked, losses, dialer.isUp]).toEqual([2, 0, true]);
  } finally {
    dialer.close(0);
  }
});

test('a path that is dead without a word is given up on both sides', async () => {
  const [a, b] = [await world.peer(1), await world.peer(2)];
  let dead = false;
  // What stands between them can lose what goes one way, or both.
  const port = await world.server((near) => {
    void world.dial(b.port).then((far) => {
      near.on('data', (piece) => dead || far.write(piece));
      far.on('data', (piece) => dead || near.write(piece));
      near.on('close', () => dead || far.destroy());
      far.on('close', () => dead || near.destroy());
    });
  });
  a.sockets.setPeers([{ node: 2, host: '127.0.0.1', port }]);
  await connected(a, b);
  dead = true;
  await until('both gave up', () => a.count('stalled') >= 4 && b.count('stalled') >= 4);
  expect(a.unreachable).toContain('2 calls');
  expect(b.unreachable).toContain('1 answers');
  dead = false;
  await connected(a, b);
  a.sockets.send(2, 'control', bytes('again'));
  await until('the frame', () => b.texts('control').includes('again'));
});

test('a quiet connection is no dead one', async () => {
  const [a, b] = await world.pair();
  await pause(1000);
  for (const peer of [a, b]) expect(peer.count('stalled') + peer.count('closed')).toBe(0);
});

test('nodes that are not in the list any more, or elsewhere, are let go of', async () => {
  const [a, b] = [await world.peer(1), await world.peer(2)];
  const elsewhere = await world.peer(2);
  a.sockets.setPeers([b.address]);
  await connected(a, b);
  a.sockets.setPeers([elsewhere.address]);
  expect(a.unreachable).toContain('2 calls');
  await connected(a, elsewhere);
  a.sockets.send(2, 'bulk', bytes('here'));
  await until('the frame', () => elsewhere.texts('bulk').length === 1);
  expect(b.taken).toEqual([]);
  // The same list again changes nothing.
  a.unreachable.length = 0;
  a.sockets.setPeers([elsewhere.address, a.address]);
  expect(a.unreachable).toEqual([]);
  expect(a.sockets.isUp(2, 'bulk')).toBe(true);
  a.sockets.setPeers([]);
  expect(a.sockets.send(2, 'bulk', bytes('gone'))).toBe(false);
});

test('a name is looked up at each dial', async () => {
  const b = await world.peer(2);
  let address = '127.0.0.1';
  const lookup = new PeerLookup((host, done) => {
    expect(host).toBe('svc-2');
    const found: LookupAddress[] = [{ address, family: 4 }];
    setTimeout(() => done(null, found), 1);
  });
  const a = await world.peer(1, { lookup });
  a.sockets.setPeers([{ node: 2, host: 'svc-2', port: b.port }]);
  await connected(a, b);
  address = '127.0.0.2';
  await b.sockets.close();
  await until('the loss', () => DIALED_CHANNELS.every((c) => a.unreachable.includes(`2 ${c}`)));
  const moved = await world.peer(2, { host: '127.0.0.2', port: b.port });
  await connected(a, moved);
  a.sockets.send(2, 'control', bytes('found'));
  await until('the frame', () => moved.texts('control').length === 1);
});

const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);

test.runIf(hasIPv6)('an IPv6 literal', async () => {
  const [a, b] = await world.pair({ host: '::1' }, { host: '::1' });
  a.sockets.send(2, 'control', bytes('six'));
  await until('the frame', () => b.texts('control').length === 1);
});

test('a node that finds its cluster is looked at again', async () => {
  let own: Uint8Array = NO_CLUSTER;
  const [a, b] = await world.pair({ cluster: () => own });
  const closed = () => a.count('cluster_changed');
  own = CLUSTER;
  a.sockets.clusterChanged();
  expect(closed()).toBe(4);
  await connected(a, b);
  a.sockets.clusterChanged();
  expect(closed()).toBe(4);
  // It turns out to belong elsewhere: neither side hears the other any more.
  own = new Uint8Array(16).fill(8);
  await until(
    'both refuse',
    () => a.count('foreign_cluster') > 4 && b.count('foreign_cluster') > 4,
  );
  a.taken.length = 0;
  b.taken.length = 0;
  expect(a.sockets.send(2, 'control', bytes('x'))).toBe(false);
  expect(b.sockets.send(1, 'control', bytes('x'))).toBe(false);
  await until('it is told', () => a.lines.some((line) => line.includes('foreign_cluster')));
});

test('what was sent last arrives when the port closes, and nothing is heard after', async () => {
  const [a, b] = await world.pair();
  for (let i = 0; i < 1000; i++) a.sockets.send(2, 'calls', bytes(`${i}`));
  b.sockets.send(1, 'control', bytes('too late'));
  await a.sockets.close();
  await until('all', () => b.taken.length === 1000);
  expect(a.taken).toEqual([]);
  const lost = (peer: FakePeer) => peer.unreachable.length;
  expect(lost(a)).toBe(0);
});

test('a port that is taken is refused', async () => {
  const a = await world.peer(1);
  await expect(world.peer(2, { port: a.port })).rejects.toThrow('EADDRINUSE');
});
