// `npm run demo`: sends real data through a node, kills the node in mid-stream, and shows that
// nothing was lost. Exit code 0 only when the promise was kept.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { nodeEntry } from '../checkout.js';
import { freePort, NodeProcess } from '../node-process.js';
import { Scratch } from '../scratch.js';
import { readInput } from './input.js';
import { type DemoOptions, readOptions, USAGE } from './options.js';
import { renderResult } from './result-table.js';
import { runDemo } from './run-demo.js';

const GROUPS = ['audit', 'report'] as const;
const LEASE_SECONDS = 3;
const STALL_TIMEOUT_MS = 30_000;

async function main(options: DemoOptions): Promise<boolean> {
  const entry = nodeEntry(options.entry);
  const messages = readInput(options.rounds);
  const scratch = new Scratch();
  scratch.endOnSignals();
  try {
    const directory = scratch.directory('demo');
    const dataDirectory = join(directory, 'node');
    mkdirSync(dataDirectory);
    const node = new NodeProcess(
      {
        entry,
        port: await freePort(),
        dataDirectory,
        logFile: join(directory, 'node.log'),
        runtimeArguments: [],
        environment: {},
      },
      scratch,
    );
    await node.start();
    const { kills, producers, consumers } = options;
    process.stdout.write(
      `${messages.length} messages, ${producers} producers, ${GROUPS.length} groups of ` +
        `${consumers} consumers on each queue, ${kills} kills; data in ${dataDirectory}\n`,
    );
    const result = await runDemo({
      node,
      messages,
      groups: GROUPS,
      producers,
      consumers,
      kills,
      leaseSeconds: LEASE_SECONDS,
      stallTimeoutMs: STALL_TIMEOUT_MS,
      output: process.stdout,
    });
    await node.stop();
    process.stdout.write(`\n${renderResult(result)}\n`);
    return result.clean;
  } finally {
    scratch.close();
  }
}

if (process.argv.includes('--help')) {
  process.stdout.write(`${USAGE}\n`);
} else {
  try {
    process.exitCode = (await main(readOptions(process.argv.slice(2)))) ? 0 : 1;
  } catch (error) {
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
