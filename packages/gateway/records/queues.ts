/** The queues of clusters as the gateway knows them: for admission and its ceilings. */
import { pages } from '../store/kv.js';
import { change, isRefused, keyOf, type Records, readBy, readMany, SYSTEM } from './batch.js';
import { guardCluster } from './living.js';
import { QUEUES, type QueueRow } from './rows.js';

/** How long the row of a queue that is gone stays. */
const GIVEN_UP_TTL_MS = 30 * 86_400_000;

export interface KnownQueue {
  readonly name: string;
  readonly partitions: number;
}

/** The queues that are there, a page at a time. */
export async function* queuesOf(
  records: Records,
  clusterId: string,
): AsyncGenerator<readonly QueueRow[]> {
  for await (const rows of pages(records.store, 'px.queues.name', `#${clusterId}/`)) {
    const ids = rows.map(({ value }) => String(value));
    yield (await readMany(records, QUEUES, ids)).map(({ value }) => value);
  }
}

/** Writes new queues and new numbers of partitions; none of a cluster that is gone or going. */
export async function noteQueues(
  records: Records,
  clusterId: string,
  queues: readonly KnownQueue[],
): Promise<void> {
  for (const { name, partitions } of queues) {
    await change(records, SYSTEM, async (batch) => {
      const held = await readBy(records, QUEUES, `${clusterId}/${name}`);
      if (held?.value.partitions_count === partitions) return;
      if (held !== null) {
        batch.update(QUEUES, held, { ...held.value, partitions_count: partitions });
        return;
      }
      const cluster = await guardCluster(records, batch, clusterId);
      if (isRefused(cluster)) return;
      batch.insert(QUEUES, {
        id: batch.newId(),
        cluster_id: clusterId,
        name,
        partitions_count: partitions,
        created_at_us: batch.nowUs,
      });
    });
  }
}

/** Gives up queues that the broker does not have any more; their names are free. */
export async function giveUpQueues(
  records: Records,
  clusterId: string,
  names: readonly string[],
): Promise<void> {
  const [index] = QUEUES.unique;
  if (index === undefined) return;
  for (const name of names) {
    await change(records, SYSTEM, async (batch) => {
      const held = await readBy(records, QUEUES, `${clusterId}/${name}`);
      if (held === null) return;
      batch.add({
        op: 'put',
        namespace: QUEUES.namespace,
        key: keyOf(QUEUES, held.value),
        value: { ...held.value, deleted_at_us: batch.nowUs },
        expect: held.version,
        required: true,
        ttlMs: GIVEN_UP_TTL_MS,
      });
      batch.unlink(index, held.value);
    });
  }
}
