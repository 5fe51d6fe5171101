/**
 * The simulator, `npm run sim`. Without `--campaign` it runs seeds from `--seed` on until
 * `--seconds` have passed; with it, that many seeds. Exit code 1 when a seed failed, 2 for
 * arguments that it does not know.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Failure, runCampaign, summaryOf, type Totals } from './campaign.js';
import { FAULT_NAMES, FAULTS, type Fault, isFault } from './faults.js';
import { describeFrame } from './frame-trace.js';
import { type RunPlan, run } from './run.js';
import { SHAPE_NAMES, type ShapeName } from './shape.js';
import { argumentsOf, shrink } from './shrink.js';
import { runParallel, serveAsWorker } from './workers.js';

const PROGRESS_MS = 2000;
/** Then the campaign ends: more of them would say little, and all begin alike. */
const FAILURES_MAX = 20;
const SECONDS = 60;
const SIM_SECONDS: { readonly [shape in ShapeName]: number } = {
  cluster: 60,
  single: 2,
  busy: 8,
  standby: 15,
  joined: 8,
};
const SIM_SECONDS_TEXT = SHAPE_NAMES.map((name) => `${name} ${SIM_SECONDS[name]}`).join(', ');
const SHRINK_SECONDS = 120;
const TRACE_LINES = 40;

const USAGE = `npm run sim -- [--seed N] [--seconds T | --campaign N] [--trace]

  --seed N          the first seed; taken from the clock unless given
  --seconds T       run seeds from there on for this long; ${SECONDS} unless given
  --campaign N      run this many seeds instead
  --jobs J          in so many worker processes; 1 unless given
  --shape S         cluster (unless given), busy: the same without any rest, single: one
                    machine, busy clients, standby: a cluster and one that follows it, or
                    joined: consumers that acknowledge with their next pop
  --sim-seconds S   simulated seconds of faults in each; unless given
                    ${SIM_SECONDS_TEXT}
  --without A,B     leave these kinds of faults out of the seed (see below)
  --skip N,M        leave these injected events out, by their ordinals
  --shrink-seconds T  shrink the first failure for so long; ${SHRINK_SECONDS} unless given
  --trace           run the first seed alone and print every event
  --frames          with --trace: print every frame between the machines too
  --quiet-json      print nothing but one line of JSON at the end

faults:
${FAULT_NAMES.map((fault) => `  ${fault.padEnd(16)}${FAULTS[fault]}`).join('\n')}`;

function readArguments() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string' },
        seconds: { type: 'string' },
        campaign: { type: 'string' },
        jobs: { type: 'string' },
        shape: { type: 'string', default: 'cluster' },
        'sim-seconds': { type: 'string' },
        without: { type: 'string', default: '' },
        skip: { type: 'string', default: '' },
        'shrink-seconds': { type: 'string' },
        trace: { type: 'boolean', default: false },
        frames: { type: 'boolean', default: false },
        'quiet-json': { type: 'boolean', default: false },
        worker: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return refuse(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  }
}

function refuse(text: string): never {
  console.error(text);
  process.exit(2);
}

function numberOf(text: string | undefined, standard: number): number {
  const value = text === undefined ? standard : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : refuse(`not a number: ${text}`);
}

function listOf(text: string): string[] {
  return text.split(',').filter((part) => part !== '');
}

function faultOf(name: string): Fault {
  return isFault(name) ? name : refuse(`no such fault: ${name}`);
}

function shapeOf(name: string): ShapeName {
  return SHAPE_NAMES.find((known) => known === name) ?? refuse(`no such shape: ${name}`);
}

const given = readArguments();

if (given.worker) serveAsWorker();
else await main();

async function main(): Promise<void> {
  if (given.help) {
    console.log(USAGE);
    return;
  }
  const shape = shapeOf(given.shape);
  const plan: RunPlan = {
    seed: numberOf(given.seed, Date.now() % 1_000_000_000),
    shape,
    simMs: numberOf(given['sim-seconds'], SIM_SECONDS[shape]) * 1000,
    without: new Set(listOf(given.without).map(faultOf)),
    skip: new Set(listOf(given.skip).map((text) => numberOf(text, 0))),
  };
  if (given.trace) traceOne(plan);
  else await runMany(plan);
}

function traceOne(plan: RunPlan): void {
  const result = run({
    ...plan,
    trace: (line) => console.log(line),
    ...(given.frames ? { traceFrame: describeFrame } : {}),
  });
  console.log(`digest ${result.digest}`);
  for (const violation of result.violations) console.log(violation);
  process.exitCode = result.violations.length === 0 ? 0 : 1;
}

async function runMany(plan: RunPlan): Promise<void> {
  const beganMs = performance.now();
  const count = given.campaign === undefined ? null : numberOf(given.campaign, 0);
  const untilMs = beganMs + numberOf(given.seconds, SECONDS) * 1000;
  const quiet = given['quiet-json'];
  const { seed, shape, simMs } = plan;
  if (!quiet) console.log(`${shape} seeds from ${seed} on, ${simMs / 1000} simulated s of faults`);
  let interrupted = false;
  const wanted = (begun: number, { failed }: Totals): boolean => {
    if (interrupted || failed.length >= FAILURES_MAX) return false;
    return count === null ? performance.now() < untilMs : begun < count;
  };
  const progress = quiet ? () => {} : progressOf(plan, beganMs, count, untilMs);
  const jobs = numberOf(given.jobs, 1);
  const without = [...(plan.without ?? [])];
  // A campaign that is stopped still says what it saw. One process alone cannot listen meanwhile.
  if (jobs > 1) {
    process.once('SIGINT', () => {
      interrupted = true;
      if (!quiet) console.log('interrupted: the seeds that were begun come to their end');
    });
  }
  const totals =
    jobs > 1
      ? await runParallel({
          program: fileURLToPath(import.meta.url),
          jobs,
          shape,
          simMs,
          without,
          firstSeed: seed,
          wanted,
          onProgress: progress,
        })
      : runCampaign({
          shape,
          simMs,
          without,
          next: (soFar) => {
            progress(soFar);
            return wanted(soFar.runs, soFar) ? seed + soFar.runs : null;
          },
        });
  const tookMs = performance.now() - beganMs;
  if (quiet) console.log(JSON.stringify({ ...totals, tookMs: Math.round(tookMs) }));
  else report(plan, totals, tookMs);
  process.exitCode = totals.failed.length === 0 ? 0 : 1;
}

/** Each failure at once, and how far the campaign is every few seconds. */
function progressOf(plan: RunPlan, beganMs: number, count: number | null, untilMs: number) {
  let toldMs = beganMs;
  let failures = 0;
  return ({ runs, figures, failed }: Totals) => {
    for (const failure of failed.slice(failures)) showFailure(plan, failure);
    failures = failed.length;
    const nowMs = performance.now();
    if (nowMs - toldMs < PROGRESS_MS || runs === 0) return;
    toldMs = nowMs;
    const tookMs = nowMs - beganMs;
    const leftMs = count === null ? untilMs - nowMs : ((count - runs) * tookMs) / runs;
    console.log(
      `${runs}${count === null ? '' : ` of ${count}`} seeds, ${failed.length} failed, ` +
        `${(figures.simMs / tookMs).toFixed(1)} simulated s/s, ` +
        `${Math.max(0, leftMs / 1000).toFixed(0)} s left`,
    );
  };
}

function showFailure(plan: RunPlan, { seed, violations }: Failure): void {
  console.log(`seed ${seed} of shape ${plan.shape} failed:`);
  for (const violation of violations.slice(0, 5)) console.log(`  ${violation}`);
  console.log(`  replay: npm run sim -- ${argumentsOf({ ...plan, seed })} --trace`);
}

function report(plan: RunPlan, totals: Totals, tookMs: number): void {
  for (const failure of totals.failed) showFailure(plan, failure);
  const first = totals.failed[0];
  if (first !== undefined) shrinkFirst(plan, first);
  console.log(summaryOf(totals, tookMs));
}

function shrinkFirst(plan: RunPlan, { seed }: Failure): void {
  const budgetMs = numberOf(given['shrink-seconds'], SHRINK_SECONDS) * 1000;
  if (budgetMs === 0) return;
  console.log(`shrinking seed ${seed}`);
  const shrunk = shrink({ ...plan, seed }, budgetMs, TRACE_LINES);
  const { lines, result, attempts, complete } = shrunk;
  console.log(
    `after ${attempts} runs ${complete ? 'no single removal still fails' : 'time was up'}; ` +
      `left: ${result.injected.map(({ ordinal, fault }) => `${ordinal} ${fault}`).join(', ')}`,
  );
  for (const line of lines) console.log(`  ${line}`);
  for (const violation of result.violations.slice(0, 5)) console.log(`  ${violation}`);
  console.log(`  replay: npm run sim -- ${argumentsOf(shrunk.plan)} --trace`);
}
