/** Setting switches and grants (state-surfaces 5.1, 5.2). */
import { GRANT_KINDS, GRANT_LIMITS } from '@svc/wire';
import type {
  GrantSetOutcome,
  SetGrantCommand,
  SetSwitchesCommand,
  SwitchesSetOutcome,
} from '../base/commands/surfaces.js';
import { grantKey, grantOf, grants } from '../base/grants.js';
import { SWITCH_NAMES, type Switches, switchesOf } from '../base/switches.js';
import type { Draft } from '../draft/draft.js';
import type { PurgeStep } from '../features/job.js';

export function planSwitches(draft: Draft, { changes }: SetSwitchesCommand): SwitchesSetOutcome {
  const before = switchesOf(draft.state);
  const row: Switches = { ...before, ...changes };
  if (SWITCH_NAMES.some((name) => row[name] !== before[name])) {
    draft.emit({ kind: 'switches', row });
  }
  return { kind: 'switches-set', switches: row };
}

export function planGrant(draft: Draft, command: SetGrantCommand): GrantSetOutcome {
  const { tenant, surface, grant } = command;
  const before = draft.state.get(grants, grantKey(tenant, surface));
  const isSame =
    before?.enabled === grant.enabled &&
    GRANT_LIMITS.every((limit) => before[limit] === grant[limit]);
  if (!isSame) draft.emit({ kind: 'grant', tenant, surface, row: grant });
  return { kind: 'grant-set' };
}

/** They are a few rows, and all go in one step. */
export function purgeGrants({ draft, tenant }: PurgeStep): null {
  for (const surface of GRANT_KINDS) {
    if (grantOf(draft.state, tenant, surface) === undefined) continue;
    draft.emit({ kind: 'grant', tenant, surface, row: null });
  }
  return null;
}
