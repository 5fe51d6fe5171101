// `npm run demo`: sends real data through a node, kills the node in mid-stream, and shows that
// nothing was lost. Exit code 0 only when the promise was kept.

import { NodeGroup } from '../rig/node-group.js';
import { Scratch } from '../rig/scratch.js';
import { readInput } from './input.js';
import { type DemoOptions, readOptions, USAGE } from './options.js';
import { renderResult } from './result-table.js';
import { runDemo } from './run-demo.js';

const GROUPS = ['audit', 'report'] as const;
const LEASE_SECONDS = 3;
const STALL_TIMEOUT_MS = 30_000;

async function main(options: DemoOptions): Promise<boolean> {
  const messages = readInput(options.rounds);
  const scratch = new Scratch();
  scratch.endOnSignals();
  try {
    const [first] = (await NodeGroup.start(scratch, 1, options.entry)).nodes;
    if (first === undefined) throw new Error('a group of one has one node');
    const node = first.process;
    const { kills, producers, consumers } = options;
    process.stdout.write(
      `${messages.length} messages, ${producers} producers, ${GROUPS.length} groups of ` +
        `${consumers} consumers on each queue, ${kills} kills; ` +
        `data in ${node.plan.dataDirectory}\n`,
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
