/**
 * Goal: the API contract, line by line, on one node and on three. Method: the tables of `tables/`
 * against one process and one cluster, which all rows share; rows run side by side, each as a
 * tenant of its own. `sections.ts` says which lines the contract has; one without a test fails.
 * One section alone: `-t 'message-plane 3.1'`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BodySeeds, disagreements } from './body-agreement.js';
import { BrokerUnderTest } from './broker-under-test.js';
import { type OpenPlace, openCluster, openNode, openPair } from './places.js';
import { runRow } from './run-row.js';
import { SECTIONS, type SectionName } from './sections.js';
import type { ContractRow, ContractTable } from './table.js';
import { TABLES } from './tables/index.js';

const isShared = ({ environment, pair }: ContractTable) => !pair && environment === undefined;
const shared = TABLES.filter(isShared);
const own = bySettings(TABLES.filter((table) => !isShared(table)));
const sections = Object.keys(SECTIONS) as SectionName[];

/** Rows of the contract that were seen to hold, as `section: row`. */
const covered = new Set<string>();
let numbered = 0;

function test(section: SectionName, row: ContractRow, place: () => OpenPlace, failed: () => void) {
  numbered++;
  const number = numbered;
  it(`${row.row}: ${row.does}`, async () => {
    try {
      await runRow(new BrokerUnderTest(place(), number), row);
    } catch (error) {
      failed();
      throw error;
    }
    covered.add(`${section}: ${row.row}`);
  });
}

/** Opened before the first of its tests; nothing is opened when none of them is selected. */
function usePlace(open: () => Promise<OpenPlace>): readonly [() => OpenPlace, () => void] {
  let place: OpenPlace | null = null;
  let failure = false;
  beforeAll(async () => {
    place = await open();
  });
  afterAll(() => place?.close(failure));
  const get = (): OpenPlace => {
    if (place === null) throw new Error('the place has not been opened');
    return place;
  };
  const failed = () => {
    failure = true;
  };
  return [get, failed];
}

function bySection(tables: readonly ContractTable[]): Map<SectionName, ContractRow[]> {
  const rows = new Map<SectionName, ContractRow[]>();
  for (const table of tables) {
    rows.set(table.section, [...(rows.get(table.section) ?? []), ...table.rows]);
  }
  return rows;
}

/** Tables that want the same node share it. */
function bySettings(
  tables: readonly ContractTable[],
): readonly (readonly [string, readonly ContractTable[]])[] {
  const nodes = new Map<string, ContractTable[]>();
  for (const table of tables) {
    const key = JSON.stringify(table.environment ?? 'a pair');
    nodes.set(key, [...(nodes.get(key) ?? []), table]);
  }
  return [...nodes.values()].map((one, i) => [`${i + 1}`, one]);
}

describe.each([
  ['one node', openNode],
  ['three nodes', openCluster],
] as const)('on %s', (name, open) => {
  const seeds = new BodySeeds();
  const [place, failed] = usePlace(() => open(seeds));
  for (const [section, rows] of bySection(shared)) {
    describe.concurrent(section, () => {
      for (const row of rows) test(section, row, place, failed);
    });
  }

  it.runIf(name === 'one node')('schemas and parsers agree on what a body is', async () => {
    const { judge } = place();
    const { client } = new BrokerUnderTest(place(), 0);
    const { sent, found } = await disagreements(seeds.all, client, judge);
    console.log(`${sent} bodies, changed from ${seeds.all.length}, sent and judged`);
    expect(found).toEqual([]);
  });
});

describe.each(own)('on a node with settings of its own: %s', (_, tables) => {
  const [place, failed] = usePlace(() => {
    const [table] = tables;
    if (table?.pair) return openPair(new BodySeeds());
    return openNode(new BodySeeds(), table?.environment, table?.reader?.());
  });
  for (const [section, rows] of bySection(tables)) {
    describe(section, () => {
      for (const row of rows) test(section, row, place, failed);
    });
  }
});

describe('coverage', () => {
  it.each(sections)('%s has a test for each row of the contract', (section) => {
    const tested = new Set(
      TABLES.filter((table) => table.section === section).flatMap(({ rows }) =>
        rows.map(({ row }) => row),
      ),
    );
    const wanted: readonly string[] = SECTIONS[section].rows;
    const elsewhere: readonly string[] = Object.keys(SECTIONS[section].elsewhere ?? {});
    expect(new Set(wanted).size, 'a row is named twice').toBe(wanted.length);
    expect(
      wanted.filter((row) => !tested.has(row) && !elsewhere.includes(row)),
      'without a test',
    ).toEqual([]);
    expect(
      [...tested, ...elsewhere].filter((row) => !wanted.includes(row)),
      'no such row',
    ).toEqual([]);
  });
});

afterAll(() => {
  const documents = new Map<string, { covered: number; rows: number }>();
  for (const section of sections) {
    const [document = ''] = section.split(' ');
    const count = documents.get(document) ?? { covered: 0, rows: 0 };
    const { rows, elsewhere = {} } = SECTIONS[section];
    count.rows += rows.length;
    count.covered += rows.filter(
      (row) => covered.has(`${section}: ${row}`) || row in elsewhere,
    ).length;
    documents.set(document, count);
  }
  const text = [...documents].map(
    ([document, count]) => `${count.covered} of ${count.rows} of ${document}`,
  );
  console.log(`contract rows covered: ${text.join(', ')}`);
});
