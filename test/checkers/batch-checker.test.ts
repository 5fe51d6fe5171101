/**
 * Goal: the checker of batches is silent on every history of a store that does one call after the
 * other, whatever the clients were not told, and names each kind of wrong one. Method: random
 * histories of a naive store; and small histories, in each of which one anomaly is planted.
 */
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../seeded-random.js';
import { type BatchAnomalyKind, checkBatches } from './batch-checker.js';
import type { KvBatch, KvRead, KvWrite } from './kv-history.js';

function writing(beganMs: number, writes: readonly string[], firstVersion: number): KvBatch {
  return {
    writes: writes.map((text) => writeOf(text)),
    beganMs,
    endedMs: beganMs + 10,
    outcome: 'committed',
    versions: writes.map((_, i) => firstVersion + i),
    reads: [],
  };
}

/** `a=1`, or `a=1?7` for one that expects version 7. */
function writeOf(text: string): KvWrite {
  const [key = '', rest = ''] = text.split('=');
  const [value = '', expect] = rest.split('?');
  return { key, value, expect: expect === undefined ? null : Number(expect) };
}

/** `a=1@5`, or `a` for one that is missing. */
function readOf(text: string): KvRead {
  const [key = '', rest] = text.split('=');
  const [value = '', version = '0'] = rest?.split('@') ?? [];
  return { key, value: rest === undefined ? null : value, version: Number(version) };
}

function reading(beganMs: number, reads: readonly string[], endedMs = beganMs + 10): KvBatch {
  const none = { writes: [], versions: [], outcome: 'committed' } as const;
  return { ...none, beganMs, endedMs, reads: reads.map(readOf) };
}

function kinds(...batches: KvBatch[]): BatchAnomalyKind[] {
  return [...new Set(checkBatches(batches).map(({ kind }) => kind))];
}

/** Clients one after the other each, at once with the others. */
function randomHistory(random: SeededRandom): KvBatch[] {
  const store = new Map<string, { readonly value: string; readonly version: number }>();
  /** Versions that somebody was told, and can expect. */
  const told = new Set([0]);
  let version = 0;
  let values = 0;
  const history: KvBatch[] = [];
  const work: { readonly atMs: number; readonly run: () => void }[] = [];
  for (let client = 0; client < 5; client++) {
    let beganMs = random.between(0, 10);
    for (let i = 0; i < 15; i++) {
      const actMs = beganMs + random.between(1, 40);
      const times = { beganMs, endedMs: actMs + random.between(1, 40) };
      const isUnknown = random.chance(0.2);
      const late = isUnknown && random.chance(0.3) ? 300 : 0;
      const isLost = isUnknown && random.chance(0.5);
      const keys = random.shuffled(['a', 'b', 'c', 'd']);
      const writes = random.chance(0.5) ? keys.slice(0, random.between(1, 3)) : [];
      work.push({
        atMs: actMs + late,
        run: () => {
          const made = writes.map((key): KvWrite => {
            const current = store.get(key)?.version ?? 0;
            const expect = random.chance(0.3) && told.has(current) ? current : null;
            return { key, value: `v${values++}`, expect };
          });
          const wrong = random.chance(0.1) && made.length > 0;
          const outcome = isUnknown ? 'unknown' : wrong ? 'lost' : 'committed';
          const versions: number[] = [];
          if (!isLost && !wrong) {
            for (const { key, value } of made) {
              versions.push(++version);
              if (!isUnknown) told.add(version);
              store.set(key, { value, version });
            }
          }
          const reads = random.shuffled(keys).slice(0, writes.length === 0 ? 3 : 1);
          const shown = reads.map(
            (key): KvRead => ({ key, value: null, version: 0, ...store.get(key) }),
          );
          const isTold = outcome === 'committed';
          history.push({
            ...times,
            writes: made,
            outcome,
            versions: isTold ? versions : [],
            reads: isTold ? shown : [],
          });
        },
      });
      beganMs = times.endedMs + random.between(0, 10);
    }
  }
  work.sort((one, other) => one.atMs - other.atMs);
  for (const { run } of work) run();
  return history;
}

describe('histories of a store that does one call after the other', () => {
  it('are right, whatever was not answered', () => {
    for (let seed = 1; seed <= 300; seed++) {
      expect(checkBatches(randomHistory(new SeededRandom(seed))), `seed ${seed}`).toEqual([]);
    }
  });

  it('are wrong when one key is read as it was before', () => {
    let [found, tried] = [0, 0];
    for (let seed = 1; seed <= 100; seed++) {
      const history = randomHistory(new SeededRandom(seed));
      const reader = history.findLast(({ reads }) => reads.length > 2);
      const [first] = reader?.reads ?? [];
      if (reader === undefined || first === undefined || first.version === 0) continue;
      // The last calls began long after the first ones had ended.
      const wrong = { ...reader, reads: [{ ...first, value: null, version: 0 }] };
      if (checkBatches(history.map((each) => (each === reader ? wrong : each))).length > 0) found++;
      tried++;
    }
    expect(tried).toBeGreaterThan(80);
    expect(found).toBe(tried);
  });

  it('may have written what nobody was told of, as a whole', () => {
    const silent = { ...writing(0, ['a=1', 'b=1'], 5), outcome: 'unknown', versions: [] } as const;
    expect(kinds(silent, reading(20, ['a', 'b']), reading(40, ['a=1@5', 'b=1@6']))).toEqual([]);
    expect(kinds(silent, reading(40, ['a=1@5', 'b']))).toEqual(['not_a_snapshot']);
    expect(kinds(silent, reading(40, ['b=1@6']), reading(60, ['a']))).toEqual(['not_strict']);
    expect(kinds(silent, reading(40, ['a=1@5']), reading(60, ['a=1@7']))).toEqual([
      'never_written',
    ]);
  });
});

describe('anomalies of batches', () => {
  const first = writing(0, ['a=1', 'b=1'], 1);
  const second = writing(20, ['a=2', 'b=2'], 3);

  it('half of a batch', () => {
    expect(kinds(first, second, reading(15, ['a=2@3', 'b=1@2'], 60))).toEqual(['not_a_snapshot']);
    expect(kinds(first, second, reading(15, ['a=2@3', 'b=2@4'], 60))).toEqual([]);
  });

  it('a state that has passed, or that has not come', () => {
    expect(kinds(first, second, reading(40, ['a=1@1', 'b=1@2']))).toEqual(['not_strict']);
    expect(kinds(first, second, reading(40, ['a', 'b']))).toEqual(['not_strict']);
    expect(kinds(first, second, reading(5, ['a=2@3'], 15))).toEqual(['not_strict']);
  });

  it('two readers that see two writers in two orders', () => {
    const [a, b] = [writing(0, ['a=1'], 1), writing(0, ['b=1'], 2)];
    expect(kinds(a, b, reading(2, ['a=1@1', 'b']), reading(2, ['a', 'b']))).toEqual([]);
    expect(kinds(a, b, reading(2, ['a', 'b=1@2']))).toEqual(['not_a_snapshot']);
    const slow = { ...writing(0, ['a=1'], 1), endedMs: 100 };
    expect(kinds(slow, reading(10, ['a=1@1']), reading(30, ['a']))).toEqual(['not_strict']);
  });

  it('a later call with a lower version', () => {
    expect(kinds(writing(0, ['a=1'], 5), writing(20, ['b=1'], 4))).toEqual(['order']);
    expect(kinds(writing(0, ['a=1'], 5), writing(5, ['b=1'], 4))).toEqual([]);
  });

  it('an update that is lost', () => {
    const rivals = [writing(20, ['a=2?1'], 3), writing(20, ['a=3?1'], 4)];
    expect(kinds(first, ...rivals)).toEqual(['lost_update']);
    expect(kinds(first, writing(20, ['a=2?1'], 3), writing(20, ['a=3?3'], 4))).toEqual([]);
    expect(kinds(first, writing(20, ['b=9?0'], 3))).toEqual(['lost_update']);
  });

  it('a version that is given twice, and one within the block of another call', () => {
    expect(kinds(first, writing(20, ['c=1'], 2))).toContain('version_twice');
    const around = { ...writing(0, ['a=1', 'b=1'], 1), versions: [1, 3] };
    expect(kinds(around, writing(5, ['c=1'], 2))).toEqual(['split_block']);
  });

  it('values that nobody wrote, or whose writer was refused', () => {
    expect(kinds(first, reading(20, ['a=9@1']))).toEqual(['never_written']);
    expect(kinds(first, reading(20, ['a=1@2']))).toEqual(['never_written']);
    const lost = { ...second, outcome: 'lost', versions: [] } as const;
    expect(kinds(first, lost, reading(40, ['a=2@3']))).toEqual(['refused_read']);
    expect(kinds(first, { ...lost, outcome: 'refused' }, reading(40, ['a=1@1']))).toEqual([]);
  });

  it('a call that writes and does not read what is there then', () => {
    const both = { ...second, reads: [readOf('a=2@3'), readOf('c')] };
    expect(kinds(first, both)).toEqual([]);
    expect(kinds(first, { ...both, reads: [readOf('a=1@1')] })).toEqual(['not_a_snapshot']);
    const before = writing(12, ['c=1'], 2);
    const alone = writing(0, ['a=1'], 1);
    expect(kinds(alone, before, { ...writing(24, ['a=2'], 3), reads: [readOf('c')] })).toEqual([
      'not_a_snapshot',
    ]);
  });
});
