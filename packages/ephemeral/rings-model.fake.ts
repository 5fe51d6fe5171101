/**
 * What ephemeral queues must do, written as plainly as can be: every message has a state per group,
 * and each question walks over all of them. It is told what the rings answered and complains when
 * that could not be so.
 */
import type { AckOutcome } from './ephemeral-queue.js';
import type { Delivered } from './group-cursor.js';
import type { QueueTerms } from './queue-terms.js';

type MessageState = 'new' | 'leased' | 'returned' | 'settled';

interface ModelCursor {
  states: MessageState[];
  leasedMs: number[];
  attempts: number[];
  skipped: number;
}

interface ModelMessage {
  readonly payload: string;
  readonly atMs: number;
}

interface ModelRing {
  messages: ModelMessage[];
  cursors: Map<string, ModelCursor>;
}

export class ModelQueue {
  readonly rings = new Map<string, ModelRing>();
  readonly wholeGroups = new Set<string>();
  drops = { bounds: 0, ttl: 0, retry: 0 };

  /** null: they are stored. */
  push(
    terms: QueueTerms,
    partition: string,
    payloads: readonly string[],
    nowMs: number,
  ): 'queue_full' | 'ephemeral_too_large' | null {
    this.pass(terms, nowMs);
    const held = this.rings.get(partition)?.messages ?? [];
    const all = [...held, ...payloads.map((payload) => ({ payload, atMs: nowMs }))];
    const fits = (from: number) =>
      all.length - from <= terms.maxLength && sizeOf(all.slice(from)) <= terms.maxBytes;
    const isReject = terms.policy === 'reject';
    if (isReject && !fits(held.length)) return 'ephemeral_too_large';
    if (payloads.some(({ length }) => length > terms.maxBytes)) return 'ephemeral_too_large';
    if (isReject && !fits(0)) return 'queue_full';
    const ring = this.#ring(partition);
    ring.messages = all;
    for (const cursor of ring.cursors.values()) {
      for (let i = held.length; i < all.length; i++) addNew(cursor);
    }
    let from = 0;
    while (!fits(from)) from++;
    this.#lose(ring, from, 'bounds');
    this.#reclaim();
    return null;
  }

  /** A group that asks for the first time sees what is stored. */
  open(group: string, partition: string | null): void {
    if (partition !== null) this.#cursor(this.#ring(partition), group);
    else {
      this.wholeGroups.add(group);
      for (const ring of this.rings.values()) this.#cursor(ring, group);
    }
  }

  available(group: string, partition: string | null): number {
    let count = 0;
    for (const [name, ring] of this.rings) {
      if (partition !== null && name !== partition) continue;
      const states = ring.cursors.get(group)?.states ?? [];
      count += states.filter((state) => state === 'new' || state === 'returned').length;
    }
    return count;
  }

  /** Each message must be the next one of its partition. */
  popped(group: string, autoAck: boolean, delivered: readonly Delivered[], nowMs: number): void {
    for (const message of delivered) {
      const ring = this.#ring(message.partition);
      const cursor = this.#cursor(ring, group);
      const returned = cursor.states.indexOf('returned');
      const at = returned >= 0 ? returned : cursor.states.indexOf('new');
      const expected = ring.messages[at]?.payload;
      const text = String.fromCharCode(...message.bytes.subarray(message.start, message.end));
      if (expected !== text) throw new Error(`${message.partition}: ${text}, not ${expected}`);
      const attempts = cursor.attempts[at];
      if (attempts !== message.attempts) throw new Error(`${message.attempts} of ${attempts}`);
      cursor.states[at] = autoAck ? 'settled' : 'leased';
      cursor.leasedMs[at] = nowMs;
    }
    this.#reclaim();
  }

  /** By payload, which are all different. */
  ack(
    terms: QueueTerms,
    group: string,
    partition: string,
    payload: string,
    ok: boolean,
  ): AckOutcome {
    const ring = this.rings.get(partition);
    const cursor = ring?.cursors.get(group);
    const at = ring?.messages.findIndex((message) => message.payload === payload) ?? -1;
    if (cursor === undefined || at < 0 || cursor.states[at] !== 'leased') return 'unknown';
    if (ok) cursor.states[at] = 'settled';
    else if (!this.#failed(terms, cursor, at)) return 'redelivered';
    return 'acked';
  }

  /** After the acks of one call. */
  acked(): void {
    this.#reclaim();
  }

  /** Ages and leases. */
  pass(terms: QueueTerms, nowMs: number): void {
    for (const ring of this.rings.values()) {
      const { ttlSeconds, leaseSeconds } = terms;
      const isOld = ({ atMs }: ModelMessage) => atMs + ttlSeconds * 1000 <= nowMs;
      if (ttlSeconds > 0) this.#lose(ring, ring.messages.filter(isOld).length, 'ttl');
      for (const cursor of ring.cursors.values()) {
        cursor.states.forEach((state, at) => {
          const endsMs = (cursor.leasedMs[at] ?? 0) + leaseSeconds * 1000;
          if (state === 'leased' && endsMs <= nowMs) this.#failed(terms, cursor, at);
        });
      }
    }
    this.#reclaim();
  }

  reset(): number {
    let dropped = 0;
    for (const ring of this.rings.values()) {
      dropped += ring.messages.length;
      ring.messages = [];
      for (const cursor of ring.cursors.values()) {
        cursor.states = [];
        cursor.leasedMs = [];
        cursor.attempts = [];
      }
    }
    return dropped;
  }

  get bytes(): number {
    return [...this.rings.values()].reduce((sum, { messages }) => sum + sizeOf(messages), 0);
  }

  get length(): number {
    return [...this.rings.values()].reduce((sum, { messages }) => sum + messages.length, 0);
  }

  /** Leases are over, and each counts as a delivery that failed. */
  moved(partition: string): void {
    for (const cursor of this.rings.get(partition)?.cursors.values() ?? []) {
      cursor.states.forEach((state, at) => {
        if (state !== 'leased') return;
        cursor.states[at] = 'returned';
        cursor.attempts[at] = (cursor.attempts[at] ?? 0) + 1;
      });
    }
  }

  /** True when it was dropped. */
  #failed(terms: QueueTerms, cursor: ModelCursor, at: number): boolean {
    const attempts = (cursor.attempts[at] ?? 0) + 1;
    cursor.attempts[at] = attempts;
    const isSpent = attempts >= terms.retryLimit;
    cursor.states[at] = isSpent ? 'settled' : 'returned';
    if (isSpent) {
      this.drops.retry++;
      cursor.skipped++;
    }
    return isSpent;
  }

  #ring(partition: string): ModelRing {
    let ring = this.rings.get(partition);
    if (ring === undefined) {
      ring = { messages: [], cursors: new Map() };
      this.rings.set(partition, ring);
      for (const group of this.wholeGroups) this.#cursor(ring, group);
    }
    return ring;
  }

  #cursor(ring: ModelRing, group: string): ModelCursor {
    let cursor = ring.cursors.get(group);
    if (cursor === undefined) {
      cursor = { states: [], leasedMs: [], attempts: [], skipped: 0 };
      for (let i = 0; i < ring.messages.length; i++) addNew(cursor);
      ring.cursors.set(group, cursor);
    }
    return cursor;
  }

  #lose(ring: ModelRing, count: number, cause: 'bounds' | 'ttl'): void {
    this.drops[cause] += count;
    for (const cursor of ring.cursors.values()) {
      for (const state of cursor.states.slice(0, count)) {
        if (state === 'new' || state === 'returned') cursor.skipped++;
      }
    }
    cut(ring, count);
  }

  #reclaim(): void {
    for (const ring of this.rings.values()) {
      const cursors = [...ring.cursors.values()];
      if (cursors.length === 0) continue;
      let done = 0;
      while (done < ring.messages.length && cursors.every((c) => c.states[done] === 'settled')) {
        done++;
      }
      cut(ring, done);
    }
  }
}

function addNew(cursor: ModelCursor): void {
  cursor.states.push('new');
  cursor.leasedMs.push(0);
  cursor.attempts.push(0);
}

function cut(ring: ModelRing, count: number): void {
  ring.messages.splice(0, count);
  for (const cursor of ring.cursors.values()) {
    cursor.states.splice(0, count);
    cursor.leasedMs.splice(0, count);
    cursor.attempts.splice(0, count);
  }
}

function sizeOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, { payload }) => sum + payload.length, 0);
}
