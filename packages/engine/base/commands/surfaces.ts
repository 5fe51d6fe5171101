/**
 * What operators do to the state surfaces (state-surfaces 5.1, 5.2): they set switches, set grants
 * and purge a tenant.
 */
import { type ChoiceOf, kind } from '../fields/choice.js';
import { count, flag, mapped, nullable } from '../fields/field.js';
import { record } from '../fields/record.js';
import { grantKind, grantRow } from '../grants.js';
import { SWITCH_NAMES, type Switches, switchesRow } from '../switches.js';
import { tenant } from './names.js';

/** The switches that are named; the others stay as they are. */
export type SwitchChanges = { readonly [name in keyof Switches]?: boolean };

const named = record({
  kv: nullable(flag),
  timersSchedule: nullable(flag),
  timersFire: nullable(flag),
  ephemeral: nullable(flag),
});

const switchChanges = mapped(
  named,
  ({ kv, timersSchedule, timersFire, ephemeral }: SwitchChanges) => ({
    kv: kv ?? null,
    timersSchedule: timersSchedule ?? null,
    timersFire: timersFire ?? null,
    ephemeral: ephemeral ?? null,
  }),
  (read) => {
    const changes: { -readonly [name in keyof Switches]?: boolean } = {};
    for (const name of SWITCH_NAMES) {
      const change = read[name];
      if (change !== null) changes[name] = change;
    }
    return changes;
  },
);

export const surfaceCommands = {
  /** The tenant is the caller's; switches belong to the whole cluster. */
  'set-switches': kind(16, { tenant, changes: switchChanges }),
  /** Replaces the tenant's grant of this kind, limits that it does not state included. */
  'set-grant': kind(17, { tenant, surface: grantKind, grant: grantRow }),
  /** Removes whatever the tenant has (purge.ts). Never the default tenant. */
  'purge-tenant': kind(18, { tenant }),
};
export type SurfaceCommand = ChoiceOf<'kind', typeof surfaceCommands>;
export type SetSwitchesCommand = Extract<SurfaceCommand, { readonly kind: 'set-switches' }>;
export type SetGrantCommand = Extract<SurfaceCommand, { readonly kind: 'set-grant' }>;
export type PurgeTenantCommand = Extract<SurfaceCommand, { readonly kind: 'purge-tenant' }>;

export const surfaceOutcomes = {
  'switches-set': kind(15, { switches: switchesRow }),
  'grant-set': kind(16, {}),
  /** Answered when nothing is left. */
  'tenant-purged': kind(17, { partitionsDeleted: count }),
};
export type SurfaceOutcome = ChoiceOf<'kind', typeof surfaceOutcomes>;
export type SwitchesSetOutcome = Extract<SurfaceOutcome, { readonly kind: 'switches-set' }>;
export type GrantSetOutcome = Extract<SurfaceOutcome, { readonly kind: 'grant-set' }>;
export type TenantPurgedOutcome = Extract<SurfaceOutcome, { readonly kind: 'tenant-purged' }>;
