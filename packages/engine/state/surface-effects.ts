/** What operators' commands do to the state (commands/surfaces.ts), and its form in an entry. */
import type { GrantKind } from '@svc/wire';
import type { ByteReader, ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import {
  type GrantRow,
  grantKey,
  grants,
  readGrant,
  readGrantKind,
  writeGrant,
  writeGrantKind,
} from '../base/grants.js';
import { SINGLETON_KEY } from '../base/keys.js';
import type { Key, State } from '../base/state.js';
import { readSwitches, type Switches, switches, writeSwitches } from '../base/switches.js';
import { type PurgeRow, purgeKey, purges, readPurge, writePurge } from './purge-table.js';
import { dropTraces } from './traces/apply.js';

export type SurfaceEffect =
  | { readonly kind: 'switches'; readonly row: Switches }
  /** null: the grant is gone. */
  | {
      readonly kind: 'grant';
      readonly tenant: Tenant;
      readonly surface: GrantKind;
      readonly row: GrantRow | null;
    }
  /** null: the purge is done. */
  | { readonly kind: 'purge'; readonly tenant: Tenant; readonly row: PurgeRow | null }
  /** These traces, which exist, are gone. */
  | { readonly kind: 'drop-traces'; readonly places: readonly Key[] };

export const SURFACE_EFFECT_KINDS = ['switches', 'grant', 'purge', 'drop-traces'] as const;

export function writeSurfaceEffect(w: ByteWriter, effect: SurfaceEffect): void {
  switch (effect.kind) {
    case 'switches':
      writeSwitches(w, effect.row);
      break;
    case 'grant':
      w.text(effect.tenant);
      writeGrantKind(w, effect.surface);
      w.flag(effect.row !== null);
      if (effect.row !== null) writeGrant(w, effect.row);
      break;
    case 'purge':
      w.text(effect.tenant);
      w.flag(effect.row !== null);
      if (effect.row !== null) writePurge(w, effect.row);
      break;
    case 'drop-traces':
      w.varint(effect.places.length);
      for (const place of effect.places) w.text(place);
      break;
  }
}

export function readSurfaceEffect(kind: SurfaceEffect['kind'], r: ByteReader): SurfaceEffect {
  switch (kind) {
    case 'switches':
      return { kind, row: readSwitches(r) };
    case 'grant':
      return {
        kind,
        tenant: r.text(),
        surface: readGrantKind(r),
        row: r.flag() ? readGrant(r) : null,
      };
    case 'purge':
      return { kind, tenant: r.text(), row: r.flag() ? readPurge(r) : null };
    case 'drop-traces':
      return { kind, places: Array.from({ length: r.varint() }, () => r.text() as Key) };
  }
}

export function applySurfaceEffect(state: State, effect: SurfaceEffect): void {
  switch (effect.kind) {
    case 'switches':
      state.put(switches, SINGLETON_KEY, effect.row);
      break;
    case 'grant': {
      const key = grantKey(effect.tenant, effect.surface);
      if (effect.row === null) state.delete(grants, key);
      else state.put(grants, key, effect.row);
      break;
    }
    case 'purge': {
      const key = purgeKey(effect.tenant);
      if (effect.row === null) state.delete(purges, key);
      else state.put(purges, key, effect.row);
      break;
    }
    case 'drop-traces':
      dropTraces(state, effect.places);
      break;
  }
}
