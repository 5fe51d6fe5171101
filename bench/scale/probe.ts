// The transaction index alone, over a real store: what it costs to look one id up among very many,
// and the memory that it needs for them. In this process, because over HTTP a look is a hundredth
// of what a push costs, and would not be seen.

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL_TABLES, TABLES, TransactionIndex } from '@svc/engine';
import { Checkpoint, openLmdb, RealDisk } from '@svc/storage';
import { type Figure, figure } from '../load/figure.js';
import { percentile } from '../load/percentiles.js';
import type { Scale } from './scale.js';

const PARTITIONS = 64;
/** Between two checkpoints, about what a busy node takes in in a second. */
const IDS_PER_CHECKPOINT = 100_000;
const LOOKS = 200_000;
const US_PER_MS = 1000;

export async function measureProbe(scale: Scale): Promise<readonly Figure[]> {
  const { ids } = scale.options;
  const directory = join(scale.scratch.directory('bench-probe'), 'state');
  const options = { disk: new RealDisk(), directory, identity: randomBytes(16) };
  const backing = openLmdb({ ...options, localTables: LOCAL_TABLES });
  const fail = (error: Error) => {
    throw error;
  };
  const state = new Checkpoint({ backing, tables: TABLES, onFailure: fail });
  const index = TransactionIndex.load(state);
  const before = anonymousBytes();
  let stored = 0;
  const store = () => new Promise<void>((done) => state.checkpoint(++stored, 1, stored, done));
  for (let n = 0; n < ids; n += 1) {
    index.insert(n % PARTITIONS, `id-${n}`, Math.floor(n / PARTITIONS), n);
    if ((n + 1) % IDS_PER_CHECKPOINT !== 0) continue;
    index.flush();
    await store();
    if ((n + 1) % 1_000_000 === 0) scale.say(`${n + 1} ids`);
  }
  const bytes = anonymousBytes() - before;
  const fresh = looks((i) => [i % PARTITIONS, `fresh-${i}`], index, 0);
  const known = looks((i) => knownId(i, ids), index, 1);
  await state.close();
  const note = `${ids} ids, ${LOOKS} looks one after the other`;
  return [
    figure('index: memory of an id', 'bytes', [bytes / ids], 'anonymous memory of the process'),
    figure('look for a new id, p50', 'us', [percentile(fresh, 0.5)], note),
    figure('look for a new id, p99', 'us', [percentile(fresh, 0.99)], note),
    figure('look for a known id, p50', 'us', [percentile(known, 0.5)], note),
    figure('look for a known id, p99', 'us', [percentile(known, 0.99)], note),
  ];
}

/** Spread over all that there are, old and new. */
function knownId(i: number, ids: number): readonly [partition: number, id: string] {
  const n = Math.floor((i * ids) / LOOKS);
  return [n % PARTITIONS, `id-${n}`];
}

/** Microseconds of each, ascending. */
function looks(
  nameOf: (i: number) => readonly [partition: number, id: string],
  index: TransactionIndex,
  expected: number,
): Float64Array {
  const took = new Float64Array(LOOKS);
  for (let i = 0; i < LOOKS; i += 1) {
    const [partition, id] = nameOf(i);
    const beganMs = performance.now();
    const found = index.find(partition, id).length;
    took[i] = (performance.now() - beganMs) * US_PER_MS;
    if (found !== expected) throw new Error(`${id}: found ${found} times, not ${expected}`);
  }
  return took.sort();
}

function anonymousBytes(): number {
  const status = readFileSync('/proc/self/status', 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
