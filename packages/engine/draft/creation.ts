/** Creating queues and partitions inside an entry (message-plane 2, 7.2). */

import { assert } from '../base/assert.js';
import type { QueueOptions, Tenant } from '../base/commands/commands.js';
import { numberKey } from '../base/keys.js';
import { mintPartitionId } from '../base/partition-id.js';
import { implicitOptions } from '../base/queue-options.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import { partitions } from '../base/tables.js';
import { readMeta } from '../state/apply.js';
import type { Draft } from './draft.js';

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
