/**
 * The room for names in a key of the store (message-plane 1.3): a tenant, a queue and the longer of
 * group and partition share 447 bytes. Checked here, in bytes, before anything is planned, because
 * a key that the store refuses while an entry is applied would stop every node.
 */
import type { OptionChanges, Refusal } from '@svc/engine';
import { NAME_BYTES_MAX, utf8Length } from '@svc/wire';

/**
 * Null when the names fit. A name that a command does not have is "". `partitionField`: what stands
 * in the partition's place, if it is something else.
 */
export function nameBudgetRefusal(
  tenant: string,
  queue: string,
  group: string,
  partition: string,
  partitionField = 'partition',
): Refusal | null {
  // A UTF-16 code unit is three bytes at most, so short names need no counting.
  if ((tenant.length + queue.length + group.length + partition.length) * 3 <= NAME_BYTES_MAX) {
    return null;
  }
  const queueBytes = utf8Length(queue);
  const groupBytes = utf8Length(group);
  const partitionBytes = utf8Length(partition);
  const used = utf8Length(tenant) + queueBytes + Math.max(groupBytes, partitionBytes);
  if (used <= NAME_BYTES_MAX) return null;
  const longest = Math.max(queueBytes, groupBytes, partitionBytes);
  const field =
    queueBytes === longest ? 'queue' : groupBytes === longest ? 'group' : partitionField;
  return {
    reason: 'name_too_long',
    error:
      `${field} name is ${longest} bytes; ` +
      `the composite store key limit leaves ${NAME_BYTES_MAX} bytes for names`,
  };
}

/** The same for a label of a queue: it stands in a key of the store beside the tenant. */
function labelRefusal(tenant: string, field: string, text: KeyNames['namespace']): Refusal | null {
  if (typeof text !== 'string') return null;
  if ((tenant.length + text.length) * 3 <= NAME_BYTES_MAX) return null;
  const bytes = utf8Length(text);
  if (utf8Length(tenant) + bytes <= NAME_BYTES_MAX) return null;
  return {
    reason: 'name_too_long',
    error:
      `${field} is ${bytes} bytes; ` +
      `the composite store key limit leaves ${NAME_BYTES_MAX} bytes for names`,
  };
}

/** Names that stand in one key of the store together; null and absent: there is no such name. */
export interface KeyNames {
  readonly queue?: string | null;
  readonly group?: string | null;
  readonly partition?: string | null;
  /** Instead of a partition. */
  readonly timerKey?: string;
  readonly query?: string;
  /** A label that a queue gets from its own name is shorter than that name. */
  readonly namespace?: OptionChanges[string];
  readonly task?: OptionChanges[string];
}

/** The same for the names of a request; the first that do not fit. */
export function keyNamesRefusal(
  tenant: string,
  names: KeyNames | readonly KeyNames[],
): Refusal | null {
  if (isList(names)) {
    for (const one of names) {
      const refusal = keyNamesRefusal(tenant, one);
      if (refusal !== null) return refusal;
    }
    return null;
  }
  const { queue, group, partition, timerKey, query, namespace, task } = names;
  const field = timerKey !== undefined ? 'timerKey' : query !== undefined ? 'query' : 'partition';
  const last = partition ?? timerKey ?? query ?? '';
  return (
    nameBudgetRefusal(tenant, queue ?? '', group ?? '', last, field) ??
    labelRefusal(tenant, 'namespace', namespace) ??
    labelRefusal(tenant, 'task', task)
  );
}

function isList(names: KeyNames | readonly KeyNames[]): names is readonly KeyNames[] {
  return Array.isArray(names);
}
