/**
 * Goal: two tenants use all that the API has at the same time, by the same names, and neither
 * meets anything of the other. Method: every row of the contract tables twice at once, through the
 * gateways of three nodes in turn, each time as a cluster of another tenant. The rows expect to
 * be alone; besides, no id that the broker made for one tenant may stand in an answer to the other,
 * and a third tenant asks all reads by the names and ids of both and must find neither.
 *
 * By default every eighth row of each section runs; `SVC_TENANT_ROWS=all` runs them all.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrokerUnderTest, type Place, Unmet } from '../contract/broker-under-test.js';
import { SHARED } from '../contract/places.js';
import { runRow } from '../contract/run-row.js';
import type { ContractRow, ContractTable } from '../contract/table.js';
import { TABLES } from '../contract/tables/index.js';
import { GatewayNodes } from './gateway-nodes.js';
import { KnownIds } from './known-ids.js';
import { Refused, TenantPlace } from './tenant-place.js';
import { TenantWatch } from './tenant-watch.js';

const EVERY = process.env.SVC_TENANT_ROWS === 'all' ? 1 : 8;

const TIMED = 'waits for what took its time already, with two tenants at once';

const MAKES_NONE = 'a pop through the gateway makes no queue';

/** Rows that a tenant behind a gateway cannot show, by how their names begin. */
const NOT_OF_TENANTS: Readonly<Record<string, string>> = {
  'streams 2: new name without an enabled grant': 'the plan grants it',
  'message-plane 3.6: the oldest waiter first': TIMED,
  'message-plane 3.6: the next, until one finds nothing': TIMED,
  'message-plane 3.6: a deadline that nears': TIMED,
  'message-plane 3.3: wildcard: creates a missing queue': MAKES_NONE,
  'message-plane 7.2: wildcard pop': MAKES_NONE,
  'message-plane 11.4: an empty answer is 200': MAKES_NONE,
  'message-plane 11.4: conflationConflict: a plain group': MAKES_NONE,
  'message-plane 11.4: conflation=false on a conflating group': MAKES_NONE,
  'message-plane 14: empty conflating pop': MAKES_NONE,
  'inspection 6: 6.4 depth: without `group`': MAKES_NONE,
};

let nodes: GatewayNodes;
let places: readonly [TenantPlace, Place][];
let watch: TenantWatch;
let failed = false;
const ids = new KnownIds();
const notShown = new Map<string, number>();

beforeAll(async () => {
  const { SVC_KV_REQUIRE_GRANT: _, SVC_EPHEMERAL_REQUIRE_GRANT: __, ...environment } = SHARED;
  nodes = await GatewayNodes.open({ ...environment, SVC_PROXY_MAX_BATCH_ITEMS: '20000' });
  places = ['one', 'two'].map((name) => {
    const tenant = new TenantPlace(nodes, name);
    return [tenant, tenant.place((exchange) => ids.saw(name, exchange))];
  });
  watch = new TenantWatch(nodes, await nodes.provision({ slug: 'watcher' }), ids);
  watch.start();
});

afterAll(async () => {
  console.log('rows that no tenant can show:', Object.fromEntries(notShown));
  try {
    await watch?.stop();
  } finally {
    await nodes?.close(failed);
  }
});

function testRow(section: string, row: ContractRow, number: number): void {
  it(`${row.row}: ${row.does}`, async () => {
    const name = `${section}: ${row.row}: ${row.does}`;
    const known = Object.keys(NOT_OF_TENANTS).find((start) => name.startsWith(start));
    if (known !== undefined) return count(NOT_OF_TENANTS[known] ?? '');
    await Promise.all(places.map((place) => run(place, number, row)));
  });
}

async function run(
  [tenant, place]: readonly [TenantPlace, Place],
  number: number,
  row: ContractRow,
) {
  const broker = new BrokerUnderTest(place, number);
  try {
    await tenant.clusterOf(broker.tenant);
    watch.look(broker.queue);
    await runRow(broker, row);
  } catch (error) {
    if (error instanceof Unmet || error instanceof Refused) return count(error.message);
    // Others run at the same time: only a failure may say how the run ended.
    failed = true;
    throw error;
  }
}

function count(reason: string): void {
  notShown.set(reason, (notShown.get(reason) ?? 0) + 1);
}

let number = 0;

function rowsOf(tables: readonly ContractTable[]): Map<string, ContractRow[]> {
  const sections = new Map<string, ContractRow[]>();
  for (const { section, rows, environment, pair } of tables) {
    if (pair || environment !== undefined) continue;
    sections.set(section, [...(sections.get(section) ?? []), ...rows]);
  }
  return sections;
}

for (const [section, rows] of rowsOf(TABLES)) {
  describe.concurrent(section, () => {
    for (const [i, row] of rows.entries()) {
      number++;
      if (i % EVERY === 0) testRow(section, row, number);
    }
  });
}

it('neither met anything of the other, and a third one nothing of both', async () => {
  await watch.stop();
  failed ||= ids.met.length + watch.found.length > 0;
  expect(ids.met).toEqual([]);
  expect(watch.found).toEqual([]);
  expect(watch.asked).toBeGreaterThan(0);
  expect(ids.count, 'ids that were told apart').toBeGreaterThan(100);
  console.log(`${ids.count} ids of two tenants, ${watch.asked} questions of a third one`);
});
