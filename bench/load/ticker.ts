// A worker thread that wakes its parent once per interval, to a small part of a millisecond.
//
// Timers of the event loop have a resolution of a millisecond, which is the very latency that the
// open loop wants to see; spinning would take a core from the node. A thread that sleeps in
// Atomics.wait does neither. It posts a message per interval; when it comes late it skips the
// missed ones, because the parent sends whatever is due by its own clock.

import { parentPort, workerData } from 'node:worker_threads';

export interface TickerPlan {
  /** Moment of the first tick, on the clock of `monotonicMs`. */
  readonly firstMs: number;
  readonly intervalMs: number;
  readonly ticks: number;
}

/** Milliseconds on a clock that all threads of the process share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function runTicker(plan: TickerPlan, post: () => void): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  let tick = 0;
  while (tick < plan.ticks) {
    const waitMs = plan.firstMs + tick * plan.intervalMs - monotonicMs();
    if (waitMs > 0) {
      Atomics.wait(cell, 0, 0, waitMs);
    }
    post();
    const passed = Math.floor((monotonicMs() - plan.firstMs) / plan.intervalMs);
    tick = Math.max(tick, passed) + 1;
  }
}

if (parentPort !== null) {
  const port = parentPort;
  runTicker(workerData as TickerPlan, () => port.postMessage(0));
}
