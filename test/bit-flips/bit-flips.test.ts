/**
 * Goal: a flipped bit in anything that a node has stored ends in repair, in a refusal that says
 * where, or in rejoining the others; never in wrong or missing data. Method: a cluster of three and
 * a node alone are loaded once in each shape; then for every byte region of every kind of file some
 * seeded bits are flipped on one node, it is started while the others serve clients, and judged:
 * every acknowledged message on every node that serves, states, logs as read back from the disks.
 * What each region is to end as stands in expected.ts; what came out is printed.
 *
 * SVC_TEST_FLIPS is the number of trials for each region in each shape (1 unless given),
 * SVC_TEST_FLIP_SEED draws other bits, SVC_TEST_FLIP_KINDS names kinds by a pattern.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { SeededRandom } from '../seeded-random.js';
import { EXPECTED, expectationOf } from './expected.js';
import { FlipTable } from './flip-table.js';
import type { Flip } from './image.js';
import {
  type Loaded,
  loadCluster,
  loadGivenBack,
  loadInstalling,
  loadRecovering,
  loadSingle,
} from './load.js';
import { type Region, regionsOf } from './regions.js';
import { tryFlip } from './trial.js';

interface Shape {
  readonly name: string;
  readonly column: 'three' | 'givenBack' | 'one';
  readonly load: () => Loaded | Promise<Loaded>;
  readonly kinds: RegExp;
}

const SEED = Number(process.env.SVC_TEST_FLIP_SEED ?? 1);
const FLIPS = Number(process.env.SVC_TEST_FLIPS ?? 1);
const KINDS = new RegExp(process.env.SVC_TEST_FLIP_KINDS ?? '');
/** Bits of one region that flip at once, in every second trial. */
const BITS_AT_ONCE = 3;
const ALL = /./;

const SHAPES: readonly Shape[] = [
  { name: 'alone', column: 'one', load: () => loadSingle('clean', SEED), kinds: ALL },
  { name: 'alone, power', column: 'one', load: () => loadSingle('power', SEED), kinds: ALL },
  { name: 'three', column: 'three', load: () => loadCluster('clean', SEED), kinds: ALL },
  { name: 'three, power', column: 'three', load: () => loadCluster('power', SEED), kinds: ALL },
  {
    name: 'log given back',
    column: 'givenBack',
    load: () => loadGivenBack('power', SEED),
    kinds: /^checkpoint|^segment header, first|^record, first/,
  },
  {
    name: 'recovering',
    column: 'three',
    load: () => loadRecovering(SEED),
    kinds: /^recovering marker/,
  },
  {
    name: 'installing',
    column: 'three',
    load: () => loadInstalling('installing', SEED),
    kinds: /^install marker/,
  },
  {
    name: 'catching up',
    column: 'three',
    load: () => loadInstalling('catching-up', SEED),
    kinds: /^install marker/,
  },
];

const table = new FlipTable(
  EXPECTED,
  SHAPES.map(({ name }) => name),
);

afterAll(() => console.log(table.text()));

describe('bit flips', () => {
  it.each(SHAPES)('$name', { timeout: 600_000 }, async (shape) => {
    const loaded = await loadWithBaseline(shape);
    const image = loaded.images[loaded.victim - 1];
    if (image === undefined) throw new Error('the victim has no image');
    const random = new SeededRandom(SEED);
    const wrong: string[] = [];
    for (const region of regionsOf(image)) {
      const { kind } = region;
      if (!shape.kinds.test(kind) || !KINDS.test(kind)) continue;
      for (let trial = 0; trial < FLIPS; trial++) {
        wrong.push(...tryRegion(shape, loaded, region, random));
      }
    }
    expect(wrong).toEqual([]);
  });

  it('every row of the table was measured', () => {
    if (process.env.SVC_TEST_FLIP_KINDS === undefined) expect(table.empty()).toEqual([]);
  });
});

/** Without a flip nothing happens that the table would call an outcome. */
async function loadWithBaseline({ name, load }: Shape): Promise<Loaded> {
  const loaded = await load();
  const { violations, indexesRebuilt } = tryFlip(loaded, null, SEED);
  expect(violations, `${name}, without a flip`).toEqual([]);
  return { ...loaded, indexesRebuilt };
}

/** What was wrong with one trial. */
function tryRegion(shape: Shape, loaded: Loaded, region: Region, random: SeededRandom): string[] {
  const { kind, region: name } = region;
  const flip = drawFlip(region, random);
  const { outcome, said, violations } = tryFlip(loaded, flip, random.between(0, 2 ** 31));
  const row = expectationOf(kind, name);
  const expected = shape.column === 'givenBack' ? (row.givenBack ?? row.three) : row[shape.column];
  table.note(row, shape.name, outcome);
  const what = `${shape.name}: ${kind}, ${name}, bits ${flip.places.join(' ')} (seed ${SEED})`;
  const wrong = violations.map((text) => `${what}: ${text}`);
  if (expected?.includes(outcome) !== true) {
    wrong.push(`${what}: ${outcome} instead of ${expected?.join(' or ')}. ${said}`);
  }
  return wrong;
}

/** One bit, or several of the region: a checksum shows both. */
function drawFlip({ target, from, to }: Region, random: SeededRandom): Flip {
  const count = random.chance(0.5) ? 1 : BITS_AT_ONCE;
  const places = new Set<number>();
  while (places.size < count) places.add(random.between(from * 8, to * 8 - 1));
  return { target, from, to, places: [...places] };
}
