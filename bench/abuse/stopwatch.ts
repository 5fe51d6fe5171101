// Measures times, each as it was and without the machine's share.
//
// A machine that does other work makes any node look slow. The kernel counts for how long a thread
// was ready to run and had no processor, so each time is taken twice: as it was, and without the
// time for which the node's main thread, or that of this program, waited for a processor (the
// longer of both, since they may have waited together). A bound that only the first time misses is
// called noisy, because the machine may be the cause. A bound that both miss is the node's fault.

import { readFileSync } from 'node:fs';

export interface Mark {
  readonly atMs: number;
  readonly nodeWaitedMs: number;
  readonly ownWaitedMs: number;
}

export interface Elapsed {
  readonly ms: number;
  /** `ms` less the time for which the node or this program waited for a processor. */
  readonly quietMs: number;
}

export const NO_TIME: Elapsed = { ms: 0, quietMs: 0 };

export class Stopwatch {
  /** Process of the node. */
  readonly #pid: number;
  #nodeWaitedMs = 0;

  readonly #start: readonly [ranMs: number, waitedMs: number];

  constructor(pid: number) {
    this.#pid = pid;
    this.#start = timesOf(pid) ?? [0, 0];
  }

  /**
   * Share of processor time that the node got of what it wanted, since this object was made: the
   * time that its main thread ran, divided by the time that it ran or waited for a processor.
   */
  processorShare(): number {
    const [ranMs, waitedMs] = timesOf(this.#pid) ?? [0, 0];
    const ran = ranMs - this.#start[0];
    const waited = waitedMs - this.#start[1];
    return ran + waited <= 0 ? 1 : ran / (ran + waited);
  }

  /** `atMs`: the moment to mark when it was a little before now, such as when a push was due. */
  mark(atMs = performance.now()): Mark {
    this.#nodeWaitedMs = timesOf(this.#pid)?.[1] ?? this.#nodeWaitedMs;
    return {
      atMs,
      nodeWaitedMs: this.#nodeWaitedMs,
      ownWaitedMs: timesOf(process.pid)?.[1] ?? 0,
    };
  }

  since(start: Mark): Elapsed {
    const end = this.mark();
    const ms = end.atMs - start.atMs;
    const waited = Math.max(
      end.nodeWaitedMs - start.nodeWaitedMs,
      end.ownWaitedMs - start.ownWaitedMs,
    );
    return { ms, quietMs: Math.max(0, ms - waited) };
  }
}

export function longer(one: Elapsed, other: Elapsed): Elapsed {
  return {
    ms: Math.max(one.ms, other.ms),
    quietMs: Math.max(one.quietMs, other.quietMs),
  };
}

/**
 * Time for which the main thread of a process ran, and time for which it waited for a processor;
 * null when the process has ended.
 */
function timesOf(pid: number): readonly [ranMs: number, waitedMs: number] | null {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8');
    const [ran, waited] = text.split(' ').map(Number);
    return [(ran ?? 0) / 1e6, (waited ?? 0) / 1e6];
  } catch {
    return null;
  }
}
