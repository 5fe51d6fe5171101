/**
 * A campaign over several worker processes: each runs one seed at a time and asks for the next, so
 * that a slow seed holds up nobody and a failure is known when it happens.
 */
import { fork } from 'node:child_process';
import { added, NOTHING_RUN, runCampaign, type Totals } from './campaign.js';
import type { Fault } from './faults.js';
import type { ShapeName } from './shape.js';

interface Task {
  readonly shape: ShapeName;
  readonly simMs: number;
  readonly without: readonly Fault[];
  readonly seed: number;
}

export interface ParallelOptions {
  readonly program: string;
  readonly jobs: number;
  readonly shape: ShapeName;
  readonly simMs: number;
  readonly without: readonly Fault[];
  readonly firstSeed: number;
  /** Whether one more seed is to be begun, given how many were and what has ended. */
  readonly wanted: (begun: number, totals: Totals) => boolean;
  readonly onProgress: (totals: Totals) => void;
}

/** Resolves when every seed that was begun has ended. */
export function runParallel(options: ParallelOptions): Promise<Totals> {
  const { program, jobs, shape, simMs, without, firstSeed, wanted, onProgress } = options;
  let totals = NOTHING_RUN;
  let begun = 0;
  const worker = () =>
    new Promise<void>((resolve, reject) => {
      const child = fork(program, ['--worker']);
      const next = () => {
        if (!wanted(begun, totals)) {
          child.disconnect();
          return;
        }
        const task: Task = { shape, simMs, without, seed: firstSeed + begun };
        begun++;
        child.send(task);
      };
      child.on('message', (ran) => {
        totals = added(totals, ran as Totals);
        onProgress(totals);
        next();
      });
      child.on('error', reject);
      child.on('exit', (code) => {
        if (code === 0) resolve();
        else reject(new Error(`a worker ended with ${code}`));
      });
      next();
    });
  return Promise.all(Array.from({ length: jobs }, worker)).then(() => totals);
}

/** The other side: runs the seeds that it is sent until nobody is left to send one. */
export function serveAsWorker(): void {
  // Ctrl-C reaches all processes of the terminal; the campaign decides when its workers end.
  process.on('SIGINT', () => {});
  process.on('message', (message) => {
    const { seed, ...campaign } = message as Task;
    process.send?.(runCampaign({ ...campaign, next: ({ runs }) => (runs === 0 ? seed : null) }));
  });
}
