/**
 * `npm run conformance -- --base URL`: the contract tables against a broker that runs somewhere.
 * TAP on standard output. Exit code 0: every row that could be run is met; 1: one failed; 2: there
 * was nothing to run against; 130: interrupted. What it made is gone in each case.
 */
import { readArguments, UsageError } from './arguments.js';
import { TapWriter } from './tap.js';
import { openTarget } from './target.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** A terminal and npm may both pass on one Ctrl-C. */
const SAME_SIGNAL_MS = 500;
const INTERRUPTED = 130;
const OF_ROWS: ReadonlySet<string> = new Set(['Unmet', 'NoAnswer', 'AssertionError']);

async function main(): Promise<number> {
  const options = readArguments(process.argv.slice(2));
  const target = await openTarget(options);
  const tap = new TapWriter((text) => process.stdout.write(text));
  // Late, since the tables and their matchers take most of the start.
  const { Conformance } = await import('./conformance.js');
  const run = new Conformance(target);
  let interruptedMs = 0;
  const interrupted = () => {
    if (!run.isInterrupted) {
      interruptedMs = performance.now();
      console.error('conformance: removing what was made; a second signal ends it at once');
      run.interrupt();
    } else if (performance.now() - interruptedMs > SAME_SIGNAL_MS) process.exit(INTERRUPTED);
  };
  for (const signal of SIGNALS) process.on(signal, interrupted);
  const counts = await run.run(options.sections, tap).finally(() => {
    for (const client of target.clients) client.close();
  });
  for (const line of counts.summary) tap.comment(line);
  if (run.isInterrupted) tap.bailOut('interrupted');
  if (counts.failed > 0) return 1;
  return run.isInterrupted ? INTERRUPTED : 0;
}

/** A row that has failed may have left requests, or claims of their answers, behind. */
process.on('unhandledRejection', (error) => {
  const isOfRow = error instanceof Error && OF_ROWS.has(error.name);
  if (!isOfRow) throw error;
});

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`conformance: ${error.message}`);
  process.exitCode = 2;
}
