// Goal: the three looks at a partition agree: what is counted is what would be shown, and the last
// value is the last of it, whatever hides and whatever has gone.
// Method: random appends on a clock that moves, random delays, windows, fronts and cursors; every
// look against a filter over the plain list of what was appended.
import { expect, test } from 'vitest';
import { appends, partitions, queues } from '../base/tables.js';
import { EngineRig } from '../testing/engine.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { countVisible, lookAt, lookAtNewest, type PopBudget, type Sight } from './pop-sight.js';

const ENDLESS = Number.POSITIVE_INFINITY;

function budget(): PopBudget {
  return {
    batch: 0,
    messages: ENDLESS,
    partitions: 1,
    bytes: ENDLESS,
    appends: ENDLESS,
    roomBytes: ENDLESS,
    neededBytes: 0,
  };
}

function offsetsOf(sight: Sight): number[] {
  if (sight.kind !== 'messages') return [];
  return sight.slices.flatMap(({ first, last }) =>
    Array.from({ length: last - first + 1 }, (_, i) => first + i),
  );
}

test.each([1, 2, 3, 4, 5])('seed %i', (seed) => {
  const random = new SeededRandom(seed);
  const rig = new EngineRig();
  for (let i = 0; i < 40; i++) {
    rig.push(
      'q',
      'p',
      Array.from({ length: 1 + random.below(3) }, (_, at) => `${i}.${at}`),
    );
    rig.advance(random.below(2000));
  }
  const [row] = rig.rows(partitions);
  const [queue] = rig.rows(queues);
  if (row === undefined || queue === undefined) throw new Error('nothing was pushed');
  const stamps: number[] = [];
  const borders = [0];
  for (const { count, stampUs } of rig.rows(appends)) {
    for (let left = count; left > 0; left--) stamps.push(stampUs);
    borders.push(stamps.length);
  }
  for (let i = 0; i < 300; i++) {
    const partition = { ...row, logStart: borders[random.below(borders.length)] ?? 0 };
    const options = {
      ...queue.options,
      delayedProcessing: random.below(3) === 0 ? 0 : random.below(60) - 5,
      windowBuffer: random.below(4) === 0 ? random.below(40) : 0,
    };
    const committed = random.below(row.nextOffset + 2) - 1;
    const delayUs = Math.max(options.delayedProcessing, 0) * 1_000_000;
    // Often the very instant at which something comes into view, or the one before.
    const sinceUs = random.below(2) === 0 ? delayUs - random.below(2) : random.below(30_000_000);
    const nowUs = (stamps[random.below(stamps.length)] ?? 0) + sinceUs;
    const moment = { state: rig.planner.state, nowUs };
    const closed = row.lastStampUs + options.windowBuffer * 1_000_000 > nowUs;
    const wanted = stamps.flatMap((stampUs, offset) => {
      const read = offset <= committed || offset < partition.logStart;
      const hidden = delayUs > 0 && stampUs + delayUs > nowUs;
      return read || hidden || (options.windowBuffer > 0 && closed) ? [] : [offset];
    });
    const look = [moment, options, partition, committed] as const;
    expect(offsetsOf(lookAt(...look, budget()))).toEqual(wanted);
    expect(offsetsOf(lookAtNewest(...look, budget()))).toEqual(wanted.slice(-1));
    expect(countVisible(...look)).toBe(wanted.length);
    expect(lookAtNewest(...look, budget()).kind).toBe(lookAt(...look, budget()).kind);
    const [plain, newest] = [lookAt(...look, budget()), lookAtNewest(...look, budget())];
    if (plain.kind === 'hidden') expect(newest).toEqual(plain);
  }
});
