/** What a run did and found, as it goes on: faults with their figures, verdicts, violations. */
import type { LoadResult } from '../cluster/judged-load.js';
import { RequestLog } from '../cluster/request-log.js';

/** What all faults of one kind did to the clients. */
export interface FaultFigures {
  readonly count: number;
  /** The longest time without an acknowledged push, from its begin until all was well again. */
  readonly unavailableMsMax: number;
  /** From the end of the fault until pushes went on and every node was ready. */
  readonly recoveryMsMax: number;
}

export interface ChaosReport {
  readonly seed: number;
  readonly seconds: number;
  readonly interrupted: boolean;
  readonly faults: ReadonlyMap<string, FaultFigures>;
  readonly requests: RequestLog;
  /** One line for each judgement. */
  readonly verdicts: readonly string[];
  readonly violations: readonly string[];
}

const ANOMALIES_SHOWN = 20;

class Interrupted extends Error {}

export class RunRecord {
  readonly requests = new RequestLog();
  readonly beganMs = performance.now();
  readonly #seed: number;
  readonly #log: (line: string) => void;
  readonly #faults = new Map<string, FaultFigures>();
  readonly #verdicts: string[] = [];
  readonly #violations: string[] = [];
  readonly #interruption: Promise<never>;
  #interrupt: (error: Interrupted) => void = () => {};
  #interrupted = false;

  constructor(seed: number, log: (line: string) => void) {
    this.#seed = seed;
    this.#log = log;
    this.#interruption = new Promise((_, reject) => {
      this.#interrupt = reject;
    });
    // It is raced against the run; without one it is nobody's error.
    this.#interruption.catch(() => undefined);
  }

  get isClean(): boolean {
    return this.#violations.length === 0;
  }

  /** Nodes are well, as far as is known. */
  get goesOn(): boolean {
    return this.isClean && !this.#interrupted;
  }

  /** Ends the run as soon as possible. */
  interrupt(): void {
    this.#interrupted = true;
    this.#interrupt(new Interrupted());
  }

  /** Runs to the end, to an interruption, or to an error, which is a violation. */
  async until(run: Promise<void>): Promise<void> {
    try {
      await Promise.race([run, this.#interruption]);
    } catch (error) {
      if (error instanceof Interrupted) return;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.violated(`the run broke off: ${text}`);
    }
  }

  note(text: string): void {
    const clock = `${((performance.now() - this.beganMs) / 1000).toFixed(1)} s`.padStart(9);
    this.#log(`${clock}  ${text}`);
  }

  /** `recover` ends when all is well again. */
  async measure(
    name: string,
    fault: () => Promise<void>,
    recover: () => Promise<void>,
  ): Promise<void> {
    const beganMs = performance.now();
    await fault();
    const endedMs = performance.now();
    await recover();
    const wellMs = performance.now();
    const gapMs = this.requests.longestGapMs(beganMs, wellMs);
    const recoveryMs = wellMs - endedMs;
    const before = this.#faults.get(name);
    this.#faults.set(name, {
      count: (before?.count ?? 0) + 1,
      unavailableMsMax: Math.max(before?.unavailableMsMax ?? 0, gapMs),
      recoveryMsMax: Math.max(before?.recoveryMsMax ?? 0, recoveryMs),
    });
    this.note(`  no push for ${gapMs.toFixed(0)} ms, well after ${recoveryMs.toFixed(0)} ms`);
  }

  judged(what: string, { anomalies, summary }: LoadResult): void {
    this.#verdicts.push(`${what}: ${summary}`);
    this.note(`${what}: ${summary}`);
    for (const { kind, text } of anomalies.slice(0, ANOMALIES_SHOWN)) {
      this.violated(`${what}: ${kind}: ${text}`);
    }
  }

  violated(text: string): void {
    this.#violations.push(text);
    this.note(`VIOLATION ${text}`);
  }

  report(): ChaosReport {
    return {
      seed: this.#seed,
      seconds: (performance.now() - this.beganMs) / 1000,
      interrupted: this.#interrupted,
      faults: this.#faults,
      requests: this.requests,
      verdicts: this.#verdicts,
      violations: this.#violations,
    };
  }
}
