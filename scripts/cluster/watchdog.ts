/**
 * Ends the processes of a cluster when the program that started them is gone, however it went.
 *
 * It runs in a session of its own, so that neither Ctrl-C nor the end of the terminal reaches it,
 * and reads lines from its standard input: `+pid` and `-pid`. The input ends with the program; what
 * is on the list then gets SIGTERM, and SIGKILL after the time that a node takes to drain.
 */
import { createInterface } from 'node:readline';

const DRAIN_MS_MAX = 70_000;
const POLL_MS = 200;

const running = new Set<number>();

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}

function endAll(): void {
  for (const pid of running) signal(pid, 'SIGTERM');
  waitForEnds(performance.now() + DRAIN_MS_MAX);
}

function waitForEnds(untilMs: number): void {
  for (const pid of running) if (!signal(pid, 0)) running.delete(pid);
  if (running.size === 0) return;
  if (performance.now() < untilMs) setTimeout(waitForEnds, POLL_MS, untilMs);
  else for (const pid of running) signal(pid, 'SIGKILL');
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const pid = Number(line.slice(1));
    if (!Number.isSafeInteger(pid) || pid <= 1) return;
    if (line.startsWith('+')) running.add(pid);
    else running.delete(pid);
  })
  .on('close', endAll);
