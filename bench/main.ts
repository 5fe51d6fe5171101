// `npm run bench`: measures a node that it starts itself. See the README beside this file.

import { readOptions, USAGE } from './load/options.js';
import { runBench } from './load/run-bench.js';
import { runRaftBench } from './raft-core.js';
import { runRetentionBench } from './retention.js';
import { runProgram } from './run-program.js';

await runProgram(USAGE, async (commandLine) => {
  const options = readOptions(commandLine);
  if (options.raft) runRaftBench(options.seconds);
  else if (options.retention) await runRetentionBench(options.seconds, options.entry);
  else await runBench(options);
});
