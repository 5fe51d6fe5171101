/** The storage layer's timings, counted; it has no clock of its own. */
import type { WriteTiming } from '@svc/storage';
import type { PipelineMeters } from '@svc/wire';
import type { Clock } from './clock.js';

const US_PER_MS = 1000;

export function writeTiming(pipeline: PipelineMeters, clock: Clock): WriteTiming {
  return {
    nowMs: () => clock.nowMs(),
    pickedUp: (waitedMs) => pipeline.writerPickup.record(waitedMs * US_PER_MS),
    synced: (entries, bytes, syncMs) => {
      pipeline.groupEntries.record(entries);
      pipeline.groupBytes.record(bytes);
      pipeline.logSync.record(syncMs * US_PER_MS);
    },
    removed: (files) => {
      pipeline.applied.files_unlinked += files;
    },
    committed: (tookMs) => {
      pipeline.applied.commits++;
      pipeline.storeCommit.record(tookMs * US_PER_MS);
    },
  };
}
