/**
 * The form of what operators do to the state surfaces, between nodes:
 *
 *     set-switches: per switch u8 (keep, off, on)
 *     set-grant:    kind u8 | grant
 *     purge-tenant: nothing
 */
import { GRANT_KINDS, GRANT_LIMITS } from '@svc/wire';
import type { ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import type { SurfaceCommand, SurfaceOutcome } from '../base/commands/surfaces.js';
import { type GrantLimits, type GrantRow, writeGrant, writeGrantKind } from '../base/grants.js';
import type { GuardedReader } from '../base/guarded-reader.js';
import { SWITCH_NAMES, type Switches } from '../base/switches.js';

const CHANGES = [null, false, true] as const;

export function writeSurfaceCommand(w: ByteWriter, command: SurfaceCommand): void {
  switch (command.kind) {
    case 'set-switches':
      for (const name of SWITCH_NAMES) w.u8(CHANGES.indexOf(command.changes[name] ?? null));
      break;
    case 'set-grant':
      writeGrantKind(w, command.surface);
      writeGrant(w, command.grant);
      break;
    case 'purge-tenant':
      break;
  }
}

export function readSurfaceCommand(
  r: GuardedReader,
  kind: SurfaceCommand['kind'],
  tenant: Tenant,
): SurfaceCommand {
  switch (kind) {
    case 'set-switches': {
      const changes: { -readonly [name in keyof Switches]?: boolean } = {};
      for (const name of SWITCH_NAMES) {
        const change = r.oneOf(CHANGES);
        if (change !== null) changes[name] = change;
      }
      return { kind, tenant, changes };
    }
    case 'set-grant': {
      const surface = r.oneOf(GRANT_KINDS);
      return { kind, tenant, surface, grant: readGrantOf(r) };
    }
    case 'purge-tenant':
      return { kind, tenant };
  }
}

/** The form that `writeGrant` writes. */
function readGrantOf(r: GuardedReader): GrantRow {
  const enabled = r.flag();
  const limits: { [limit: string]: number | null } = {};
  for (const limit of GRANT_LIMITS) limits[limit] = r.flag() ? r.varint() : null;
  return { enabled, ...(limits as unknown as GrantLimits) };
}

export function writeSurfaceOutcome(w: ByteWriter, outcome: SurfaceOutcome): void {
  switch (outcome.kind) {
    case 'switches-set':
      for (const name of SWITCH_NAMES) w.flag(outcome.switches[name]);
      break;
    case 'grant-set':
      break;
    case 'tenant-purged':
      w.varint(outcome.partitionsDeleted);
      break;
  }
}

export function readSurfaceOutcome(r: GuardedReader, kind: SurfaceOutcome['kind']): SurfaceOutcome {
  switch (kind) {
    case 'switches-set': {
      const [kv, timersSchedule, timersFire] = [r.flag(), r.flag(), r.flag()];
      return { kind, switches: { kv, timersSchedule, timersFire, ephemeral: r.flag() } };
    }
    case 'grant-set':
      return { kind };
    case 'tenant-purged':
      return { kind, partitionsDeleted: r.varint() };
  }
}
