/** Creating queues and partitions inside an entry (message-plane 2, 7.2). */
import { readMeta } from './apply.js';
import { assert } from './assert.js';
import type { QueueOptions, Tenant } from './commands.js';
import type { Draft } from './draft.js';
import { numberKey } from './keys.js';
import { mintPartitionId } from './partition-id.js';
import { implicitOptions } from './queue-options.js';
import type { PartitionRow, QueueRow } from './rows.js';
import { partitions } from './tables.js';

export function createQueue(
  draft: Draft,
  tenant: Tenant,
  name: string,
  options: QueueOptions = implicitOptions(name),
): QueueRow {
  const row: QueueRow = {
    number: readMeta(draft.state).nextQueue,
    id: draft.surroundings.newUuid(draft.nowUs),
    tenant,
    name,
    createdAtUs: draft.nowUs,
    partitions: 0,
    options,
  };
  draft.emit({ kind: 'queue', row });
  return row;
}

export function createPartition(draft: Draft, queue: number, name: string): PartitionRow {
  const number = readMeta(draft.state).nextPartition;
  const id = mintPartitionId(draft.nowUs, number, draft.surroundings.newUuid(draft.nowUs));
  draft.emit({ kind: 'partition', number, queue, id, name });
  const row = draft.state.get(partitions, numberKey(number));
  assert(row !== undefined, `partition ${number} is missing right after its creation`);
  return row;
}
