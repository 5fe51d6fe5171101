/** Declaring and deleting ephemeral queues (state-surfaces 4.2). */
import type { Tenant } from '../../base/commands/commands.js';
import type {
  EphemeralCommand,
  EphemeralConfiguredOutcome,
  EphemeralDeletedOutcome,
} from '../../base/commands/ephemeral.js';
import { grantOf } from '../../base/grants.js';
import { tenantRange } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import type { Draft } from '../../draft/draft.js';
import { declaredOptions, ephemeralQueues, nameOf } from '../../state/ephemeral-queues.js';

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

/** A step of the removal of a tenant (`PurgeRows`); with the last, all nodes drop its rings. */
export function purgeEphemeral(
  draft: Draft,
  tenant: Tenant,
  next: string,
  rowsMax: number,
): string | null {
  const [first, end] = tenantRange(tenant);
  const from = next === '' ? first : (next as Key);
  const keys = draft.state.range(ephemeralQueues, from, end, rowsMax).map(({ key }) => key);
  for (const key of keys) {
    draft.emit({ kind: 'ephemeral-queue', tenant, queue: nameOf(key), options: null });
  }
  const last = keys[rowsMax - 1];
  if (last !== undefined) return `${last}\0`;
  draft.emit({ kind: 'ephemeral-queue', tenant, queue: '', options: null });
  return null;
}

// --- in an entry and between nodes ---------------------------------------------------------------
