/**
 * Goal: what is handed over to be moved is moved once, if it is still where it was read, and also
 * while producers fill every entry, but no entry grows beyond its bound. Method: a planner and its
 * log in memory; what moves is read through a pop afterwards.
 */
import { describe, expect, test } from 'vitest';
import { appends } from '../base/tables.js';
import { EngineRig, pushCommand, sum, TENANT } from '../testing/engine.fake.js';
import { relocationOf } from './relocation.js';

function rigWithOld(): EngineRig {
  const rig = new EngineRig(undefined, { turnBytesMax: 5000, entryBytesMax: 20_000 });
  rig.push('q', 'old', ['a', 'b']);
  rig.push('q', 'old', ['c']);
  return rig;
}

function places(rig: EngineRig): number[] {
  return rig.rows(appends).map(({ index }) => index);
}

describe('moving appends', () => {
  test('changes their places and nothing else', () => {
    const rig = rigWithOld();
    const before = rig.rows(appends);
    rig.moveOldest(2);
    rig.turn();
    expect(places(rig)).toEqual([3, 3]);
    const after = rig.rows(appends);
    expect(after.map(({ count, stampUs, length }) => [count, stampUs, length])).toEqual(
      before.map(({ count, stampUs, length }) => [count, stampUs, length]),
    );
    rig.forgetBefore(3);
    expect(rig.texts(rig.pop())).toEqual(['a', 'b', 'c']);
  });

  test('is done once, and not when they have gone meanwhile', () => {
    const rig = rigWithOld();
    rig.moveOldest(1);
    rig.turn();
    rig.moveOldest(1);
    const entries = rig.entries;
    rig.turn();
    rig.turn();
    expect([places(rig), rig.entries]).toEqual([[3, 4], entries + 1]);
    rig.moveOldest(2);
    rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
    rig.turn();
    expect(places(rig)).toEqual([]);
  });

  test('happens in entries that are full', () => {
    const rig = rigWithOld();
    for (let i = 0; i < 5; i++) rig.send(pushCommand('q', 'new', ['x'.repeat(6000)], false));
    rig.moveOldest(2);
    rig.turn();
    expect(places(rig).slice(0, 3)).toEqual([3, 3, 3]);
    expect(rig.planner.busy).toBe(true);
  });

  test('is bounded by the number of moves in an entry', () => {
    const rig = new EngineRig();
    for (let i = 0; i < 1200; i++) rig.send(pushCommand('q', `p${i}`, ['m'], false));
    // New partitions take several turns.
    rig.turnAll();
    const last = rig.entries;
    rig.moveOldest(1200);
    rig.turn();
    expect(places(rig).filter((index) => index === last + 1)).toHaveLength(1000);
    expect(rig.planner.relocating).toBe(true);
    rig.turn();
    expect(places(rig).filter((index) => index === last + 2)).toHaveLength(200);
    expect(rig.planner.relocating).toBe(false);
  });

  test('waits where the entry would become too large', () => {
    const rig = rigWithOld();
    rig.push('q', 'large', ['y'.repeat(19_000)], false);
    rig.moveOldest(3);
    for (let i = 0; i < 2; i++) rig.send(pushCommand('q', 'new', ['x'.repeat(7000)], false));
    const lengths: number[] = [];
    for (let i = 0; i < 3; i++) {
      rig.turn();
      lengths.push(rig.lastBody().length);
    }
    expect(Math.max(...lengths)).toBeLessThanOrEqual(25_000);
    expect(Math.min(...places(rig))).toBeGreaterThan(3);
    rig.forgetBefore(4);
    expect(rig.texts(rig.pop({ partition: 'large' }))[0]).toHaveLength(19_000);
  });

  test('takes no bytes that are not those that were written', () => {
    const found = { partition: 1, baseOffset: 0, index: 1, position: 9, length: 40 };
    const bytes = new Uint8Array(40).fill(7);
    expect(relocationOf(found, bytes, sum)).toBeNull();
    new DataView(bytes.buffer).setUint32(0, sum(bytes.subarray(4)));
    expect(relocationOf(found, bytes, sum)).toEqual({ ...found, bytes });
  });
});
