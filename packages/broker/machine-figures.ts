/** What the machine says of this process, for the raft routes (inspection 7). */
import { resourceUsage } from 'node:process';
import { anonymousBytes, residentBytes } from '@svc/http';
import type { RaftMemberHost } from '@svc/wire';

export function machineFigures(): RaftMemberHost {
  const { userCPUTime, systemCPUTime } = resourceUsage();
  const cpuUs = userCPUTime + systemCPUTime;
  return {
    rssBytes: residentBytes(),
    anonBytes: anonymousBytes(),
    cpuPct: Math.round((cpuUs / (process.uptime() * 1_000_000)) * 1000) / 10,
  };
}
