// Goal: whoever does not belong here, or does not keep to the protocol, is turned away with a
// reason that is counted, costs little, and disturbs nobody. Method: strangers and broken peers on
// raw sockets against a whole port, while an honest pair goes on speaking.
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SystemClock } from '../system/clock.js';
import {
  CLUSTER,
  connected,
  type FakePeer,
  framed,
  PeerWorld,
  pause,
  until,
} from '../testing/peer-sockets.fake.js';
import { DIALED_CHANNELS, DialerHandshake, encodeHello } from './handshake.js';
import { FrameCutter } from './peer-frames.js';

let world: PeerWorld;
let a: FakePeer;
let b: FakePeer;

beforeEach(async () => {
  world = new PeerWorld();
  [a, b] = await world.pair();
});

afterEach(() => world.close());

let frames = 0;

/** The honest pair can still speak, both ways, over the connections that it had. */
async function unharmed(): Promise<void> {
  const text = `frame ${frames++}`;
  a.sockets.send(2, 'consensus', [Buffer.from(text)]);
  b.sockets.send(1, 'calls', [Buffer.from(text)]);
  await until('there', () => b.texts('consensus').includes(text));
  await until('and back', () => a.texts('calls').includes(text));
  for (const peer of [a, b]) expect(peer.count('closed') + peer.count('stalled')).toBe(0);
}

function told(peer: FakePeer, line: RegExp): Promise<void> {
  return until(`${line}`, () => peer.lines.some((each) => line.test(each)));
}

function closed(socket: Socket): Promise<Buffer> {
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  return new Promise((resolve) => void socket.once('close', () => resolve(Buffer.concat(pieces))));
}

test('garbage is turned away without an answer', async () => {
  for (const text of ['GET /health HTTP/1.1\r\nHost: x\r\n\r\n', '\x16\x03\x01'.repeat(200)]) {
    const socket = await world.dial(a.port);
    socket.write(text.padEnd(60, '.'));
    expect(await closed(socket)).toHaveLength(0);
  }
  for (let i = 0; i < 30; i++) {
    const socket = await world.dial(a.port);
    socket.write(
      createHash('shake256', { outputLength: 52 + 8 * i })
        .update(`${i}`)
        .digest(),
    );
    await closed(socket);
  }
  // On a busy machine the time of one may be over first.
  const refused = a.count('bad_hello') + a.count('handshake_broken');
  expect(refused + a.count('handshake_timeout')).toBe(32);
  expect(a.count('bad_hello')).toBeGreaterThan(0);
  // However often: one line.
  expect(a.lines.filter((line) => line.includes('bad_hello'))).toHaveLength(1);
  await unharmed();
});

test('a token that is wrong on either side', async () => {
  const [wrong, none] = [
    await world.peer(3, { token: 'another' }),
    await world.peer(4, { token: '' }),
  ];
  for (const stranger of [wrong, none]) {
    stranger.sockets.setPeers([a.address]);
    a.sockets.setPeers([b.address, stranger.address]);
    await until('both refuse', () => {
      return stranger.count('wrong_token') >= 8 && a.count('wrong_token') >= 8;
    });
    expect(stranger.sockets.isUp(1, 'control')).toBe(false);
    expect(a.sockets.isUp(stranger.node, 'control')).toBe(false);
    expect(stranger.sockets.send(1, 'control', [Buffer.from('x')])).toBe(false);
  }
  await told(wrong, /no connection to node 1 at .*: wrong_token/);
  expect(a.taken.filter(({ from }) => from !== 2)).toEqual([]);
  await unharmed();
});

test('a node under a wrong number, and one that is this node itself', async () => {
  const c = await world.peer(3);
  c.sockets.setPeers([
    { ...a.address, node: 5 },
    { ...c.address, node: 6 },
  ]);
  await until('refused', () => c.count('wrong_node') >= 12 && a.count('wrong_node') >= 4);
  expect(c.sockets.isUp(5, 'control')).toBe(false);
  await expect(world.enter(a.port, { from: 1 })).rejects.toThrow('wrong_node');
  await expect(world.enter(a.port, { to: 2 })).rejects.toThrow('wrong_node');
  await unharmed();
});

test('who plays the node that is dialed, without knowing the token, hears nothing', async () => {
  const said: Buffer[] = [];
  const port = await world.server((socket) => {
    let bytes = 0;
    socket.on('data', (piece) => {
      bytes += piece.length;
      said.push(piece);
      if (bytes === 52) socket.write(Buffer.alloc(20));
      if (bytes === 84) socket.write(Buffer.alloc(36));
    });
  });
  a.sockets.setPeers([b.address, { node: 3, host: '127.0.0.1', port }]);
  await until('refused', () => a.count('wrong_token') >= 8);
  expect(a.sockets.send(3, 'control', [Buffer.from('a secret')])).toBe(false);
  expect(Buffer.concat(said).includes('a secret')).toBe(false);
  await unharmed();
});

test('what was heard on the wire is good for nothing', async () => {
  const heard: Buffer[] = [];
  const port = await world.server((near) => {
    void world.dial(b.port).then((far) => {
      near.on('data', (piece) => {
        heard.push(piece);
        far.write(piece);
      });
      far.pipe(near);
    });
  });
  const c = await world.peer(3);
  c.sockets.setPeers([{ ...b.address, port }]);
  await connected(c, b);
  const before = b.count('wrong_token');
  for (const hello of heard.filter((piece) => piece.length === 52)) {
    for (const proof of heard.filter((piece) => piece.length === 32)) {
      const socket = await world.dial(b.port);
      const gone = closed(socket);
      socket.write(hello);
      // A proof that comes together with the hello is refused for coming early.
      await new Promise((resolve) => void socket.once('data', resolve));
      socket.write(proof);
      await gone;
    }
  }
  expect(b.count('wrong_token') - before).toBe(16);
  await unharmed();
});

test('a slow stranger has little time, however it spends it', async () => {
  const hello = new DialerHandshake('', {
    channel: 'control',
    from: 9,
    to: 1,
    cluster: CLUSTER,
    nonce: new Uint8Array(16),
  }).hello;
  const slow = await world.dial(a.port);
  const greeted = await world.dial(a.port);
  const silent = await world.dial(a.port);
  greeted.write(hello);
  let sent = 0;
  const dripping = setInterval(() => slow.write(hello.subarray(sent, ++sent)), 20);
  await Promise.all([slow, greeted, silent].map(closed));
  clearInterval(dripping);
  expect(a.count('handshake_timeout')).toBe(3);
  await unharmed();
});

test('a crowd of silent strangers keeps nobody out', async () => {
  const before = process.memoryUsage().rss;
  const crowd = await Promise.all(Array.from({ length: 300 }, () => world.dial(a.port)));
  for (const socket of crowd) socket.write(Buffer.alloc(51, 1));
  const c = await world.peer(3);
  c.sockets.setPeers([a.address]);
  await connected(c, a);
  await until('most had to go', () => {
    return a.count('too_many_connections') + a.count('handshake_timeout') >= 236;
  });
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * 2 ** 20);
  await unharmed();
});

test('members that make ever more connections find an end', async () => {
  const crowded = await world.peer(1, { clock: new SystemClock() });
  // As many numbers as one likes, for somebody who knows the token.
  for (let from = 10; from < 75; from++) {
    for (const channel of DIALED_CHANNELS) {
      await world.enter(crowded.port, { from, channel }).catch((error: Error) => {
        expect(error.message).toBe('closed');
      });
    }
  }
  expect(crowded.count('too_many_connections')).toBe(4);
  await unharmed();
});

test('a frame that is announced too long ends its connection alone', async () => {
  const control = await world.enter(a.port, { channel: 'control', from: 9 });
  const consensus = await world.enter(a.port, { channel: 'consensus', from: 9 });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(64 * 1024 + 1, 0);
  control.write(Buffer.concat([framed(Buffer.from('good')), length]));
  await closed(control);
  expect(a.count('oversized_frame')).toBe(1);
  expect(a.texts('control')).toEqual(['good']);
  consensus.write(length);
  consensus.write(Buffer.alloc(64 * 1024 + 1, 'x'));
  await until('the long one', () => a.texts('consensus').length === 1);
  length.writeUInt32LE(0xffff_ffff, 0);
  consensus.write(length);
  await closed(consensus);
  expect(a.count('oversized_frame')).toBe(2);
  await unharmed();
});

test('the same node twice: the newest is heard, the older one is given up', async () => {
  const older = await world.enter(a.port, { channel: 'calls', from: 9 });
  older.write(framed(Buffer.from('first')));
  await until('the question', () => a.texts('calls').includes('first'));
  const gone = closed(older);
  a.unreachable.length = 0;
  const newer = await world.enter(a.port, { channel: 'calls', from: 9 });
  await gone;
  expect(a.unreachable).toEqual(['9 answers']);
  expect(a.count('replaced')).toBe(1);
  newer.write(framed(Buffer.from('second')));
  await until('the question', () => a.texts('calls').includes('second'));
  const answers: string[] = [];
  const cutter = new FrameCutter(100, (frame) => answers.push(Buffer.from(frame).toString()));
  newer.on('data', (piece) => cutter.push(piece));
  a.sockets.send(9, 'answers', [Buffer.from('yes')]);
  await until('the answer', () => answers.length > 0);
  expect(answers).toEqual(['yes']);
  // Other channels of the node are connections of their own.
  await world.enter(a.port, { channel: 'bulk', from: 9 });
  expect(a.count('replaced')).toBe(1);
  await unharmed();
});

test('only calls are answered on their connection', async () => {
  const opened: Socket[] = [];
  const port = await world.acceptor(3, (socket, { channel }) => {
    opened.push(socket);
    socket.write(framed(Buffer.from(`on ${channel}`)));
  });
  a.sockets.setPeers([b.address, { node: 3, host: '127.0.0.1', port }]);
  await until('all are up', () => opened.length === 4);
  await until('the answer', () => a.texts('answers').length === 1);
  await pause(20);
  expect(a.taken.filter(({ from }) => from === 3)).toMatchObject([{ channel: 'answers' }]);
  expect(a.texts('answers')).toEqual(['on calls']);
});

test('an acceptor that never answers, and one that hangs up, are dialed again', async () => {
  let [silent, rude] = [0, 0];
  const first = await world.server(() => silent++);
  const second = await world.server((socket) => {
    rude++;
    socket.once('data', () => socket.destroy());
  });
  const at = (node: number, port: number) => ({ node, host: '127.0.0.1', port });
  a.sockets.setPeers([b.address, at(3, first), at(4, second)]);
  await until('again', () => silent >= 8 && rude >= 8);
  expect(a.count('unreachable')).toBeGreaterThan(8);
  await told(a, /no connection to node 3 at .*no answer in time/);
  await unharmed();
});

test('a build of another version is told so', async () => {
  const socket = await world.dial(a.port);
  const [from, to, nonce] = [9, 1, new Uint8Array(16)];
  const hello = encodeHello({ channel: 'control', from, to, cluster: CLUSTER, nonce });
  hello.writeUInt16LE(2, 4);
  socket.write(hello);
  const answer = await closed(socket);
  expect(answer.readUInt32LE(0)).toBe(2);
  expect(a.count('unknown_version')).toBe(1);
  await unharmed();
});
