// Goal: who may speak is decided by the table below and by nothing else, and a stranger learns
// nothing and holds nothing. Method: both sides without sockets, over every pair of what they can
// be, bytes cut at every place, changed at every bit, and proofs sent again.
import { expect, test } from 'vitest';
import {
  AcceptorHandshake,
  CHALLENGE_BYTES,
  CLUSTER_BYTES,
  DIALED_CHANNELS,
  DialerHandshake,
  decodeHello,
  encodeHello,
  HELLO_BYTES,
  type Hello,
  NONCE_BYTES,
  PROOF_BYTES,
  type Progress,
  RESULT_BYTES,
} from './handshake.js';

const NONE = new Uint8Array(CLUSTER_BYTES);
const OURS = new Uint8Array(CLUSTER_BYTES).fill(1);
const THEIRS = new Uint8Array(CLUSTER_BYTES).fill(2);

interface Dialer {
  readonly token?: string;
  readonly hello?: Partial<Hello>;
  readonly nonce?: number;
}

interface Acceptor {
  readonly self?: number;
  readonly token?: string;
  readonly cluster?: Uint8Array;
  readonly nonce?: number;
}

function dialerOf({ token = 'secret', hello = {}, nonce = 8 }: Dialer): DialerHandshake {
  return new DialerHandshake(token, {
    channel: 'control',
    from: 2,
    to: 1,
    cluster: OURS,
    nonce: new Uint8Array(NONCE_BYTES).fill(nonce),
    ...hello,
  });
}

function acceptorOf(options: Acceptor): AcceptorHandshake {
  const { self = 1, token = 'secret', cluster = OURS, nonce = 9 } = options;
  return new AcceptorHandshake(self, token, () => cluster, new Uint8Array(NONCE_BYTES).fill(nonce));
}

/** What each side ends with; the bytes go in pieces of `size`. */
function meet(dialer: DialerHandshake, acceptor: AcceptorHandshake, size = 1000): string[] {
  const outcome = { dialer: 'waiting', acceptor: 'waiting' };
  const push = (side: 'dialer' | 'acceptor', bytes: Buffer): Buffer => {
    const sent: Buffer[] = [];
    for (let at = 0; at < bytes.length && outcome[side] === 'waiting'; at += size) {
      const of = side === 'dialer' ? dialer : acceptor;
      const progress = of.push(bytes.subarray(at, at + size));
      sent.push(progress.send);
      outcome[side] = progress.state === 'refused' ? progress.reason : progress.state;
    }
    return Buffer.concat(sent);
  };
  const challenge = push('acceptor', dialer.hello);
  const proof = push('dialer', challenge);
  push('dialer', push('acceptor', proof));
  return [outcome.dialer, outcome.acceptor];
}

test.each<[string, Dialer, Acceptor, string, string]>([
  ['the same token and cluster', {}, {}, 'open', 'open'],
  ['both without a token', { token: '' }, { token: '' }, 'open', 'open'],
  ['a dialer without cluster', { hello: { cluster: NONE } }, {}, 'open', 'open'],
  ['an acceptor without cluster', {}, { cluster: NONE }, 'open', 'open'],
  ['both without', { hello: { cluster: NONE } }, { cluster: NONE }, 'open', 'open'],
  ['a node nobody knows', { hello: { from: 77 } }, {}, 'open', 'open'],
  ['another token', { token: 'other' }, {}, 'wrong_token', 'wrong_token'],
  ['no token there', { token: '' }, {}, 'wrong_token', 'wrong_token'],
  ['no token here', {}, { token: '' }, 'wrong_token', 'wrong_token'],
  ['another cluster', {}, { cluster: THEIRS }, 'foreign_cluster', 'foreign_cluster'],
  ['another node', { hello: { to: 3 } }, {}, 'wrong_node', 'wrong_node'],
  ['itself', { hello: { from: 1 } }, {}, 'wrong_node', 'wrong_node'],
])('%s', (_what, dialer, acceptor, there, here) => {
  const sizes = [1000, 1, 7];
  for (const size of sizes) {
    expect(meet(dialerOf(dialer), acceptorOf(acceptor), size)).toEqual([there, here]);
  }
});

test.each(DIALED_CHANNELS)('a hello says who, whom and for what: %s', (channel) => {
  const nonce = Buffer.alloc(NONCE_BYTES, 3);
  const hello = { channel, from: 0x1f_ffff, to: 0xffff_ffff, cluster: Buffer.from(OURS), nonce };
  const bytes = encodeHello(hello);
  expect(bytes).toHaveLength(HELLO_BYTES);
  // A test that stands between two nodes knows them by these.
  expect([bytes.readUInt32LE(8), bytes.readUInt32LE(12)]).toEqual([hello.from, hello.to]);
  expect(decodeHello(bytes)).toEqual(hello);
  const acceptor = acceptorOf({ self: hello.to });
  acceptor.push(bytes);
  expect(acceptor.hello).toEqual(hello);
});

test('a hello that is none gets no answer, and one of another version a reason', () => {
  const hello = dialerOf({}).hello;
  const at = (offset: number, value: number): Progress => {
    const bytes = Buffer.from(hello);
    bytes[offset] = value;
    return acceptorOf({}).push(bytes);
  };
  for (const [offset, value] of [
    [0, 0],
    [6, DIALED_CHANNELS.length],
    [7, 1],
    [8, 0],
    [10, 0x20],
    [48, 1],
  ] as const) {
    const progress = at(offset, value);
    expect(progress).toMatchObject({ state: 'refused', reason: 'bad_hello' });
    expect(progress.send).toHaveLength(0);
  }
  const later = at(4, 2);
  expect(later).toMatchObject({ state: 'refused', reason: 'unknown_version' });
  expect(dialerOf({}).push(later.send)).toMatchObject({ reason: 'unknown_version' });
  expect(acceptorOf({}).push(Buffer.alloc(HELLO_BYTES, 'GET / HTTP/1.1\r\n'))).toMatchObject({
    reason: 'bad_hello',
  });
});

test('a changed bit anywhere ends it on the side that reads it', () => {
  const whole = { dialer: dialerOf({}), acceptor: acceptorOf({}) };
  const challenge = whole.acceptor.push(whole.dialer.hello).send;
  const proof = whole.dialer.push(challenge).send;
  const verdict = whole.acceptor.push(proof).send;
  expect([challenge.length, proof.length, verdict.length]).toEqual([
    CHALLENGE_BYTES,
    PROOF_BYTES,
    RESULT_BYTES,
  ]);
  const flipped = (bytes: Buffer, bit: number) => {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return changed;
  };
  for (let bit = 0; bit < 8 * HELLO_BYTES; bit++) {
    const acceptor = acceptorOf({});
    const greeted = acceptor.push(flipped(dialerOf({}).hello, bit));
    // The nonce and the sender are believed for the moment: the proof then is of other bytes.
    if (greeted.state === 'waiting') {
      expect(acceptor.push(proof)).toMatchObject({ reason: 'wrong_token' });
    } else {
      expect(greeted.state).toBe('refused');
    }
  }
  for (let bit = 0; bit < 8 * CHALLENGE_BYTES; bit++) {
    const [dialer, acceptor] = [dialerOf({}), acceptorOf({})];
    acceptor.push(dialer.hello);
    const answered = dialer.push(flipped(challenge, bit));
    if (answered.state === 'waiting') {
      expect(acceptor.push(answered.send)).toMatchObject({ reason: 'wrong_token' });
    } else {
      expect(answered.state).toBe('refused');
    }
  }
  for (let bit = 0; bit < 8 * RESULT_BYTES; bit++) {
    const dialer = dialerOf({});
    dialer.push(challenge);
    expect(dialer.push(flipped(verdict, bit)).state).toBe('refused');
  }
});

test('a proof is good for one connection', () => {
  const [dialer, acceptor] = [dialerOf({}), acceptorOf({})];
  const proof = dialer.push(acceptor.push(dialer.hello).send).send;
  expect(acceptor.push(proof).state).toBe('open');
  const again = acceptorOf({ nonce: 10 });
  again.push(dialer.hello);
  expect(again.push(proof)).toMatchObject({ state: 'refused', reason: 'wrong_token' });
});

test('one side cannot send the proof of the other back', () => {
  // It has no token, and lets the node that dials it prove that it knows one.
  const victim = dialerOf({});
  const challenge = acceptorOf({ token: '' }).push(victim.hello).send;
  const proof = victim.push(challenge).send;
  const verdict = Buffer.concat([Buffer.alloc(4), proof]);
  expect(victim.push(verdict)).toMatchObject({ state: 'refused', reason: 'wrong_token' });
});

test('a stranger is told nothing that the token goes into', () => {
  const [one, other] = [acceptorOf({ token: 'a' }), acceptorOf({ token: 'b' })];
  const hello = dialerOf({}).hello;
  expect(one.push(hello).send).toEqual(other.push(hello).send);
  const lie = Buffer.alloc(PROOF_BYTES);
  expect(one.push(lie).send).toEqual(other.push(lie).send);
});

test('whoever says more than its turn allows is refused', () => {
  const { hello } = dialerOf({});
  const more = Buffer.from([1]);
  expect(acceptorOf({}).push(Buffer.concat([hello, more]))).toMatchObject({ reason: 'bad_hello' });
  const [dialer, acceptor] = [dialerOf({}), acceptorOf({})];
  const challenge = acceptor.push(hello).send;
  const early = dialerOf({}).push(Buffer.concat([challenge, more]));
  expect(early).toMatchObject({ reason: 'bad_hello' });
  const proof = dialer.push(challenge).send;
  expect(acceptor.push(Buffer.concat([proof, more]))).toMatchObject({ reason: 'bad_hello' });
});

test('what follows the verdict is passed on', () => {
  const [dialer, acceptor] = [dialerOf({}), acceptorOf({})];
  const verdict = acceptor.push(dialer.push(acceptor.push(dialer.hello).send).send).send;
  const progress = dialer.push(Buffer.concat([verdict, Buffer.from('frames')]));
  expect(progress).toMatchObject({ state: 'open', rest: Buffer.from('frames') });
});
