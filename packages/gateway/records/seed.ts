/**
 * What every gateway finds when it first looks: the version of the layout, four plans, the cell
 * that it is itself (gateway 1 and 6). All nodes of a cluster may seed at the same moment: one
 * batch writes all that is missing, the others read it.
 */
import type { LimitName } from '../base/access.js';
import { change, type RecordBatch, type Records, readBy, SYSTEM } from './batch.js';
import {
  CELLS,
  type CellRow,
  LAYOUT_VERSION,
  META,
  metaShape,
  PLANS,
  type PlanRow,
} from './rows.js';
import { readAs } from './shape.js';

export const LOCAL_CELL = 'local';
const SCHEMA_KEY = '#schema';
const GIB = 1_073_741_824;

type SeededPlan = Omit<PlanRow, 'id' | 'created_at_us'>;

const SURFACES = { kv: true, timers: true, ephemeral: true };

/** In the order of `LIMITS`, without the quota of the month, which no plan has. */
function plan(
  code: string,
  features: PlanRow['features'],
  limits: Omit<{ readonly [Name in LimitName]: number }, 'monthly_msgs_quota'>,
): SeededPlan {
  const cell_class = code.startsWith('dedicated') ? 'dedicated' : 'shared';
  return { code, cell_class, ...limits, monthly_msgs_quota: null, features };
}

export const SEEDED_PLANS: readonly SeededPlan[] = [
  plan('free', SURFACES, {
    max_req_per_sec: 5,
    req_burst: 25,
    max_msgs_per_sec: 20,
    msgs_burst: 100,
    max_queues: 20,
    max_partitions_per_queue: 8,
    max_parked_pops: 50,
    max_payload_bytes: 262_144,
    max_batch_items: 1_000,
    max_retained_bytes: GIB,
    max_retention_seconds: 604_800,
  }),
  plan('dev', SURFACES, {
    max_req_per_sec: 10,
    req_burst: 50,
    max_msgs_per_sec: 40,
    msgs_burst: 200,
    max_queues: 50,
    max_partitions_per_queue: 16,
    max_parked_pops: 150,
    max_payload_bytes: 524_288,
    max_batch_items: 2_000,
    max_retained_bytes: 3 * GIB,
    max_retention_seconds: 1_209_600,
  }),
  plan(
    'pro',
    { ...SURFACES, streams: true, traces: true },
    {
      max_req_per_sec: 50,
      req_burst: 200,
      max_msgs_per_sec: 200,
      msgs_burst: 800,
      max_queues: 200,
      max_partitions_per_queue: 32,
      max_parked_pops: 1_000,
      max_payload_bytes: 1_048_576,
      max_batch_items: 5_000,
      max_retained_bytes: 20 * GIB,
      max_retention_seconds: 2_592_000,
    },
  ),
  plan(
    'dedicated-s',
    { ...SURFACES, streams: true, traces: true },
    {
      max_req_per_sec: 200,
      req_burst: 800,
      max_msgs_per_sec: 600,
      msgs_burst: 2_000,
      max_queues: 1_000,
      max_partitions_per_queue: 64,
      max_parked_pops: 5_000,
      max_payload_bytes: 4_194_304,
      max_batch_items: 10_000,
      max_retained_bytes: 200 * GIB,
      max_retention_seconds: 7_776_000,
    },
  ),
];

/** A store whose rows a later version laid out. */
export class LayoutError extends Error {
  readonly code = 'gateway-layout';
}

/** Writes what is missing and leaves what is there. Throws `LayoutError` for a later layout. */
export async function seed(records: Records): Promise<void> {
  await change(records, SYSTEM, async (batch) => {
    await seedLayout(records, batch);
    for (const plan of SEEDED_PLANS) {
      if ((await readBy(records, PLANS, plan.code)) !== null) continue;
      batch.insert(PLANS, { id: batch.newId(), ...plan, created_at_us: batch.nowUs });
    }
    if ((await readBy(records, CELLS, LOCAL_CELL)) === null) {
      batch.insert(CELLS, localCell(batch));
    }
  });
}

async function seedLayout({ store }: Records, batch: RecordBatch): Promise<void> {
  const row = await store.get(META, SCHEMA_KEY);
  if (row === null) {
    const value = { version: LAYOUT_VERSION, imported_rows: 0 };
    batch.add({ op: 'putIfAbsent', namespace: META, key: SCHEMA_KEY, value, required: true });
    return;
  }
  const { version } = readAs(metaShape, META, row);
  if (version <= LAYOUT_VERSION) return;
  throw new LayoutError(
    `the gateway's records have layout ${version}; this build reads ${LAYOUT_VERSION}`,
  );
}

function localCell(batch: RecordBatch): CellRow {
  return {
    id: batch.newId(),
    slug: LOCAL_CELL,
    region: 'local',
    base_url: 'inprocess://self',
    class: 'shared',
    capacity_slots: 0,
    used_slots: 0,
    status: 'active',
    created_at_us: batch.nowUs,
  };
}
