/**
 * Declared ephemeral queues (state-surfaces 4.2): their options are replicated, their messages are
 * not. A row holds the options as the client sent them; what they mean stands in
 * `packages/ephemeral`. The table's key is (tenant, queue).
 *
 * A deletion is an effect also when there is no row: every node that applies it lets go of what it
 * holds of the queue. The name '' stands for all queues of the tenant.
 */
import type { Tenant } from '../base/commands/commands.js';
import { type ChoiceOf, effect } from '../base/fields/choice.js';
import { nullable, text } from '../base/fields/field.js';
import { single } from '../base/fields/record.js';
import { tenantNameKey, tenantRange, textInKey } from '../base/keys.js';
import type { Key, State } from '../base/state.js';
import { table } from '../base/tables.js';

interface Declaration {
  readonly tenant: Tenant;
  readonly queue: string;
  readonly options: string | null;
}

export const ephemeralEffects = {
  'ephemeral-queue': effect(
    32,
    {
      tenant: text,
      queue: text,
      /** null: the queue is gone. */
      options: nullable(text),
    },
    applyEphemeralEffect,
  ),
};
export type EphemeralQueueEffect = ChoiceOf<'kind', typeof ephemeralEffects>;

const TENANT_LENGTH = 36;

export const ephemeralQueues = table(75, 'ephemeralQueues', single(text));

/** The options as they were sent; undefined: nobody declared the queue. */
export function declaredOptions(state: State, tenant: Tenant, queue: string): string | undefined {
  return state.get(ephemeralQueues, tenantNameKey(tenant, queue));
}

export interface DeclaredQueue {
  readonly queue: string;
  readonly options: string;
}

/** At most `rowsMax` of those behind `after`, in the order of their names' bytes. '': all. */
export function declaredQueues(
  state: State,
  tenant: Tenant,
  after: string,
  rowsMax: number,
): DeclaredQueue[] {
  const [, to] = tenantRange(tenant);
  const from = `${tenantNameKey(tenant, after)}\0` as Key;
  return state
    .range(ephemeralQueues, from, to, rowsMax)
    .map(({ key, row }) => ({ queue: nameOf(key), options: row }));
}

export function nameOf(key: Key): string {
  return textInKey(key, TENANT_LENGTH, key.length);
}

export function applyEphemeralEffect(state: State, { tenant, queue, options }: Declaration): void {
  if (queue === '') return;
  const key = tenantNameKey(tenant, queue);
  if (options === null) state.delete(ephemeralQueues, key);
  else state.put(ephemeralQueues, key, options);
}
