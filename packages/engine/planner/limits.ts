/** What bounds the planner's turns, and the settings of the node that it follows. */

import type { DeliveryLimits } from '../base/delivery-limits.js';
import { AUTOPILOT_LIMITS, type AutopilotLimits } from '../delivery/autopilot.js';
import type { NameBounds } from '../draft/name-bounds.js';
import type { TimerLimits } from '../features/timers/timers.js';
import type { CleanupLimits } from '../upkeep/partition-cleanup.js';
import type { RetentionLimits } from '../upkeep/retention.js';

export interface PlannerLimits {
  /**
   * Bytes of an entry at which its turn takes no further command. The last one may be larger: an
   * entry is at most this, and what a single command adds.
   */
  readonly turnBytesMax: number;
  readonly entryBytesMax: number;
  /** Rows of deleted queues that one turn sweeps. */
  readonly sweepRowsMax: number;
  /**
   * Rows that changes of groups look at in one turn: 200 * 25 us for reading, writing and applying
   * a cursor = 5 ms, and what others do waits for as many of these as there are entries in flight.
   */
  readonly groupChangeRowsMax: number;
  /** Added to leases that another node granted, for the difference of clocks. */
  readonly leaseGraceMs: number;
  /** How long the outcome of a request is kept whose sender does not say that it is settled. */
  readonly requestWindowMs: number;
  readonly traceRetentionSeconds: number;
  readonly delivery?: DeliveryLimits;
  readonly retention?: RetentionLimits;
  /** null: unused partitions stay for ever. */
  readonly cleanup?: CleanupLimits | null;
  readonly timers?: TimerLimits;
  readonly autopilot: AutopilotLimits;
  /** How many names there may be. Left out: any number. */
  readonly names?: NameBounds;
}

export const PLANNER_LIMITS: PlannerLimits = {
  turnBytesMax: 4 * 1024 * 1024,
  entryBytesMax: 96 * 1024 * 1024,
  sweepRowsMax: 1000,
  groupChangeRowsMax: 200,
  leaseGraceMs: 500,
  requestWindowMs: 60_000,
  traceRetentionSeconds: 604_800,
  autopilot: AUTOPILOT_LIMITS,
};
