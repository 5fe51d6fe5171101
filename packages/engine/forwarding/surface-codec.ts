/**
 * The form of what operators do to the state surfaces, between nodes:
 *
 *     set-switches: per switch u8 (keep, off, on)
 *     set-grant:    kind u8 | grant
 *     purge-tenant: nothing
 */
import type { ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import type { SurfaceCommand, SurfaceOutcome } from '../base/commands/surfaces.js';
import { grantKind, grantRow } from '../base/grants.js';
import type { GuardedReader } from '../base/guarded-reader.js';
import { SWITCH_NAMES, type Switches } from '../base/switches.js';

const CHANGES = [null, false, true] as const;

export function writeSurfaceCommand(w: ByteWriter, command: SurfaceCommand): void {
  switch (command.kind) {
    case 'set-switches':
      for (const name of SWITCH_NAMES) w.u8(CHANGES.indexOf(command.changes[name] ?? null));
      break;
    case 'set-grant':
      grantKind.write(w, command.surface);
      grantRow.write(w, command.grant);
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
      const surface = grantKind.read(r);
      return { kind, tenant, surface, grant: grantRow.read(r) };
    }
    case 'purge-tenant':
      return { kind, tenant };
  }
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
