/**
 * The autopilot of pop (message-plane 3.1): the leader sizes what the request left out.
 *
 * The width shares the ready partitions out among all who want some. The batch is what the group
 * acknowledges in a fifth of a second: small enough that a consumer that dies holds little, large
 * enough that round trips do not slow the group down.
 *
 * The rate that the batch follows is memory of the leader, one record per group that autopilot was
 * asked for, kept and dropped with the group. Nothing is measured for other groups, so an
 * acknowledgement costs nothing more where nobody asks. After a change of leader the rate is cold:
 * it begins at the smallest batch and rises as acknowledgements come in. It is a sum of what was
 * acknowledged, each part fading with its age; that needs neither a timer nor a ring of samples. It
 * starts low rather than correcting for its youth: the first few acknowledgements prove no rate.
 */
import { POP_PARTITIONS_MAX } from '@svc/wire';
import type { PopCommand } from '../base/commands/commands.js';
import type { AutopilotSizes } from '../base/delivery-terms.js';
import type { DeliveryGroup, DeliveryMemory } from './memory.js';

export interface AutopilotLimits {
  /** How long a batch should last at the group's rate. */
  readonly drainMs: number;
  /** 1 <= batchMin <= batchMax. */
  readonly batchMin: number;
  readonly batchMax: number;
}

export const AUTOPILOT_LIMITS: AutopilotLimits = { drainMs: 200, batchMin: 100, batchMax: 1000 };

/** After this long without an acknowledgement a third of the rate is left. */
const FADE_MS = 5000;

/** Messages that a group acknowledges per second. */
export class DrainRate {
  #perSecond = 0;
  #atMs: number;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  add(messages: number, nowMs: number): void {
    this.#perSecond = this.perSecond(nowMs) + messages / (FADE_MS / 1000);
    this.#atMs = nowMs;
  }

  perSecond(nowMs: number): number {
    return this.#perSecond * Math.exp((this.#atMs - nowMs) / FADE_MS);
  }
}

/**
 * The sizes to serve the pop with; null when it asked for nothing or the group conflates, where the
 * number of messages follows from the partitions. `others` wait beside it.
 */
export function autopilotSizes(
  memory: DeliveryMemory,
  command: PopCommand,
  groups: readonly DeliveryGroup[],
  others: number,
  nowMs: number,
): AutopilotSizes | null {
  const { autopilot, scope } = command;
  const group = groups[0];
  if (autopilot === null || scope.kind !== 'queue' || group === undefined) return null;
  if (command.conflation === true || group.policy?.conflation === true) return null;
  const width = Math.ceil(group.ready.size / (others + 1));
  return {
    partitions: autopilot.partitions
      ? Math.min(Math.max(width, 1), POP_PARTITIONS_MAX)
      : command.partitions,
    batch: autopilot.batch ? batchOf(memory.measured(group, nowMs), memory, nowMs) : command.batch,
  };
}

function batchOf(rate: DrainRate, memory: DeliveryMemory, nowMs: number): number {
  const { drainMs, batchMin, batchMax } = memory.autopilot;
  const batch = Math.round((rate.perSecond(nowMs) * drainMs) / 1000);
  return Math.min(Math.max(batch, batchMin), batchMax);
}
