// `npm run abuse`: what one client can do to a node and to everybody else on it. See the README of
// `bench/`.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { renderProfiles } from '../report/profile.js';
import { checkoutRoot, nodeEntry } from '../rig/checkout.js';
import { runProgram } from '../rig/run-program.js';
import { Scratch } from '../rig/scratch.js';
import { judge, type Measured } from './judgement.js';
import { type AbuseOptions, readOptions, USAGE } from './options.js';
import { keepResult, readResults } from './results.js';
import { Runner, type RunPlan } from './runner.js';
import type { Against } from './scenario.js';
import { SCENARIOS } from './scenario-list.js';
import { renderMeasured, renderPair, runName } from './table.js';

async function run(options: AbuseOptions): Promise<void> {
  if (options.table !== null) {
    const [before, after] = options.table;
    process.stdout.write(`${renderPair(readResults(before), readResults(after))}\n`);
    return;
  }
  if (options.list) {
    for (const { name, against, does } of SCENARIOS) {
      process.stdout.write(`${name} (${against.join(', ')}): ${does}\n`);
    }
    return;
  }
  const scratch = new Scratch();
  scratch.endOnSignals();
  const all: Measured[] = [];
  try {
    for (const plan of plansOf(options, scratch)) all.push(await runOne(options, scratch, plan));
  } finally {
    scratch.close();
    process.stdout.write(`\n${renderMeasured(all)}\n`);
  }
  if (all.some((one) => judge(one).word === 'MISSED')) process.exitCode = 1;
}

function plansOf(options: AbuseOptions, scratch: Scratch): RunPlan[] {
  const root = options.against ?? checkoutRoot();
  const entry = nodeEntry(join(root, 'packages', 'broker', 'dist', 'main.js'));
  const build = buildName(root);
  const runtimeArguments = options.profile
    ? ['--cpu-prof', `--cpu-prof-dir=${scratch.directory('profiles')}`]
    : [];
  return SCENARIOS.filter(
    ({ name }) => options.scenarios.length === 0 || options.scenarios.includes(name),
  ).flatMap((scenario) =>
    scenario.against
      .filter((against: Against) => options.only === null || against === options.only)
      .map((against) => {
        const seconds = Math.max(options.seconds, scenario.seconds ?? 0);
        return { scenario, against, seconds, entry, build, runtimeArguments };
      }),
  );
}

async function runOne(options: AbuseOptions, scratch: Scratch, plan: RunPlan): Promise<Measured> {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const { scenario, against } = plan;
  say(`${runName({ scenario: scenario.name, against })}: ${scenario.does}`);
  const startedMs = Date.now();
  const measured = await new Runner(scratch, plan, say).run();
  const { word, missed } = judge(measured);
  say(`  outcomes: ${measured.outcomes.map(([what, times]) => `${times} x ${what}`).join(', ')}`);
  say(`  ${word}${missed.length === 0 ? '' : `: ${missed.join('; ')}`}`);
  if (options.jsonFile !== undefined) keepResult(options.jsonFile, measured);
  const [, directory] = plan.runtimeArguments;
  if (directory !== undefined) {
    say(renderProfiles(directory.slice('--cpu-prof-dir='.length), startedMs));
  }
  return measured;
}

/** The commit of a checkout, or its folder where that cannot be told. */
function buildName(root: string): string {
  try {
    const args = ['-C', root, 'describe', '--always', '--dirty'];
    return execFileSync('git', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return root;
  }
}

await runProgram(USAGE, (commandLine) => run(readOptions(commandLine)));
