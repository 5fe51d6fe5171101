/**
 * Goal: what the leadership of a standby takes, refuses and proposes, and in which order, at the
 * bounds that whole nodes seldom meet. Method: a proposer that the test commits by hand.
 */
import { crc32 } from 'node:zlib';
import {
  applyEntry,
  MapState,
  MirrorPlan,
  type Outcome,
  roleBody,
  type StandbyRoleRow,
  standbyRoleOf,
} from '@svc/engine';
import { lastingCrc } from '@svc/storage';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Request } from './leader.js';
import { StandbyLeader } from './standby-leader.js';

const ROLE: StandbyRoleRow = {
  role: 'standby',
  id: '5e1f09c2',
  source: 'a:7400',
  sourceCluster: null,
  atUs: 0,
  wallUs: 1,
  position: null,
};
const PIPELINE_MAX = 3;

let state: MapState;
let proposed: { index: number; term: number; body: Uint8Array }[];
let accepting: boolean;
let refuses: boolean;
let hasSpace: boolean;
let readByAll: number | null;
let promotions: number;
let rooms: number;
let turns: (() => void)[];
let leader: StandbyLeader;

/** An entry of the source that moves its clock of timers: no effect is simpler. */
function entry(index: number, stampUs = index * 10) {
  const head = [2, 0, 0, 0, 0, 0, 0, stampUs >> 8, stampUs & 255];
  // timer-clock: kind 27, one byte.
  return { index, term: 1, body: new Uint8Array([...head, 27, 0, 0, 0, 1, index]) };
}

function lead(begins: StandbyRoleRow | null): StandbyLeader {
  const made = new StandbyLeader({
    state,
    proposer: {
      get nextIndex() {
        return proposed.length + 1;
      },
      get accepting() {
        return accepting;
      },
      propose: (body) => {
        if (refuses) return null;
        const one = { index: proposed.length + 1, term: 7, body };
        proposed.push(one);
        return one;
      },
    },
    clock: {
      wallUs: () => 99,
      soon: (work) => {
        turns.push(work);
        return () => {
          turns = turns.filter((one) => one !== work);
        };
      },
    },
    pipelineMax: PIPELINE_MAX,
    readByAll: () => readByAll,
    hasSpace: () => hasSpace,
    begins,
    onPromoted: () => promotions++,
  });
  made.onRoom = () => rooms++;
  turn();
  return made;
}

function turn(): void {
  for (const work of turns.splice(0)) work();
}

let applied = 0;

function apply(count = proposed.length - applied): void {
  for (let i = 0; i < count; i++) {
    const one = proposed[applied++];
    if (one === undefined) throw new Error('nothing is in flight');
    applyEntry(state, { insertBytes: () => {} }, one.index, one.body);
    leader.applied(one.index, one.term);
  }
  turn();
}

function request(kind: 'promote' | 'give-back' = 'promote'): Request & { outcomes: Outcome[] } {
  const outcomes: Outcome[] = [];
  const command = { kind } as Request['command'];
  return { command, origin: null, outcomes, onOutcome: (one) => void outcomes.push(one) };
}

beforeEach(() => {
  state = new MapState();
  proposed = [];
  applied = 0;
  accepting = true;
  refuses = false;
  hasSpace = true;
  readByAll = 5;
  promotions = 0;
  rooms = 0;
  turns = [];
  leader = lead(ROLE);
});

describe('entries of the source', () => {
  test.each([
    ['a primary', []],
    ['a standby', [34, 0, 0, 0, 3, 0, 9, 1]],
  ])('a large one of %s has the checksum of its bytes, and they are not read', (_, mirror) => {
    const { index, term, body } = entry(1);
    const [head, effect] = [body.subarray(0, 9), body.subarray(9)];
    const effects = Array.from({ length: 4000 }, () => effect);
    const large = new Uint8Array(Buffer.concat([head, new Uint8Array(mirror), ...effects]));
    expect(leader.mirror(0, { index, term, body: large })).toEqual({ kind: 'proposed' });
    const { body: mirrored } = proposed.at(-1) ?? { body: large };
    const whole = crc32(mirrored);
    // A body must not be changed. The checksum that was kept does not see it.
    mirrored[mirrored.length - 1] = 0;
    expect(lastingCrc(mirrored)).toBe(whole);
  });

  test('are proposed up to the bound of the pipeline, and again when one is applied', () => {
    expect(leader.mirror(0, entry(1)).kind).toBe('proposed');
    expect(leader.mirror(1, entry(2)).kind).toBe('proposed');
    expect(leader.mirror(2, entry(3)).kind).toBe('full');
    expect(leader.inFlight.entries).toBe(PIPELINE_MAX);
    expect([leader.position.index, leader.appliedPosition.index]).toEqual([2, 0]);
    apply(2);
    expect([rooms > 0, leader.appliedPosition.index]).toEqual([true, 1]);
    expect(leader.mirror(2, entry(3)).kind).toBe('proposed');
  });

  test('are not taken while leadership is handed over, and again when that came to nothing', () => {
    accepting = false;
    expect(leader.mirror(0, entry(1)).kind).toBe('full');
    accepting = true;
    const before = rooms;
    leader.resume();
    turn();
    expect(rooms).toBe(before + 1);
    expect(leader.mirror(0, entry(1)).kind).toBe('proposed');
  });

  test('wait while a volume is full, and a promotion does not', () => {
    hasSpace = false;
    const before = proposed.length;
    const full = { kind: 'waits', error: 'a volume of this standby is full' };
    expect(leader.mirror(0, entry(1))).toEqual(full);
    expect(proposed).toHaveLength(before);
    hasSpace = true;
    expect(leader.mirror(0, entry(1)).kind).toBe('proposed');
    hasSpace = false;
    leader.submit(request());
    turn();
    expect(proposed).toHaveLength(before + 2);
  });

  test('that raise the version wait as long as one member has not said what it reads', () => {
    readByAll = null;
    // cluster-version: kind 10, version 5, which this build reads.
    const head = [2, 0, 0, 0, 0, 0, 0, 0, 10];
    const raise = { index: 1, term: 1, body: new Uint8Array([...head, 10, 0, 0, 0, 1, 5]) };
    expect(leader.mirror(0, raise).kind).toBe('waits');
    readByAll = 5;
    expect(leader.mirror(0, raise).kind).toBe('proposed');
  });

  test('that diverge are not proposed, and others are once nothing is in flight', () => {
    leader.mirror(0, entry(1));
    const count = proposed.length;
    expect(leader.mirror(1, entry(2, 5))).toMatchObject({ kind: 'diverged' });
    expect([proposed.length, leader.position.index]).toEqual([count, 1]);
    // The state of that plan is half changed.
    leader.mirror(1, { ...entry(2), body: new Uint8Array([...entry(2).body, 200, 0, 0, 0, 0]) });
    expect(leader.mirror(1, entry(2)).kind).toBe('full');
    apply();
    expect(leader.mirror(1, entry(2)).kind).toBe('proposed');
    apply();
    expect(leader.appliedPosition.index).toBe(2);
  });

  test('are not proposed while consensus tells what is applied', () => {
    apply();
    leader.mirror(0, entry(1));
    leader.mirror(1, entry(2));
    let mirrored = 2;
    leader.onRoom = () => {
      while (leader.mirror(mirrored, entry(mirrored + 1)).kind === 'proposed') mirrored++;
    };
    const before = proposed.length;
    for (const { index, term, body } of proposed.slice(applied)) {
      applyEntry(state, { insertBytes: () => {} }, index, body);
      leader.applied(index, term);
      expect(proposed.length).toBe(before);
    }
    turn();
    expect(proposed.length).toBe(before + PIPELINE_MAX);
  });

  test('end the leadership when consensus does not take them where they were judged for', () => {
    refuses = true;
    expect(leader.mirror(0, entry(1)).kind).toBe('moved');
    expect([leader.stopped, leader.mirror(0, entry(1)).kind]).toEqual([true, 'full']);
  });
});

test('the role is taken when proposals are accepted, before any entry', () => {
  proposed = [];
  accepting = false;
  leader = lead(ROLE);
  expect(proposed).toEqual([]);
  accepting = true;
  leader.resume();
  turn();
  expect(proposed.map(({ body }) => body)).toEqual([roleBody(0, ROLE)]);
});

test('the first contact with a source is noted once', () => {
  apply();
  leader.noteSource('cluster-1');
  leader.noteSource('cluster-2');
  apply();
  expect(proposed.length).toBe(2);
  expect(standbyRoleOf(state)).toEqual({ ...ROLE, sourceCluster: 'cluster-1' });
});

test('entries of a source are not taken before it is noted', () => {
  apply();
  accepting = false;
  leader.noteSource('source-1');
  // Whoever asks meanwhile is told, and another cluster is met too late.
  expect(leader.role.sourceCluster).toBe('source-1');
  leader.noteSource('source-2');
  accepting = true;
  expect(leader.mirror(0, entry(1)).kind).toBe('full');
  leader.resume();
  turn();
  expect(leader.mirror(0, entry(1)).kind).toBe('proposed');
  apply();
  expect(standbyRoleOf(state)?.sourceCluster).toBe('source-1');
});

describe('a promotion', () => {
  test('is answered when it is applied and somebody else leads in its place', () => {
    leader.mirror(0, entry(1));
    const [first, second] = [request(), request()];
    leader.submit(first);
    turn();
    expect(leader.mirror(1, entry(2)).kind).toBe('full');
    leader.submit(second);
    expect(leader.idle).toBe(false);
    apply(2);
    expect([first.outcomes, promotions]).toEqual([[], 0]);
    apply();
    const promoted = [{ kind: 'promoted', wasStandby: true }];
    expect([first.outcomes, second.outcomes, promotions]).toEqual([promoted, promoted, 1]);
    expect(standbyRoleOf(state)).toMatchObject({
      role: 'promoted',
      position: { index: 1, term: 1, stampUs: 10 },
      atUs: 10,
      wallUs: 99,
    });
    expect(proposed.length).toBe(3);
  });

  test('waits for the end of a transfer that comes to nothing', () => {
    accepting = false;
    const asked = request();
    leader.submit(asked);
    accepting = true;
    leader.resume();
    turn();
    apply();
    expect(asked.outcomes.length).toBe(1);
  });

  test('waits for a plan that is not spoiled', () => {
    leader.mirror(0, entry(1));
    leader.mirror(1, { ...entry(2), body: new Uint8Array([...entry(2).body, 200, 0, 0, 0, 0]) });
    const asked = request();
    leader.submit(asked);
    const count = proposed.length;
    apply(count);
    expect(proposed.length).toBe(count + 1);
    apply();
    expect([asked.outcomes.length, standbyRoleOf(state)?.position?.index]).toEqual([1, 1]);
  });

  test('that is in flight when the leadership ends is told, and not answered', () => {
    apply();
    const asked = request();
    leader.submit(asked);
    turn();
    const left = leader.stop();
    expect(left.map(({ index, answers }) => [index, answers.length])).toEqual([[2, 1]]);
    expect(asked.outcomes).toEqual([]);
  });
});

test('every other command is refused at once', () => {
  const asked = request('give-back');
  leader.submit(asked);
  expect(asked.outcomes).toMatchObject([{ refusal: { reason: 'standby' } }]);
});

test('a leadership begins where the state is', () => {
  leader.mirror(0, entry(1));
  apply();
  leader.stop();
  leader = lead(null);
  expect([leader.position.index, leader.role.id]).toEqual([1, ROLE.id]);
  expect(new MirrorPlan(state).position.index).toBe(1);
});
