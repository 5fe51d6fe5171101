/** From a seed that failed to the shortest trace that still fails, and how to see it again. */
import type { Fault } from './faults.js';
import { type Minimised, minimise } from './minimise.js';
import { type RunPlan, type RunResult, run } from './run.js';
import { codeOf } from './violation.js';

/** Pops that found nothing, and pushes that were turned away. */
const IDLE = / (pop \S+ since \S+|push \S+ unknown|take \S+|churn .*)\s*$/;

export interface Shrunk extends Minimised {
  readonly plan: RunPlan;
  readonly result: RunResult;
  /** The end of the trace. */
  readonly lines: readonly string[];
}

export function shrink(plan: RunPlan, budgetMs: number, lines: number): Shrunk {
  const untilMs = performance.now() + budgetMs;
  const first = run(plan);
  const code = codeOf(first.violations[0] ?? '');
  const minimised = minimise({
    start: {
      simMs: plan.simMs,
      without: plan.without ?? new Set<Fault>(),
      skip: plan.skip ?? new Set<number>(),
    },
    attempt: (reduction) => {
      const result = run({ ...plan, ...reduction });
      return {
        failed: result.violations.some((violation) => codeOf(violation) === code),
        endedMs: Math.min(result.endedMs, reduction.simMs),
        faults: result.kinds,
        injected: result.injected.map(({ ordinal }) => ordinal),
      };
    },
    goOn: () => performance.now() < untilMs,
  });
  const last: string[] = [];
  const smallest: RunPlan = { ...plan, ...minimised.reduction };
  const result = run({
    ...smallest,
    trace: (line) => {
      if (IDLE.test(line)) return;
      last.push(line);
      if (last.length > lines) last.shift();
    },
  });
  return { ...minimised, plan: smallest, result, lines: last };
}

/** The arguments of `npm run sim` that run this plan. */
export function argumentsOf({ seed, shape, simMs, without, skip }: RunPlan): string {
  const parts = [`--seed ${seed}`, `--shape ${shape}`, `--sim-seconds ${simMs / 1000}`];
  if (without !== undefined && without.size > 0) parts.push(`--without ${[...without].join(',')}`);
  if (skip !== undefined && skip.size > 0) parts.push(`--skip ${[...skip].join(',')}`);
  return parts.join(' ');
}
