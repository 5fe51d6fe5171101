/**
 * A campaign over several worker processes: each runs one portion of seeds at a time and asks for
 * the next, so that a slow seed holds up nobody.
 */
import { fork } from 'node:child_process';
import { added, NOTHING_RUN, runCampaign, type Totals } from './campaign.js';
import type { Fault } from './faults.js';
import type { ShapeName } from './shape.js';

interface Portion {
  readonly shape: ShapeName;
  readonly simMs: number;
  readonly without: readonly Fault[];
  readonly from: number;
  readonly count: number;
}

export interface ParallelOptions {
  readonly program: string;
  readonly jobs: number;
  readonly shape: ShapeName;
  readonly simMs: number;
  readonly without: readonly Fault[];
  readonly firstSeed: number;
  /** How many more seeds to begin now, given those begun and what has ended; 0: enough. */
  readonly wanted: (begun: number, totals: Totals) => number;
  readonly onProgress: (totals: Totals) => void;
}

const PORTION = 5;

/** Resolves when every seed that was begun has ended. */
export function runParallel(options: ParallelOptions): Promise<Totals> {
  const { program, jobs, shape, simMs, without, firstSeed, wanted, onProgress } = options;
  let totals = NOTHING_RUN;
  let begun = 0;
  const worker = () =>
    new Promise<void>((resolve, reject) => {
      const child = fork(program, ['--worker']);
      const next = () => {
        const count = Math.min(PORTION, wanted(begun, totals));
        if (count <= 0) {
          child.disconnect();
          return;
        }
        const portion: Portion = { shape, simMs, without, from: firstSeed + begun, count };
        begun += count;
        child.send(portion);
      };
      child.on('message', (portion) => {
        totals = added(totals, portion as Totals);
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

/** The other side: runs the portions that it is sent until nobody is left to send one. */
export function serveAsWorker(): void {
  // Ctrl-C reaches all processes of the terminal; the campaign decides when its workers end.
  process.on('SIGINT', () => {});
  process.on('message', (message) => {
    const { shape, simMs, without, from, count } = message as Portion;
    const totals = runCampaign({
      shape,
      simMs,
      without,
      next: ({ runs }) => (runs < count ? from + runs : null),
    });
    process.send?.(totals);
  });
}
