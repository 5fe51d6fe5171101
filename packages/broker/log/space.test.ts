/**
 * Goal: no node ever gives up an entry that somebody needs, and what nobody needs goes. Method: a
 * leader and followers with logs that are only numbers; directed cases for each thing that holds
 * the floor, and random runs in which rows come and go, members lag, leaders change and frames are
 * lost or late, judged as each node is and as it would be after a restart.
 */
import { type Key, MapState, TABLES, type Table } from '@svc/engine';
import type { NodeId } from '@svc/raft';
import { describe, expect, test } from 'vitest';
import { memberId } from '../config/member-id.js';
import type { FrameContent } from '../peers/frames.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { seededRandom } from '../testing/recovery.fake.js';
import { type HoldingMember, LogSpace, type LogSpaceSettings, type SpaceLeft } from './space.js';

const HOLD_MS = 600_000;
const SETTINGS: LogSpaceSettings = { purgeHoldMs: HOLD_MS, keepEntries: 0, purgeStep: 1 };

interface LogUseRow {
  readonly appends: number;
  readonly bytes: number;
}

const logUse = TABLES.find(({ name }) => name === 'logUse') as unknown as Table<LogUseRow>;
const STRETCH = 64;

/** An append that stands in the entry comes or goes. */
function count(state: MapState, index: number, by: 1 | -1): void {
  const stretch = Math.floor(index / STRETCH);
  const key = String.fromCharCode(0, 0, 0, 0, 0, 0, stretch >> 8, stretch & 255) as Key;
  const appends = (state.get(logUse, key)?.appends ?? 0) + by;
  if (appends === 0) state.delete(logUse, key);
  else state.put(logUse, key, { appends, bytes: appends });
}

class FakeLog {
  firstIndex = 1;
  damagedAt: number | null = null;
  hurried = 0;

  isDamagedBefore(index: number): boolean {
    return this.damagedAt !== null && this.damagedAt < index;
  }

  buryBefore(index: number): void {
    if (this.damagedAt !== null) this.firstIndex = Math.min(index, this.damagedAt + 1);
    this.damagedAt = null;
  }

  removeBefore(index: number, done: () => void): void {
    expect(index).toBeGreaterThan(this.firstIndex);
    this.firstIndex = index;
    done();
  }

  hurrySpace(): void {
    this.hurried++;
  }
}

class FakeNode {
  readonly state = new MapState();
  readonly log = new FakeLog();
  readonly sent: FrameContent[] = [];
  /** Entries that rows refer to; the random test's. */
  readonly live: number[] = [];
  applied = 0;
  checkpoint = 0;
  term = 1;
  members: HoldingMember[] | null = null;
  held: number | null = null;
  /** What a standby reads. */
  read: number | null = null;
  left: SpaceLeft = 'enough';
  alone = false;
  /** The log is longer than what is live in it allows. */
  long = false;
  readonly space: LogSpace;

  constructor(
    readonly clock: MovedClock,
    settings: LogSpaceSettings = SETTINGS,
    send: (to: NodeId, content: FrameContent) => void = () => {},
  ) {
    const node = this;
    this.space = new LogSpace({
      state: this.state,
      log: this.log,
      clock,
      budget: { step: () => {}, isExceededFrom: () => this.long },
      relocation: { start: () => {}, stop: () => {} },
      settings,
      get alone() {
        return node.alone;
      },
      space: () => this.left,
      appliedIndex: () => this.applied,
      checkpointIndex: () => this.checkpoint,
      leading: () => (this.members === null ? null : { term: this.term, members: this.members }),
      sender: {
        get heldFrom() {
          return node.held;
        },
      },
      holds: {
        get heldFrom() {
          return node.read;
        },
      },
      send: (to, content) => {
        this.sent.push(content);
        send(to, content);
        return true;
      },
    });
  }

  at(index: number): this {
    this.applied = index;
    this.checkpoint = index;
    return this;
  }
}

function member(number: number, match: number): HoldingMember {
  return { id: memberId(number, 0), match };
}

describe('the log of a leader', () => {
  test('goes up to the checkpoint when no row refers to it', () => {
    const node = new FakeNode(new MovedClock()).at(50);
    node.members = [];
    node.applied = 60;
    node.space.step();
    // The floor is of entry 60, and the checkpoint does not reach it.
    expect(node.log.firstIndex).toBe(1);
    node.at(70).space.step();
    expect(node.log.firstIndex).toBe(71);
  });

  test('stays from the first entry on that a row refers to', () => {
    const node = new FakeNode(new MovedClock()).at(500);
    node.members = [];
    count(node.state, 200, 1);
    node.space.step();
    expect(node.log.firstIndex).toBe(192);
  });

  test('stays for a member that goes on, and for one that stands still for a while', () => {
    const clock = new MovedClock();
    const node = new FakeNode(clock).at(50);
    node.members = [member(2, 30), member(3, 10)];
    node.space.step();
    expect(node.log.firstIndex).toBe(11);
    clock.move(HOLD_MS);
    node.members = [member(2, 31), member(3, 10)];
    node.space.step();
    expect(node.log.firstIndex).toBe(11);
    clock.move(1);
    node.space.step();
    expect(node.log.firstIndex).toBe(32);
  });

  test('is held by one that was idle from the first entry on that it lacks', () => {
    const clock = new MovedClock();
    const node = new FakeNode(clock).at(50);
    node.members = [member(2, 50)];
    node.space.step();
    clock.move(2 * HOLD_MS);
    node.space.step();
    node.at(60);
    node.space.step();
    expect(node.log.firstIndex).toBe(51);
    clock.move(HOLD_MS + 1);
    node.space.step();
    expect(node.log.firstIndex).toBe(61);
  });

  test('stays for members that a new leader has not heard yet', () => {
    const clock = new MovedClock();
    const node = new FakeNode(clock).at(50);
    node.members = [member(2, 0)];
    clock.move(2 * HOLD_MS);
    node.space.step();
    clock.move(HOLD_MS);
    node.space.step();
    expect(node.log.firstIndex).toBe(1);
    node.term = 2;
    node.space.step();
    clock.move(HOLD_MS);
    node.space.step();
    expect(node.log.firstIndex).toBe(1);
    clock.move(1);
    node.space.step();
    expect(node.log.firstIndex).toBe(51);
  });

  test('is held by nobody once space is short, but by a transfer until it is full', () => {
    const node = new FakeNode(new MovedClock(), { ...SETTINGS, keepEntries: 5, purgeStep: 100 });
    node.at(90).members = [member(2, 20)];
    node.held = 40;
    node.space.step();
    expect([node.log.firstIndex, node.log.hurried]).toEqual([1, 0]);
    node.left = 'short';
    node.space.step();
    expect([node.log.firstIndex, node.log.hurried]).toEqual([40, 1]);
    node.left = 'full';
    node.space.step();
    expect(node.log.firstIndex).toBe(91);
  });

  test('gives what removed segments hold back at once when nobody goes on with it', () => {
    const node = new FakeNode(new MovedClock()).at(90);
    node.space.start();
    expect(node.log.hurried).toBe(0);
    node.space.stop();
    expect(node.log.hurried).toBe(1);
  });

  test.each(['short', 'long'] as const)('stays whole on a node alone until it is %s', (why) => {
    const node = new FakeNode(new MovedClock()).at(50);
    node.alone = true;
    node.members = [];
    node.space.step();
    expect(node.log.firstIndex).toBe(1);
    if (why === 'short') node.left = 'short';
    else node.long = true;
    node.space.step();
    expect(node.log.firstIndex).toBe(51);
    // The rest of the log rebuilds nothing.
    node.left = 'enough';
    node.long = false;
    node.at(70).space.step();
    expect(node.log.firstIndex).toBe(71);
  });

  test('keeps no spare entries, and goes at once, where it is too long', () => {
    const node = new FakeNode(new MovedClock(), { ...SETTINGS, keepEntries: 30, purgeStep: 100 });
    node.at(50).members = [];
    node.space.step();
    expect(node.log.firstIndex).toBe(1);
    node.long = true;
    node.space.step();
    expect(node.log.firstIndex).toBe(51);
  });

  test('goes under load too, where no checkpoint reaches the newest floor', () => {
    const node = new FakeNode(new MovedClock());
    node.members = [];
    for (let step = 1; step <= 40; step++) {
      node.applied = 10 * step;
      if (step % 2 === 0) node.checkpoint = node.applied - 5;
      node.space.step();
    }
    expect(node.log.firstIndex).toBeGreaterThan(300);
  });

  test('stays while a snapshot is on its way, and by the entries to keep', () => {
    const node = new FakeNode(new MovedClock(), { ...SETTINGS, keepEntries: 5 }).at(50);
    node.members = [];
    node.held = 40;
    node.space.step();
    expect(node.log.firstIndex).toBe(35);
    node.held = null;
    node.space.step();
    expect(node.log.firstIndex).toBe(46);
  });

  test('stays for a standby, also when space is full, and goes when it has read on', () => {
    const node = new FakeNode(new MovedClock(), { ...SETTINGS, keepEntries: 5, purgeStep: 100 });
    node.at(90).members = [];
    node.read = 40;
    for (const left of ['short', 'full'] as const) {
      node.left = left;
      node.space.step();
      // The entry that the standby has applied stays: its term is compared.
      expect([node.log.firstIndex, node.space.floor]).toEqual([40, 40]);
    }
    node.read = 60;
    node.space.step();
    expect(node.log.firstIndex).toBe(60);
    node.read = null;
    node.space.step();
    expect(node.log.firstIndex).toBe(91);
  });

  test('stays whole for a standby that has nothing yet', () => {
    const node = new FakeNode(new MovedClock()).at(50);
    node.members = [];
    node.read = 0;
    node.space.step();
    expect(node.log.firstIndex).toBe(1);
  });

  test('is given up in steps', () => {
    const node = new FakeNode(new MovedClock(), { ...SETTINGS, purgeStep: 100 }).at(99);
    node.members = [];
    node.space.step();
    expect(node.log.firstIndex).toBe(1);
    node.at(100).space.step();
    expect(node.log.firstIndex).toBe(101);
  });

  test('is given up where it is damaged and nobody repairs it, however little that is', () => {
    const clock = new MovedClock();
    const node = new FakeNode(clock, { ...SETTINGS, purgeStep: 100 }).at(50);
    node.members = [];
    node.log.damagedAt = 51;
    node.space.step();
    clock.move(20_000);
    node.space.step();
    expect(node.log.firstIndex).toBe(1);
    node.log.damagedAt = 20;
    node.space.step();
    clock.move(9000);
    node.space.step();
    expect(node.log.firstIndex).toBe(1);
    clock.move(1000);
    node.space.step();
    expect(node.log.firstIndex).toBe(21);
  });
});

describe('the log of a follower', () => {
  const floor = { kind: 'log-floor', term: 1, floor: 40, asOf: 60 } as const;

  test('goes by the floor of its leader, when its checkpoint is there', () => {
    const node = new FakeNode(new MovedClock()).at(59);
    node.space.onFloor(floor);
    expect(node.log.firstIndex).toBe(1);
    node.at(60).space.step();
    expect(node.log.firstIndex).toBe(40);
    node.space.onFloor({ ...floor, floor: 30 });
    node.space.onFloor({ ...floor, term: 0, floor: 50 });
    node.space.step();
    expect([node.log.firstIndex, node.space.floor]).toEqual([40, 40]);
  });

  test('stays by itself without a floor, and for those it serves', () => {
    const node = new FakeNode(new MovedClock()).at(90);
    node.space.step();
    expect(node.log.firstIndex).toBe(1);
    node.held = 7;
    node.read = 9;
    node.space.onFloor(floor);
    expect(node.log.firstIndex).toBe(7);
    node.held = null;
    node.space.step();
    expect(node.log.firstIndex).toBe(9);
  });

  test('is told a floor again that it may have missed, and not all the time', () => {
    const clock = new MovedClock();
    const node = new FakeNode(clock).at(50);
    node.members = [member(2, 50)];
    node.space.start();
    clock.move(20_000);
    node.space.stop();
    expect(node.sent.length).toBeGreaterThan(2);
    expect(node.sent.length).toBeLessThan(7);
    clock.move(20_000);
    expect(node.sent.length).toBeLessThan(7);
  });
});

test.each(Array.from({ length: 40 }, (_, i) => i + 1))(
  'nobody gives up what a row, at any node and restart, refers to (seed %i)',
  (seed) => {
    const random = seededRandom(seed);
    const clock = new MovedClock();
    const late: { readonly to: number; readonly content: FrameContent }[] = [];
    const nodes = [1, 2, 3].map(
      () => new FakeNode(clock, SETTINGS, (to, content) => late.push({ to: Number(to), content })),
    );
    /**
     * What each entry does: adds a row that refers to it, or deletes one, most often an old one.
     */
    const entries: { readonly takes: number; readonly adds: boolean }[] = [];
    const play = (node: FakeNode, from: number, to: number) => {
      for (let index = from; index <= to; index++) {
        const { adds, takes } = entries[index - 1] ?? { adds: false, takes: 0 };
        if (adds) {
          node.live.push(index);
          count(node.state, index, 1);
          continue;
        }
        // Any age, as with rows that are moved or trimmed.
        const [gone] = node.live.splice(Math.floor(takes * node.live.length), 1);
        if (gone !== undefined) count(node.state, gone, -1);
      }
      node.applied = to;
    };
    let leader = 0;
    let given = 0;
    for (let step = 0; step < 120; step++) {
      if (random.chance(0.02)) leader = random.below(3);
      for (let more = random.below(6); more > 0; more--) {
        entries.push({
          takes: random.chance(0.7) ? 0 : random.chance(0.5) ? 0.2 : 0.9,
          adds: random.chance(0.45),
        });
      }
      nodes.forEach((node, i) => {
        const to = i === leader ? entries.length : random.between(node.applied, entries.length);
        play(node, node.applied + 1, to);
        if (random.chance(0.3)) node.checkpoint = node.applied;
        node.term = step;
        node.members = null;
      });
      const chief = nodes[leader] as FakeNode;
      chief.members = nodes.flatMap((node, i) => {
        return node === chief ? [] : [member(i + 1, node.applied)];
      });
      clock.move(500);
      for (const node of nodes) node.space.step();
      for (let some = random.below(4); some > 0 && late.length > 0; some--) {
        const [packet] = late.splice(random.below(late.length), 1);
        const to = nodes[Math.floor((packet?.to ?? 0) / 2 ** 32) - 1];
        if (packet?.content.kind === 'log-floor') to?.space.onFloor(packet.content);
      }
      for (const node of step % 6 === 0 ? nodes : []) {
        // A restart is back at the checkpoint, and replays from there.
        const again = new FakeNode(clock);
        play(again, 1, node.checkpoint);
        for (let index = node.checkpoint; index <= node.applied; index++) {
          if (index > node.checkpoint) play(again, index, index);
          const lowest = Math.min(...again.live);
          expect([seed, step, lowest >= node.log.firstIndex]).toEqual([seed, step, true]);
        }
        expect(node.log.firstIndex).toBeLessThanOrEqual(node.checkpoint + 1);
        given = Math.max(given, node.log.firstIndex);
      }
    }
    expect(given).toBeGreaterThan(1);
  },
);
