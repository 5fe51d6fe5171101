// `npm run bench`: measures a node that it starts itself. See the README beside this file.

import { AGAINST_USAGE, asksForAgainst, readAgainstOptions } from './against/options.js';
import { runAgainst } from './against/run-against.js';
import { writePage } from './against/write-page.js';
import { runLimitsBench } from './limits.js';
import { readOptions, USAGE } from './load/options.js';
import { runBench } from './load/run-bench.js';
import { runRaftBench } from './raft-core.js';
import { runRetentionBench } from './retention.js';
import { runProgram } from './run-program.js';
import { runScrapeBench } from './scrape.js';
import { runStagesBench } from './stages/stages.js';
import { runStateBench } from './state.js';
import { runTimersDueBench } from './timers-due.js';
import { runPricesBench } from './work-prices.js';

await runProgram(`${USAGE}\n\n${AGAINST_USAGE}`, async (commandLine) => {
  if (asksForAgainst(commandLine)) return runAgainst(readAgainstOptions(commandLine));
  const options = readOptions(commandLine);
  if (options.raft) runRaftBench(options.seconds);
  else if (options.prices) await runPricesBench();
  else if (options.scrape) await runScrapeBench(options.entry);
  else if (options.limits) await runLimitsBench(options);
  else if (options.stages) await runStagesBench(options);
  else if (options.pageOf.length > 0) writePage(options.pageOf, options.again);
  else if (options.retention) await runRetentionBench(options.seconds, options.entry);
  else if (options.surfaces.length > 0) await runStateBench(options);
  else if (options.timersPending !== null) {
    await runTimersDueBench({ ...options, pending: options.timersPending });
  } else await runBench(options);
});
