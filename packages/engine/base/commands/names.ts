/**
 * The names in commands. What names share in a key of the store is checked once more where a
 * command of another node is read: a key that the store refuses while an entry is applied would
 * stop every node.
 */
import { isUuid, NAME_BYTES_MAX, TRANSACTION_ID_BYTES_MAX } from '@svc/wire';
import { field, textTo } from '../fields/field.js';
import { type GuardedReader, RepeatedText } from '../guarded-reader.js';
import { utf8Length } from '../utf8.js';

export const TENANT_BYTES = 36;

const tenantText = new RepeatedText();
/** Known to be one. */
let lastTenant = '';

/** A UUID in lower case, as a text. */
export const tenant = field<string>(
  1 + TENANT_BYTES,
  (w, value) => w.text(value),
  (r) => {
    const text = tenantText.read(r, r.within(TENANT_BYTES, TENANT_BYTES));
    if (r.refused || text === lastTenant) return text;
    if (!isUuid(text) || text !== text.toLowerCase()) r.refuse();
    else lastTenant = text;
    return text;
  },
);
export const name = textTo(NAME_BYTES_MAX);
export const transactionId = textTo(TRANSACTION_ID_BYTES_MAX);

/** A key can hold them together. A name that the command does not have is ''. */
export function namesFit(queue: string, group: string, partition: string): boolean {
  const longer = Math.max(utf8Length(group), utf8Length(partition));
  return TENANT_BYTES + utf8Length(queue) + longer <= NAME_BYTES_MAX;
}

/** Refuses what no key can hold. */
export function checkNames(
  r: GuardedReader,
  queue: string,
  group: string,
  partition: string,
): void {
  if (!namesFit(queue, group, partition)) r.refuse();
}
