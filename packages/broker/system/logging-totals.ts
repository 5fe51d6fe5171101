/** What the line of rates in the log counts, and the sizes that are told beside it. */
import { residentBytes, type Service } from '@svc/http';
import type { Meters, OpMeters } from '@svc/wire';
import type { Totals } from './logging-rates.js';

const MIB = 1024 * 1024;

/** Counts since the start of the process. */
export function totalsOf({ calls, kv, locks, ephemeral, pipeline }: Meters): Totals {
  const { messages } = ephemeral;
  return {
    ...calls,
    kvOps: operations(kv),
    lockOps: operations(locks),
    ephemeralPushed: messages.pushed,
    ephemeralPopped: messages.popped,
    entriesProposed: pipeline.proposals,
    entriesApplied: pipeline.applied.entries,
    logSyncs: pipeline.logSync.count,
    logBytes: pipeline.groupBytes.sum,
    forwarded: pipeline.forward.sent,
  };
}

function operations({ ops }: OpMeters<string>): number {
  let sum = 0;
  for (const { applied, rejected, error } of Object.values(ops)) sum += applied + rejected + error;
  return sum;
}

/** As they are now. */
export function sizesOf(service: Service): Totals {
  const { log, inflight, store } = service.raftStatus();
  const { admission } = service.pressure();
  return {
    residentMib: Math.round(residentBytes() / MIB),
    logFiles: log.files ?? 0,
    logMib: Math.round((log.bytes ?? 0) / MIB),
    storeMib: Math.round((store.usedBytes ?? 0) / MIB),
    inflight: inflight ?? 0,
    admittedBytes: admission.bytes,
    waiting: admission.waiting,
  };
}
