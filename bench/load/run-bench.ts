// Runs the chosen scenarios one after the other and reports what they measured.

import { Scratch } from '../scratch.js';
import { BenchContext } from './bench-context.js';
import { measureEndToEnd, measurePops } from './consume-scenario.js';
import { probeDisk } from './disk-probe.js';
import type { Figure } from './figure.js';
import { measureLatency } from './latency-scenario.js';
import type { BenchOptions, ScenarioName } from './options.js';
import { measurePushes } from './push-scenario.js';
import { report } from './report.js';
import { measureStorage } from './storage-scenario.js';

/** Returns the figures; the table is printed and the JSON file written also after a failure. */
export async function runBench(options: BenchOptions): Promise<readonly Figure[]> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  const context = new BenchContext(options, scratch);
  const startedAt = new Date();
  const figures: Figure[] = [];
  try {
    figures.push(probeDisk(scratch));
    for (const name of options.scenarios) {
      figures.push(...(await measureScenario(name, context)));
    }
  } finally {
    scratch.close();
    report({ program: 'bench', filePrefix: '', options, startedAt, figures });
  }
  return figures;
}

function measureScenario(name: ScenarioName, context: BenchContext): Promise<readonly Figure[]> {
  switch (name) {
    case 'push':
      return measurePushes(context);
    case 'pop':
      return measurePops(context);
    case 'e2e':
      return measureEndToEnd(context);
    case 'latency':
      return measureLatency(context);
    case 'storage':
      return measureStorage(context);
  }
}
