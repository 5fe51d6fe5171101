/** Figures of this process and its machine, for the raft routes. */
import { statfsSync } from 'node:fs';
import { totalmem } from 'node:os';
import { constrainedMemory, resourceUsage } from 'node:process';
import { anonymousBytes, isMachineRefusal, residentBytes } from '@svc/http';
import type { RaftMemberHost } from '@svc/wire';

/** `directory`: whose volume the node fills. */
export function machineFigures(directory: string): RaftMemberHost {
  const { userCPUTime, systemCPUTime } = resourceUsage();
  const cpuUs = userCPUTime + systemCPUTime;
  return {
    rssBytes: residentBytes(),
    anonBytes: anonymousBytes(),
    cpuPct: Math.round((cpuUs / (process.uptime() * 1_000_000)) * 1000) / 10,
    memoryLimitBytes: memoryLimitBytes(),
    diskUsedPct: diskUsedPct(directory),
  };
}

/** What the container may have, or the machine has: without a limit the system says 0 or 2^64. */
function memoryLimitBytes(): number {
  const limit = constrainedMemory();
  return limit > 0 && limit < totalmem() ? limit : totalmem();
}

/** As `df` counts it, and the disk gate; null: the machine does not say. */
function diskUsedPct(directory: string): number | null {
  try {
    const { blocks, bfree, bavail } = statfsSync(directory);
    const used = blocks - bfree;
    return Math.round((1000 * used) / Math.max(1, used + bavail)) / 10;
  } catch (error) {
    if (!isMachineRefusal(error)) throw error;
    return null;
  }
}
