/**
 * Goal: of what arrives, a receiver takes exactly the chunk that it asked for, and nothing that was
 * overtaken by a newer offer. Method: a second store whose steps end when the test says so, and
 * chunks made by hand.
 */
import type { NodeId } from '@svc/raft';
import { describe, expect, test } from 'vitest';
import { memberId } from '../config/member-id.js';
import type { Incoming } from '../directory/state-store.js';
import type { FrameContent, SnapshotChunk, SnapshotName } from '../peers/frames.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { type SnapshotOffer, SnapshotReceiver } from './snapshot-receiver.js';

const LEADER = memberId(1, 0);
const OTHER = memberId(2, 0);
const NAME: SnapshotName = {
  index: 100,
  term: 2,
  digest: '0123456789abcdef',
  localDigest: 'ffffffffffffffff',
};
const OFFER: SnapshotOffer = { from: LEADER, index: 49, term: 1 };

class Fixture {
  readonly clock = new MovedClock();
  readonly asks: { readonly to: NodeId; readonly content: FrameContent }[] = [];
  readonly written: string[] = [];
  readonly received: SnapshotOffer[] = [];
  readonly reports: string[] = [];
  /** The store's step that has not ended. */
  pending: ((error: Error | null) => void) | null = null;
  needed = true;
  #attempts = 0;
  #lastKey: string | null = null;
  readonly receiver = new SnapshotReceiver({
    store: {
      received: () => null,
      receive: (name, done) => {
        this.#lastKey = null;
        done(this.#incoming(name));
      },
    },
    send: (to, content) => this.asks.push({ to, content }) > 0,
    clock: this.clock,
    drawAttempt: () => ++this.#attempts,
    report: (text) => this.reports.push(text),
    stillNeeded: () => this.needed,
    onReceived: (offer) => this.received.push(offer),
    onFailure: (error) => {
      throw error;
    },
  });

  #incoming(name: SnapshotName): Incoming {
    const fixture = this;
    return {
      name,
      get lastKey() {
        return fixture.#lastKey;
      },
      write: (rows, done) => {
        fixture.pending = (error) => {
          fixture.written.push(...rows.map(({ key }) => key));
          fixture.#lastKey = rows.at(-1)?.key ?? fixture.#lastKey;
          done(error);
        };
      },
      finish: (done) => {
        fixture.pending = done;
      },
    };
  }

  end(): void {
    const { pending } = this;
    this.pending = null;
    pending?.(null);
  }

  chunk(after: string | null, keys: string, more: Partial<SnapshotChunk> = {}): void {
    const rows = [...keys].map((key) => ({ key, value: new Uint8Array(4) }));
    this.receiver.onChunk(LEADER, {
      kind: 'snapshot-chunk',
      attempt: this.#attempts,
      name: NAME,
      after,
      rows,
      isLast: false,
      ...more,
    });
  }

  get lastAsk(): FrameContent | undefined {
    return this.asks.at(-1)?.content;
  }
}

/** The first chunk has said which rows these are, and `a`, `b` are written. */
function begun(): Fixture {
  const fixture = new Fixture();
  fixture.receiver.onOffer(OFFER);
  fixture.chunk(null, 'ab');
  fixture.chunk(null, 'ab');
  fixture.end();
  expect(fixture.written).toEqual(['a', 'b']);
  return fixture;
}

describe('a receiver', () => {
  test('asks for what follows the last key it has', () => {
    const fixture = begun();
    expect(fixture.lastAsk).toEqual({ kind: 'snapshot-ask', attempt: 1, name: NAME, after: 'b' });
    fixture.clock.move(1600);
    expect(fixture.asks.length).toBe(6);
  });

  test('takes no chunk but the one it asked for', () => {
    const fixture = begun();
    fixture.chunk('c', 'd');
    fixture.chunk(null, 'ab');
    fixture.chunk('b', 'c', { attempt: 7 });
    fixture.chunk('b', 'c', { name: { ...NAME, index: 101 } });
    fixture.chunk('b', 'c', { name: { ...NAME, term: 3 } });
    fixture.chunk('b', 'c', { name: { ...NAME, digest: '0000000000000000' } });
    fixture.chunk('b', 'c', { name: { ...NAME, localDigest: '0000000000000000' } });
    fixture.chunk('b', '');
    fixture.receiver.onChunk(OTHER, {
      kind: 'snapshot-chunk',
      attempt: 1,
      name: NAME,
      after: 'b',
      rows: [{ key: 'c', value: new Uint8Array(4) }],
      isLast: false,
    });
    fixture.receiver.onRefused(OTHER, { kind: 'snapshot-refused', attempt: 1, reason: 'gone' });
    fixture.receiver.onRefused(LEADER, { kind: 'snapshot-refused', attempt: 9, reason: 'gone' });
    expect(fixture.pending).toBeNull();
    expect(fixture.reports.length).toBe(1);
    fixture.chunk('b', 'c');
    expect(fixture.pending).not.toBeNull();
  });

  test('takes one chunk at a time', () => {
    const fixture = begun();
    fixture.chunk('b', 'c');
    const first = fixture.pending;
    fixture.chunk('b', 'c');
    fixture.chunk('c', 'd');
    expect(fixture.pending).toBe(first);
    fixture.end();
    expect(fixture.written).toEqual(['a', 'b', 'c']);
  });

  test('does not begin with rows that are older than the log they go with', () => {
    const fixture = new Fixture();
    fixture.receiver.onOffer(OFFER);
    fixture.chunk(null, 'a', { name: { ...NAME, index: 48 } });
    expect(fixture.pending).toBeNull();
    fixture.clock.move(500);
    expect(fixture.lastAsk).toMatchObject({ name: null, after: null });
  });

  test('does not install rows that a newer offer overtook while they were verified', () => {
    const fixture = begun();
    fixture.chunk('b', '', { isLast: true });
    fixture.end();
    fixture.receiver.onOffer({ ...OFFER, index: 150 });
    fixture.end();
    expect(fixture.received).toEqual([]);
    expect(fixture.lastAsk).toMatchObject({ attempt: 2, name: null, after: null });
  });

  test('installs with the newest offer, once, and is silent after it', () => {
    const fixture = begun();
    fixture.chunk('b', 'c', { isLast: true });
    fixture.end();
    const newest = { from: OTHER, index: 90, term: 2 };
    fixture.receiver.onOffer(newest);
    fixture.end();
    expect(fixture.received).toEqual([newest]);
    const asked = fixture.asks.length;
    fixture.receiver.onOffer(newest);
    fixture.clock.move(10_000);
    expect(fixture.asks.length).toBe(asked);
  });

  test('asks consensus last, and drops rows that it does not need any more', () => {
    const fixture = begun();
    fixture.chunk('b', 'c', { isLast: true });
    fixture.end();
    fixture.needed = false;
    fixture.end();
    expect(fixture.received).toEqual([]);
    expect(fixture.receiver.active).toBe(false);
  });

  test('waits when the source is busy, and begins anew when it let go', () => {
    const fixture = begun();
    fixture.receiver.onRefused(LEADER, { kind: 'snapshot-refused', attempt: 1, reason: 'busy' });
    const asked = fixture.asks.length;
    fixture.clock.move(900);
    expect(fixture.asks.length).toBe(asked);
    fixture.clock.move(200);
    expect(fixture.lastAsk).toMatchObject({ attempt: 1, after: 'b' });
    fixture.receiver.onRefused(LEADER, { kind: 'snapshot-refused', attempt: 1, reason: 'gone' });
    expect(fixture.lastAsk).toMatchObject({ attempt: 2, name: null, after: null });
  });
});
