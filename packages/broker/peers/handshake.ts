/**
 * How two nodes begin a connection. The dialer says who it is, whom it wants and for which channel;
 * both prove that they know the cluster's token; only then does a frame pass.
 *
 *     dialer   -> hello       52 bytes: magic u32 | version u16 | channel u8 | zero u8
 *                             | from u32 | to u32 | cluster 16 | nonce 16 | zero u32
 *     acceptor -> challenge   20 bytes: status u32 | nonce 16
 *     dialer   -> proof       32 bytes
 *     acceptor -> verdict     36 bytes: status u32 | proof 32
 *
 * Integers are little-endian. A proof is an HMAC of the side, the hello and the acceptor's nonce
 * under the token: the token is never on the wire, no proof is good for another connection, and
 * neither side can send the other's back. The dialer proves first, so a stranger who merely reaches
 * the port learns nothing to guess the token by. Without a token the proofs prove nothing, and
 * whoever reaches the port is believed. What follows is neither signed nor encrypted: who can
 * change the bytes between two nodes can change what they say, so their network must be their own.
 *
 * A node that belongs to no cluster yet says so by a cluster of zeros; it fits any, and any fits
 * it. Whoever is refused is told why, once, and the connection ends; what is no hello at all gets
 * no answer. An unknown version is refused before anything else is looked at, because in a later
 * version other bytes may mean other things.
 *
 * Nothing here does I/O: bytes go in, what is to be sent comes out.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { NODE_NUMBER_MAX } from '../config/member-id.js';
import type { PeerChannel } from './port.js';

export const HELLO_BYTES = 52;
export const CHALLENGE_BYTES = 20;
export const PROOF_BYTES = 32;
export const RESULT_BYTES = 36;
export const CLUSTER_BYTES = 16;
export const NONCE_BYTES = 16;
const MAGIC = 0x5053_4356;
const VERSION = 1;
const NO_BYTES: Buffer = Buffer.alloc(0);

/** In the order of their numbers on the wire: never reordered, only added to. */
const STATUSES = [
  'accepted',
  'bad_hello',
  'unknown_version',
  'wrong_node',
  'foreign_cluster',
  'wrong_token',
  'too_many_connections',
] as const;
export type HandshakeRefusal = Exclude<(typeof STATUSES)[number], 'accepted'>;

/** `answers` has no connection of its own. By number on the wire. */
export const DIALED_CHANNELS = ['control', 'consensus', 'bulk', 'calls'] as const;
export type DialedChannel = Extract<PeerChannel, (typeof DIALED_CHANNELS)[number]>;

export interface Hello {
  readonly channel: DialedChannel;
  readonly from: number;
  readonly to: number;
  /** All zeros: the dialer belongs to no cluster yet. */
  readonly cluster: Uint8Array;
  readonly nonce: Uint8Array;
}

export function encodeHello(hello: Hello): Buffer {
  const bytes = Buffer.alloc(HELLO_BYTES);
  bytes.writeUInt32LE(MAGIC, 0);
  bytes.writeUInt16LE(VERSION, 4);
  bytes.writeUInt8(DIALED_CHANNELS.indexOf(hello.channel), 6);
  bytes.writeUInt32LE(hello.from, 8);
  bytes.writeUInt32LE(hello.to, 12);
  bytes.set(hello.cluster, 16);
  bytes.set(hello.nonce, 32);
  return bytes;
}

export function decodeHello(bytes: Buffer): Hello | 'bad_hello' | 'unknown_version' {
  if (bytes.length !== HELLO_BYTES || bytes.readUInt32LE(0) !== MAGIC) return 'bad_hello';
  if (bytes.readUInt16LE(4) !== VERSION) return 'unknown_version';
  const channel = DIALED_CHANNELS[bytes.readUInt8(6)];
  const [from, to] = [bytes.readUInt32LE(8), bytes.readUInt32LE(12)];
  const zeros = bytes.readUInt8(7) + bytes.readUInt32LE(48);
  if (channel === undefined || from < 1 || from > NODE_NUMBER_MAX || zeros !== 0) {
    return 'bad_hello';
  }
  return { channel, from, to, cluster: bytes.subarray(16, 32), nonce: bytes.subarray(32, 48) };
}

/** Whether the bytes, of which there are four at least, are those of a node. */
export function beginsHello(bytes: Buffer): boolean {
  return bytes.readUInt32LE(0) === MAGIC;
}

/** A node that belongs to no cluster yet fits any. */
export function fitsCluster(one: Uint8Array, other: Uint8Array): boolean {
  return isNone(one) || isNone(other) || Buffer.compare(one, other) === 0;
}

function isNone(cluster: Uint8Array): boolean {
  return cluster.every((byte) => byte === 0);
}

function proofOf(token: string, side: string, hello: Uint8Array, nonce: Uint8Array): Buffer {
  return createHmac('sha256', token).update(side).update(hello).update(nonce).digest();
}

/** Collects the bytes of one step; a stranger can make it hold no more than that step has. */
class Step {
  readonly #bytes: Buffer;
  #filled = 0;

  constructor(size: number) {
    this.#bytes = Buffer.alloc(size);
  }

  /** Returns the rest of the piece; null while the step is not whole. */
  take(piece: Buffer): Buffer | null {
    const copied = piece.copy(this.#bytes, this.#filled);
    this.#filled += copied;
    return this.#filled === this.#bytes.length ? piece.subarray(copied) : null;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }
}

/** Whatever the state, `send` goes out first. After `open` or `refused` nothing is to be pushed. */
export type Progress =
  | { readonly state: 'waiting'; readonly send: Buffer }
  /** `rest` are the first bytes of what follows. */
  | { readonly state: 'open'; readonly send: Buffer; readonly rest: Buffer }
  | { readonly state: 'refused'; readonly send: Buffer; readonly reason: HandshakeRefusal };

const MORE: Progress = { state: 'waiting', send: NO_BYTES };

function refused(reason: HandshakeRefusal, send = NO_BYTES): Progress {
  return { state: 'refused', send, reason };
}

/** In place of a challenge. */
function turnedAway(reason: HandshakeRefusal): Progress {
  return refused(reason, stated(reason, Buffer.alloc(NONCE_BYTES)));
}

export class AcceptorHandshake {
  readonly #self: number;
  readonly #token: string;
  readonly #cluster: () => Uint8Array;
  readonly #nonce: Uint8Array;
  readonly #greeting = new Step(HELLO_BYTES);
  readonly #proof = new Step(PROOF_BYTES);
  #hello: Hello | null = null;

  constructor(self: number, token: string, cluster: () => Uint8Array, nonce: Uint8Array) {
    this.#self = self;
    this.#token = token;
    this.#cluster = cluster;
    this.#nonce = nonce;
  }

  /** The node at the other end, once `open`. */
  get hello(): Hello | null {
    return this.#hello;
  }

  push(piece: Buffer): Progress {
    if (this.#hello === null) return this.#greet(this.#greeting.take(piece));
    const rest = this.#proof.take(piece);
    if (rest === null) return MORE;
    // The dialer waits for the verdict before it says anything.
    if (rest.length > 0) return refused('bad_hello');
    const expected = proofOf(this.#token, 'dialer', this.#greeting.bytes, this.#nonce);
    if (!timingSafeEqual(this.#proof.bytes, expected)) {
      return refused('wrong_token', stated('wrong_token', Buffer.alloc(PROOF_BYTES)));
    }
    const proof = proofOf(this.#token, 'acceptor', this.#greeting.bytes, this.#nonce);
    return { state: 'open', send: stated('accepted', proof), rest: NO_BYTES };
  }

  #greet(rest: Buffer | null): Progress {
    if (rest === null) return MORE;
    const hello = decodeHello(this.#greeting.bytes);
    if (hello === 'bad_hello' || rest.length > 0) return refused('bad_hello');
    if (hello === 'unknown_version') return turnedAway(hello);
    if (hello.to !== this.#self || hello.from === this.#self) return turnedAway('wrong_node');
    if (!fitsCluster(hello.cluster, this.#cluster())) return turnedAway('foreign_cluster');
    this.#hello = hello;
    return { state: 'waiting', send: stated('accepted', this.#nonce) };
  }
}

export class DialerHandshake {
  readonly #token: string;
  readonly #hello: Buffer;
  readonly #challenge = new Step(CHALLENGE_BYTES);
  readonly #verdict = new Step(RESULT_BYTES);
  #proved = false;

  constructor(token: string, hello: Hello) {
    this.#token = token;
    this.#hello = encodeHello(hello);
  }

  /** The bytes that are sent before any came. */
  get hello(): Buffer {
    return this.#hello;
  }

  push(piece: Buffer): Progress {
    if (!this.#proved) return this.#prove(this.#challenge.take(piece));
    const rest = this.#verdict.take(piece);
    if (rest === null) return MORE;
    const status = statusOf(this.#verdict.bytes);
    if (status !== 'accepted') return refused(status);
    // It took our proof for good without knowing the token: it only plays the node we want.
    const expected = proofOf(this.#token, 'acceptor', this.#hello, this.#nonce);
    const proof = this.#verdict.bytes.subarray(4);
    if (!timingSafeEqual(proof, expected)) return refused('wrong_token');
    return { state: 'open', send: NO_BYTES, rest };
  }

  get #nonce(): Buffer {
    return this.#challenge.bytes.subarray(4);
  }

  #prove(rest: Buffer | null): Progress {
    if (rest === null) return MORE;
    const status = statusOf(this.#challenge.bytes);
    if (status !== 'accepted') return refused(status);
    if (rest.length > 0) return refused('bad_hello');
    this.#proved = true;
    return { state: 'waiting', send: proofOf(this.#token, 'dialer', this.#hello, this.#nonce) };
  }
}

function stated(status: (typeof STATUSES)[number], what: Uint8Array): Buffer {
  const bytes = Buffer.alloc(4 + what.length);
  bytes.writeUInt32LE(STATUSES.indexOf(status), 0);
  bytes.set(what, 4);
  return bytes;
}

/** A number that is not listed is one of a later build, or comes from something that is no node. */
function statusOf(bytes: Buffer): (typeof STATUSES)[number] {
  return STATUSES[bytes.readUInt32LE(0)] ?? 'bad_hello';
}
