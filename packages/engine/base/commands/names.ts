/**
 * The room that names share in a key of the store, checked once more where a command of another
 * node is read: a key that the store refuses while an entry is applied would stop every node.
 */
import { NAME_BYTES_MAX } from '@svc/wire';
import type { GuardedReader } from '../guarded-reader.js';
import { utf8Length } from '../utf8.js';

export const TENANT_BYTES = 36;

/** Refuses what no key can hold. A name that the command does not have is ''. */
export function checkNames(
  r: GuardedReader,
  queue: string,
  group: string,
  partition: string,
): void {
  const longer = Math.max(utf8Length(group), utf8Length(partition));
  if (TENANT_BYTES + utf8Length(queue) + longer > NAME_BYTES_MAX) r.refuse();
}
