/** Many runs, one after the other, and what they add up to. */
import { FAULT_NAMES, FAULTS, type FaultCounts, noFaults } from './faults.js';
import { type RunResult, run } from './run.js';

export interface Campaign {
  readonly runs: number;
  readonly events: number;
  readonly starts: number;
  readonly stored: number;
  readonly deliveries: number;
  readonly faults: FaultCounts;
  readonly failed: readonly RunResult[];
}

export interface CampaignOptions {
  readonly firstSeed: number;
  readonly faultMs: number;
  /** Asked after each run. */
  readonly goOn: (runs: number, failures: number) => boolean;
}

export function runCampaign(options: CampaignOptions): Campaign {
  const faults = noFaults();
  const failed: RunResult[] = [];
  let runs = 0;
  let events = 0;
  let starts = 0;
  let stored = 0;
  let deliveries = 0;
  do {
    const result = run({ seed: options.firstSeed + runs, faultMs: options.faultMs });
    runs++;
    events += result.events;
    starts += result.starts;
    stored += result.stored;
    deliveries += result.deliveries;
    for (const fault of FAULT_NAMES) faults[fault] += result.faults[fault];
    if (result.violations.length > 0) failed.push(result);
  } while (options.goOn(runs, failed.length));
  return { runs, events, starts, stored, deliveries, faults, failed };
}

/** A table of the faults, and a line of totals. */
export function summaryOf(campaign: Campaign): string {
  const { runs, events, starts, stored, deliveries, faults, failed } = campaign;
  const lines = FAULT_NAMES.map(
    (fault) => `${fault.padEnd(14)} ${`${faults[fault]}`.padStart(8)}  ${FAULTS[fault]}`,
  );
  lines.push(
    `${runs} seeds, ${events} events, ${starts} starts, ${stored} messages stored, ` +
      `${deliveries} deliveries, ${failed.length} seeds failed`,
  );
  return lines.join('\n');
}
