// Goal: the first retained offset at or after an instant, at append borders. Method: three appends
// a second apart, every instant around them, against a look at all of them.
import { describe, expect, test } from 'vitest';
import { EngineRig, TENANT } from '../testing/engine.fake.js';
import { walked } from '../testing/page.fake.js';
import { type FoundOffset, offsetsSince } from './offsets-since.js';

function ask(rig: EngineRig, queue: string, partition: string, sinceUs: number): FoundOffset {
  return walked(offsetsSince(rig.state, TENANT, [{ queue, partition, sinceUs }]))[0] as FoundOffset;
}

function threeAppends() {
  const rig = new EngineRig();
  const appends: { stampUs: number; offset: number }[] = [];
  let offset = 0;
  for (const count of [2, 3, 1]) {
    rig.push(
      'q',
      'p',
      Array.from({ length: count }, (_, i) => `${i}`),
      false,
    );
    appends.push({ stampUs: rig.wallUs, offset });
    offset += count;
    rig.advance(1000);
  }
  return { rig, appends };
}

describe('an instant', () => {
  const { rig, appends } = threeAppends();
  const instants = appends.flatMap(({ stampUs }) => [stampUs - 1, stampUs, stampUs + 1]);

  test.each([-1, 0, ...instants, Number.MAX_SAFE_INTEGER])('%i', (sinceUs) => {
    const first = appends.find(({ stampUs }) => stampUs >= sinceUs) ?? null;
    expect(ask(rig, 'q', 'p', sinceUs)).toEqual({
      offset: first?.offset ?? null,
      stampUs: first?.stampUs ?? null,
      highWatermark: 6,
      logStartOffset: 0,
      isUnknownQueue: false,
    });
  });
});

test('what is not there', () => {
  const { rig } = threeAppends();
  const nothing = { offset: null, stampUs: null, highWatermark: 0, logStartOffset: 0 };
  expect(ask(rig, 'none', 'p', 0)).toEqual({ ...nothing, isUnknownQueue: true });
  expect(ask(rig, 'q', 'none', 0)).toEqual({ ...nothing, isUnknownQueue: false });
  rig.configure('empty', {});
  expect(ask(rig, 'empty', 'Default', 0)).toEqual({ ...nothing, isUnknownQueue: false });
});
