/** What the machine says of this process, for the raft routes (inspection 7). */
import { readFileSync } from 'node:fs';
import { memoryUsage, resourceUsage } from 'node:process';
import type { RaftMemberHost } from '@svc/wire';

export function machineFigures(): RaftMemberHost {
  const { userCPUTime, systemCPUTime } = resourceUsage();
  const cpuUs = userCPUTime + systemCPUTime;
  return {
    rssBytes: memoryUsage.rss(),
    anonBytes: anonymousBytes(),
    cpuPct: Math.round((cpuUs / (process.uptime() * 1_000_000)) * 1000) / 10,
  };
}

/** null where the platform does not tell. */
function anonymousBytes(): number | null {
  if (process.platform !== 'linux') return null;
  const line = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'));
  return line?.[1] === undefined ? null : Number(line[1]) * 1024;
}
