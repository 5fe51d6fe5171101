/** Figures of this process and its machine, for the raft routes. */
import { statfsSync } from 'node:fs';
import { totalmem } from 'node:os';
import { constrainedMemory, resourceUsage } from 'node:process';
import { anonymousBytes, isMachineRefusal, residentBytes } from '@svc/http';
import type { RaftMemberHost } from '@svc/wire';

/** The processor time of this long at least is told: that of a turn would jump. */
const SPAN_SECONDS_MIN = 1;

export interface MachineFiguresOptions {
  /** The directory on the volume that the node fills. */
  readonly directory: string;
  readonly diskGatePct: number;
}

export class MachineFigures {
  readonly #options: MachineFiguresOptions;
  /** When the processor time was told last, and what had been used by then. */
  #toldSeconds = 0;
  #toldUs = 0;
  #cpuPct = 0;

  constructor(options: MachineFiguresOptions) {
    this.#options = options;
  }

  now(): RaftMemberHost {
    const { directory, diskGatePct } = this.#options;
    return {
      rssBytes: residentBytes(),
      anonBytes: anonymousBytes(),
      cpuPct: this.#recentCpuPct(),
      memoryLimitBytes: memoryLimitBytes(),
      diskUsedPct: diskUsedPct(directory),
      diskGatePct,
    };
  }

  /**
   * The share of one core since it was told before, in percent; at first since the start. A mean
   * over the life of the process would show nothing of an hour at its limit after a calm week.
   */
  #recentCpuPct(): number {
    const seconds = process.uptime();
    const spanSeconds = seconds - this.#toldSeconds;
    if (spanSeconds < SPAN_SECONDS_MIN) return this.#cpuPct;
    const { userCPUTime, systemCPUTime } = resourceUsage();
    const usedUs = userCPUTime + systemCPUTime;
    this.#cpuPct = Math.round((usedUs - this.#toldUs) / (spanSeconds * 1000)) / 10;
    this.#toldSeconds = seconds;
    this.#toldUs = usedUs;
    return this.#cpuPct;
  }
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
