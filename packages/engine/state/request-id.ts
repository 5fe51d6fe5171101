/**
 * Names of requests that one node sends to another, so that one that is sent again is recognised
 * wherever it arrives.
 *
 * A session is one life of a node: its member id and 64 random bits, drawn when the process starts.
 * Within it requests are numbered upward from 1. A request is *settled* once its sender will never
 * send it again: it has answered its client, or has given up. What is recorded of a settled request
 * serves nobody any more.
 *
 * A sender tells the lowest number that is not settled, and singly those above it that are: a poll
 * that waits for a minute would otherwise hold the records of a minute of pushes. Either may be
 * lost or told twice.
 */
import type { Key } from '../base/state.js';

/** 16 bytes as one-byte characters. */
export type RequestSession = string & { readonly __session: unique symbol };

export const SESSION_BYTES = 16;
/** What a key can hold: 48 bits, more than a node counts in its life. */
export const SEQUENCE_MAX = 2 ** 48 - 1;
/** Numbers told singly in one call, some 2 KiB; the others come with the next calls. */
export const SETTLED_MAX = 256;

export interface RequestId {
  readonly session: RequestSession;
  /** 1..SEQUENCE_MAX. */
  readonly sequence: number;
}

/** A request's id, and what its sender tells of its other requests. */
export interface RequestOrigin extends RequestId {
  /** Every number below this one is settled. At most `sequence`. */
  readonly settledBelow: number;
  /** Settled ones at or above it, in no particular order; never `sequence` itself. */
  readonly settled: readonly number[];
}

/** `member` is a member id; the others are unsigned 32-bit numbers drawn at random. */
export function newRequestSession(
  member: number,
  randomHigh: number,
  randomLow: number,
): RequestSession {
  const memberHigh = Math.floor(member / 0x1_0000_0000);
  return (u32(memberHigh) + u32(member) + u32(randomHigh) + u32(randomLow)) as RequestSession;
}

export function requestKey(session: RequestSession, sequence: number): Key {
  const high = Math.floor(sequence / 0x1_0000_0000);
  return (session + String.fromCharCode((high >>> 8) & 255, high & 255) + u32(sequence)) as Key;
}

/** Bounds of the keys of one session: behind it six bytes, none of them above `\xff`. */
export function sessionRange(session: RequestSession): readonly [Key, Key] {
  return [session as string as Key, `${session}\xff\xff\xff\xff\xff\xff\xff` as Key];
}

export function requestOfKey(key: Key): RequestId {
  let sequence = 0;
  for (let i = SESSION_BYTES; i < key.length; i++) sequence = sequence * 256 + key.charCodeAt(i);
  return { session: key.slice(0, SESSION_BYTES) as RequestSession, sequence };
}

function u32(value: number): string {
  return String.fromCharCode(
    (value >>> 24) & 255,
    (value >>> 16) & 255,
    (value >>> 8) & 255,
    value & 255,
  );
}
