/** Declaring and deleting ephemeral queues (state-surfaces 4.2). */
import type { Tenant } from '../../base/commands/commands.js';
import type {
  EphemeralCommand,
  EphemeralConfiguredOutcome,
  EphemeralDeletedOutcome,
} from '../../base/commands/ephemeral.js';
import { grantOf } from '../../base/grants.js';
import { tenantRange } from '../../base/keys.js';
import type { State } from '../../base/state.js';
import type { Draft } from '../../draft/draft.js';
import { declaredOptions, ephemeralQueues, nameOf } from '../../state/ephemeral-queues.js';
import { PURGED_ROWS, type PurgeStep, purgeRange } from '../job.js';

export function planEphemeral(
  draft: Draft,
  command: EphemeralCommand,
): EphemeralConfiguredOutcome | EphemeralDeletedOutcome {
  const { tenant, queue } = command;
  const before = declaredOptions(draft.state, tenant, queue);
  if (command.kind === 'ephemeral-delete') {
    draft.emit({ kind: 'ephemeral-queue', tenant, queue, options: null });
    return { kind: 'ephemeral-deleted', wasDeclared: before !== undefined };
  }
  const isOverQuota = before === undefined && isFull(draft.state, tenant);
  const { options } = command;
  if (!isOverQuota && before !== options) {
    draft.emit({ kind: 'ephemeral-queue', tenant, queue, options });
  }
  return { kind: 'ephemeral-configured', isOverQuota };
}

function isFull(state: State, tenant: Tenant): boolean {
  const { maxQueues = null } = grantOf(state, tenant, 'ephemeral') ?? {};
  if (maxQueues === null) return false;
  const [from, to] = tenantRange(tenant);
  return state.range(ephemeralQueues, from, to, maxQueues).length >= maxQueues;
}

/** With the last step all nodes drop the queues that they hold of the tenant. */
export function purgeEphemeral(step: PurgeStep): string | null {
  const { draft, tenant } = step;
  const dropped = (queue: string) => {
    draft.emit({ kind: 'ephemeral-queue', tenant, queue, options: null });
  };
  const next = purgeRange(step, ephemeralQueues, tenantRange(tenant), PURGED_ROWS, (found) => {
    for (const { key } of found) dropped(nameOf(key));
  });
  if (next === null) dropped('');
  return next;
}
