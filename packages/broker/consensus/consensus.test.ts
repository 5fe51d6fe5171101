// Goal: committed entries are applied in order whatever the appliers call back, and an error inside
// a round of work ends the node, whoever catches it. Method: a voter by itself on a simulated disk,
// under a clock that the test moves.
import { configuration, type Entry, logIndex, NO_NODE, nodeId, term } from '@svc/raft';
import { HardStateFile, Log } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { describe, expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { Consensus } from './consensus.js';

const IDENTITY = new Uint8Array(16).fill(7);
const onFailure = (error: Error): void => {
  throw error;
};

class Lone {
  readonly clock = new MovedClock();
  readonly disk = new SimulatedDisk({ seed: 1 });
  readonly applied: number[] = [];
  /** Entries are taken while it is above 0. */
  room = Number.POSITIVE_INFINITY;
  onEntry: (entry: Entry) => void = () => {};
  readonly consensus: Consensus;

  /** How long each leader had not been heard when this node had none any more. */
  readonly silencesMs: number[] = [];

  constructor(voters: readonly number[] = [1]) {
    const { clock, disk } = this;
    this.consensus = new Consensus({
      id: nodeId(1),
      log: Log.open({
        disk,
        directory: '/log',
        identity: IDENTITY,
        segmentBytes: 65_536,
        damage: 'keep',
        onFailure,
      }),
      hardState: HardStateFile.open({ disk, directory: '/', identity: IDENTITY, onFailure }),
      clock,
      random: () => 0,
      settings: { electionTimeoutMs: 100, heartbeatMs: 10 },
      tickMs: 5,
      context: () => new Uint8Array(0),
      send: () => {},
      memoryToSend: (bytes) => new Uint8Array(bytes),
      catchUpBytesPerSecond: 1,
      isConsumed: () => true,
      snapshot: () => undefined,
      onDamage: () => {},
      onCommitted: (entries) => this.#take(entries),
      onApplied: () => {},
      onRole: ({ leader }) => {
        if (leader === NO_NODE) this.silencesMs.push(this.consensus.leaderSilenceMs);
      },
      onLoss: () => {},
      onAccepting: () => {},
    });
    const members = { configuration: configuration(voters.map(nodeId)), index: 0 };
    this.consensus.start(members, 0, false);
    this.settle();
  }

  #take(entries: readonly Entry[]): number {
    let count = 0;
    for (const entry of entries) {
      if (this.room <= 0) break;
      this.room--;
      count++;
      // An applier may ask for something before what it applies counts.
      this.onEntry(entry);
      this.applied.push(entry.index);
    }
    return count;
  }

  propose(): number {
    return this.consensus.propose(new Uint8Array(8))?.index ?? 0;
  }

  settle(): void {
    for (let round = 0; round < 20; round++) {
      this.disk.settle();
      this.clock.move(1);
    }
  }
}

describe('entries are applied in order, each once', () => {
  test.each([
    ['proposes', (lone: Lone) => void lone.propose()],
    ['reads', (lone: Lone) => lone.consensus.read(() => {})],
    ['asks for more', (lone: Lone) => lone.consensus.applyMore()],
  ])('when an applier that had no room %s while it goes on', (_does, call) => {
    const lone = new Lone();
    const first = lone.consensus.applied + 1;
    lone.room = 0;
    for (let i = 0; i < 3; i++) lone.propose();
    lone.settle();
    expect(lone.consensus.applied).toBe(first - 1);
    // Its write ends when there is room again: the same event commits it and applies the others.
    lone.propose();
    lone.room = Number.POSITIVE_INFINITY;
    let calls = 0;
    lone.onEntry = () => {
      calls++;
      if (calls <= 3) call(lone);
    };
    lone.settle();
    const { applied } = lone;
    expect(applied).toEqual(applied.map((_, at) => at + 1));
    expect(applied.length).toBeGreaterThanOrEqual(first + 3);
    expect(lone.consensus.applied).toBe(applied.at(-1));
  });
});

describe('an error inside a round of work', () => {
  class Bug extends Error {}

  function broken(): Lone {
    const lone = new Lone();
    lone.room = 0;
    lone.propose();
    lone.settle();
    lone.room = Number.POSITIVE_INFINITY;
    lone.onEntry = () => {
      lone.onEntry = () => {};
      throw new Bug('of an applier');
    };
    return lone;
  }

  test('ends the node, although its caller catches it', () => {
    const lone = broken();
    expect(() => lone.consensus.applyMore()).toThrow(Bug);
    // From the loop itself nobody catches it: the process ends.
    expect(() => lone.settle()).toThrow(Bug);
  });

  test('leaves nothing that would take part: it neither ticks, nor applies, nor answers', () => {
    const lone = broken();
    expect(() => lone.consensus.applyMore()).toThrow(Bug);
    const { applied } = lone;
    const before = [...applied];
    expect(() => lone.clock.move(0)).toThrow(Bug);
    lone.consensus.applyMore();
    lone.settle();
    expect(applied).toEqual(before);
    expect(lone.consensus.propose(new Uint8Array(1))).toBeNull();
    const answers: boolean[] = [];
    lone.consensus.read((confirmed) => answers.push(confirmed));
    expect(answers).toEqual([false]);
  });
});

test.each([0, 30])('a leader that falls silent after %i ms was heard so long ago', (afterMs) => {
  const lone = new Lone([1, 2]);
  const heard = { from: nodeId(2), to: nodeId(1), term: term(1), commit: logIndex(0) };
  lone.consensus.receive({ type: 'heartbeat', ...heard, round: 1, sentMs: 0 });
  lone.disk.settle();
  for (let ms = 0; ms < afterMs; ms++) lone.clock.move(1);
  lone.consensus.receive({ type: 'heartbeat', ...heard, round: 2, sentMs: 0 });
  expect(lone.consensus.leader).toBe(2);
  for (let ms = 0; ms < 150; ms++) lone.clock.move(1);
  expect(lone.consensus.leader).toBe(NO_NODE);
  const [silenceMs = Infinity] = lone.silencesMs;
  expect(silenceMs).toBeGreaterThanOrEqual(95);
  expect(silenceMs).toBeLessThanOrEqual(105);
});
