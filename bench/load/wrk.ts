// wrk as the load program of the push figures: native, so that it takes little of the processor
// time that it shares with the node. It runs on one thread and gets its requests ready-made; each
// request goes to the next partition, so that about one is in flight in each.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Address } from '../http-connection.js';
import type { Scratch } from '../scratch.js';
import { runProgram } from './child-program.js';
import { LoadFailedError } from './closed-loop.js';

export interface WrkPlan {
  readonly address: Address;
  readonly connections: number;
  readonly seconds: number;
  /** Requests of the run, sent in turn. */
  readonly requests: readonly Buffer[];
}

export interface WrkResult {
  readonly requests: number;
  readonly seconds: number;
}

const RESULT_LINE = /^totals (\d+) (\d+) (\d+) (\d+)$/m;

export function wrkIsInstalled(): boolean {
  return spawnSync('wrk', ['--version']).error === undefined;
}

export async function runWrk(plan: WrkPlan, scratch: Scratch): Promise<WrkResult> {
  const directory = scratch.directory('wrk');
  try {
    const script = join(directory, 'load.lua');
    for (const [index, request] of plan.requests.entries()) {
      writeFileSync(join(directory, `request-${index}`), request);
    }
    writeFileSync(script, luaScript(directory, plan.requests.length));
    const connections = String(Math.max(1, plan.connections));
    const output = await runProgram(
      'wrk',
      [
        '-t',
        '1',
        '-c',
        connections,
        '-d',
        `${plan.seconds}s`,
        '-s',
        script,
        '--timeout',
        '10s',
      ].concat(`http://${plan.address.host}:${plan.address.port}/`),
      plan.seconds * 1000 + 30_000,
      scratch,
    );
    return readTotals(output);
  } finally {
    scratch.remove(directory);
  }
}

function luaScript(directory: string, requests: number): string {
  return `local requests = {}
local sent = 0
for index = 0, ${requests - 1} do
  local file = assert(io.open(${JSON.stringify(directory)} .. "/request-" .. index, "rb"))
  requests[index] = file:read("*a")
  file:close()
end
request = function()
  sent = sent + 1
  return requests[sent % ${requests}]
end
done = function(summary)
  local errors = summary.errors
  local sockets = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format("totals %d %d %d %d\\n",
    summary.requests, summary.duration, errors.status, sockets))
end
`;
}

function readTotals(output: string): WrkResult {
  const totals = RESULT_LINE.exec(output)?.slice(1).map(Number);
  const [requests = 0, microseconds = 0, refused = 0, broken = 0] = totals ?? [];
  if (totals === undefined || requests === 0 || refused > 0 || broken > 0) {
    throw new LoadFailedError(`wrk did not have ${requests} clean answers:\n${output}`);
  }
  return { requests, seconds: microseconds / 1e6 };
}
