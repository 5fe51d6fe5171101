// `npm run bench`: measures a node that it starts itself. See the README beside this file.

import { readOptions, USAGE } from './load/options.js';
import { runBench } from './load/run-bench.js';
import { runRaftBench } from './raft-core.js';
import { runRetentionBench } from './retention.js';

if (process.argv.includes('--help')) {
  process.stdout.write(`${USAGE}\n`);
} else {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options.raft) runRaftBench(options.seconds);
    else if (options.retention) await runRetentionBench(options.seconds, options.entry);
    else await runBench(options);
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
