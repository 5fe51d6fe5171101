/**
 * Declared ephemeral queues (state-surfaces 4.2): their options are replicated, their messages are
 * not. A row holds the options as the client sent them; what they mean stands in
 * `packages/ephemeral`. The table's key is (tenant, queue).
 *
 * A deletion is an effect also when there is no row: every node that applies it lets go of what it
 * holds of the queue. The name '' stands for all queues of the tenant.
 *
 *     ephemeral-configure: queue | options
 *     ephemeral-delete:    queue
 *     effect:              tenant | queue | options or none
 */
import { EPHEMERAL_OPTIONS_BYTES_MAX, NAME_BYTES_MAX } from '@svc/wire';
import type { ByteReader, ByteWriter } from './bytes.js';
import { checkNames } from './command-names.js';
import type { Tenant } from './commands.js';
import type { Draft } from './draft.js';
import { grantOf } from './grants.js';
import type { GuardedReader } from './guarded-reader.js';
import { tenantNameKey, tenantRange, textInKey } from './keys.js';
import type { Key, State } from './state.js';
import { table } from './tables.js';

export interface EphemeralConfigureCommand {
  readonly kind: 'ephemeral-configure';
  readonly tenant: Tenant;
  readonly queue: string;
  /** The JSON text of an object, at most EPHEMERAL_OPTIONS_BYTES_MAX. */
  readonly options: string;
}

export interface EphemeralDeleteCommand {
  readonly kind: 'ephemeral-delete';
  readonly tenant: Tenant;
  readonly queue: string;
}

export type EphemeralCommand = EphemeralConfigureCommand | EphemeralDeleteCommand;

export interface EphemeralConfiguredOutcome {
  readonly kind: 'ephemeral-configured';
  /** The tenant may not have another queue: nothing was stored. */
  readonly isOverQuota: boolean;
}

export interface EphemeralDeletedOutcome {
  readonly kind: 'ephemeral-deleted';
  readonly wasDeclared: boolean;
}

export interface EphemeralQueueEffect {
  readonly kind: 'ephemeral-queue';
  readonly tenant: Tenant;
  readonly queue: string;
  /** null: the queue is gone. */
  readonly options: string | null;
}

const TENANT_LENGTH = 36;

export const ephemeralQueues = table<string>(
  75,
  'ephemeralQueues',
  (w, row) => w.text(row),
  (r) => r.text(),
);

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

function nameOf(key: Key): string {
  return textInKey(key, TENANT_LENGTH, key.length);
}

// --- planning ------------------------------------------------------------------------------------

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

export function applyEphemeralEffect(state: State, effect: EphemeralQueueEffect): void {
  const { tenant, queue, options } = effect;
  if (queue === '') return;
  const key = tenantNameKey(tenant, queue);
  if (options === null) state.delete(ephemeralQueues, key);
  else state.put(ephemeralQueues, key, options);
}

export function writeEphemeralEffect(w: ByteWriter, effect: EphemeralQueueEffect): void {
  w.text(effect.tenant);
  w.text(effect.queue);
  w.optionalText(effect.options);
}

export function readEphemeralEffect(r: ByteReader): EphemeralQueueEffect {
  return { kind: 'ephemeral-queue', tenant: r.text(), queue: r.text(), options: r.optionalText() };
}

export function writeEphemeralCommand(w: ByteWriter, command: EphemeralCommand): void {
  w.text(command.queue);
  if (command.kind === 'ephemeral-configure') w.text(command.options);
}

export function readEphemeralCommand(
  r: GuardedReader,
  kind: EphemeralCommand['kind'],
  tenant: Tenant,
): EphemeralCommand {
  const queue = r.text(NAME_BYTES_MAX);
  checkNames(r, queue, '', '');
  if (queue === '') r.refuse();
  return kind === 'ephemeral-delete'
    ? { kind, tenant, queue }
    : { kind, tenant, queue, options: r.text(EPHEMERAL_OPTIONS_BYTES_MAX) };
}
