// `npm run bench`: measures a node that it starts itself. See the README beside this file.

import { readOptions, USAGE } from './load/options.js';
import { runBench } from './load/run-bench.js';

if (process.argv.includes('--help')) {
  process.stdout.write(`${USAGE}\n`);
} else {
  try {
    await runBench(readOptions(process.argv.slice(2)));
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
