/** Switches, grants and occupancy that a test sets. */
import type { GrantRow, RefusedOutcome, Switches } from '@svc/engine';
import type { Reply } from '../ports/service.js';
import type { SurfaceService, SurfaceUse, SwitchesView } from '../ports/surface-service.js';

export class FakeSurfaces implements SurfaceService {
  on: Switches = { kv: true, timersSchedule: true, timersFire: true, ephemeral: true };
  /** By `kind tenant`. */
  readonly grants = new Map<string, GrantRow>();
  used: SurfaceUse = { kvRows: 0, kvBytes: 0, timers: 0 };

  switches(): Switches {
    return this.on;
  }

  grant(tenant: string, kind: string): GrantRow | undefined {
    return this.grants.get(`${kind} ${tenant}`);
  }

  use(): SurfaceUse {
    return this.used;
  }

  readSwitches(reply: Reply<SwitchesView | RefusedOutcome>): void {
    reply.send({ kind: 'switches', switches: this.on });
  }
}

/** Of no limits but those that are named. */
export function grantWith(limits: Partial<GrantRow>): GrantRow {
  return {
    enabled: true,
    maxRows: null,
    maxBytes: null,
    maxTimers: null,
    maxTimerHorizonSeconds: null,
    maxReadsPerSecond: null,
    maxWritesPerSecond: null,
    maxQueues: null,
    maxMessagesPerSecond: null,
    maxQueries: null,
    ...limits,
  };
}
