/** The seam to the broker for switches, grants and occupancy (state-surfaces 5): `service.ts`. */
import type { GrantRow, RefusedOutcome, Switches, Tenant } from '@svc/engine';
import type { GrantKind } from '@svc/wire';
import type { Reply } from './service.js';

/** What the gate asks: immediate, from what this node has applied. */
export interface GateSource {
  switches(): Switches;
  grant(tenant: Tenant, kind: GrantKind): GrantRow | undefined;
  use(tenant: Tenant): SurfaceUse;
}

export interface SurfaceService extends GateSource {
  /** A linearizable read. */
  readSwitches(reply: Reply<SwitchesView | RefusedOutcome>): void;
}

/** What a tenant has stored. */
export interface SurfaceUse {
  readonly kvRows: number;
  readonly kvBytes: number;
  readonly timers: number;
}

export interface SwitchesView {
  readonly kind: 'switches';
  readonly switches: Switches;
}
