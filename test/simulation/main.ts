/**
 * The simulator, `npm run sim`. Without `--campaign` it runs seeds from `--seed` on until
 * `--seconds` have passed (60); with it, that many seeds. `--trace` prints every event, for the
 * replay of one seed. Exit code 1 when a seed failed.
 */
import { parseArgs } from 'node:util';
import { runCampaign, summaryOf } from './campaign.js';
import { run } from './run.js';

const PROGRESS_MS = 2000;
const FAILURES_MAX = 5;
const FAULT_MS_DEFAULT = 2000;

const USAGE = `npm run sim -- [--seed N] [--seconds T] [--campaign N] [--fault-ms M] [--trace]

  --seed N      the first seed; taken from the clock unless given
  --seconds T   run seeds from there on for this long; 60 unless given
  --campaign N  run this many seeds instead
  --fault-ms M  simulated milliseconds of faults in each; ${FAULT_MS_DEFAULT} unless given
  --trace       run the first seed alone and print every event`;

const { values } = readArguments();

function readArguments() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string' },
        seconds: { type: 'string' },
        campaign: { type: 'string' },
        'fault-ms': { type: 'string' },
        trace: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}

if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

function numberOf(text: string | undefined, standard: number): number {
  const value = text === undefined ? standard : Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  console.error(`not a number: ${text}`);
  process.exit(2);
}

const firstSeed = numberOf(values.seed, Date.now() % 1_000_000_000);
const faultMs = numberOf(values['fault-ms'], FAULT_MS_DEFAULT);

if (values.trace) {
  const result = run({ seed: firstSeed, faultMs, trace: (line) => console.log(line) });
  console.log(`digest ${result.digest}`);
  for (const violation of result.violations) console.log(violation);
  process.exit(result.violations.length === 0 ? 0 : 1);
}

const count = values.campaign === undefined ? null : numberOf(values.campaign, 0);
const untilMs = performance.now() + numberOf(values.seconds, 60) * 1000;
let toldMs = performance.now();
console.log(`seeds from ${firstSeed} on, ${faultMs} simulated ms of faults each`);

const campaign = runCampaign({
  firstSeed,
  faultMs,
  goOn: (runs, failures) => {
    const nowMs = performance.now();
    if (nowMs - toldMs > PROGRESS_MS) {
      toldMs = nowMs;
      console.log(`${runs} seeds, ${failures} failed`);
    }
    if (failures >= FAILURES_MAX) return false;
    return count === null ? nowMs < untilMs : runs < count;
  },
});

for (const { seed, violations } of campaign.failed) {
  console.log(`seed ${seed} failed:`);
  for (const violation of violations.slice(0, 5)) console.log(`  ${violation}`);
  console.log(`  replay: npm run sim -- --seed ${seed} --fault-ms ${faultMs} --trace`);
}
console.log(summaryOf(campaign));
process.exit(campaign.failed.length === 0 ? 0 : 1);
