/**
 * Goal: what docs/operations.md tells the operator of a cluster to type works as it is printed.
 * Method: the commands of its chapter, taken from the text in their order, run in one shell with
 * real nodes; between them the test only waits, stops nodes and looks. Ports are replaced by free
 * ones, and nothing else.
 */
import { spawn } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  endWithThisProcess,
  type TemporaryDirectory,
  temporaryDirectory,
} from '../process/node-under-test.js';
import { freePort } from '../process/ports.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PRINTED_PORTS = ['6641', '6642', '6643', '6644', '7401', '7402', '7403', '7404'];

let scratch: TemporaryDirectory;
/** Ends the shell and all that it started. */
let endGroup: () => void = () => {};

beforeEach(() => {
  scratch = temporaryDirectory();
  symlinkSync(join(ROOT, 'packages'), join(scratch.path, 'packages'));
});

afterEach(() => {
  endGroup();
  process.off('exit', endGroup);
  scratch.remove();
});

/** The commands of a chapter, block by block, without the indentation of lists. */
function blocks(heading: string): string[] {
  const manual = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const [, chapter = ''] = manual.split(`\n## ${heading}\n`);
  const text = chapter.split(/\n## /)[0] ?? '';
  return [...text.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map((match) =>
    (match[1] ?? '').replace(/^ {3}/gm, ''),
  );
}

/** Functions of the script that waits between the blocks. */
const PRELUDE = `
  say() { printf "\\n== %s\\n" "$1"; }
  up() { for p; do until curl -sf localhost:$p/health >/dev/null; do sleep 0.1; done; done; }
  waits() { until curl -s localhost:$1/health | grep -q '"role":"learner"'; do sleep 0.1; done; }
  gone() { kill -$1 $2; wait $2 2>/dev/null; }
  trap 'kill -9 $(jobs -p) 2>/dev/null; wait' EXIT
`;

function script(): string {
  const [, byHand, look, start4, add4, remove4, transfer, ...replacing] = blocks('A cluster');
  const [remove2, start2, add2, force, ...more] = replacing;
  const [backup, ...others] = blocks('Backup');
  expect([more, others]).toEqual([[], []]);
  return `${PRELUDE}
    ${byHand}
    nodes=($(jobs -p)); up 6641 6642 6643
    say look; ${look}
    ${start4}
    node4=$!; waits 6644
    say add4; ${add4}
    up 6644
    say remove4; ${remove4}
    gone TERM $node4
    say transfer; ${transfer}
    gone KILL \${nodes[1]}
    say remove2; ${remove2}
    ${start2}
    node2=$!; waits 6642
    say add2; ${add2}
    up 6642
    gone TERM \${nodes[2]}
    say backup; ${backup}
    tar -tf node-3.tar | grep identity.json
    gone KILL $node2
    gone TERM \${nodes[0]}
    ${force}
    recovered=$!; up 6641
    say recovered; curl -s localhost:6641/api/v1/system/raft/membership; echo
    gone TERM $recovered
    say refused
    ${(force ?? '').replace('&', '')}
    say end
  `;
}

function endProcessGroup(leader: number): void {
  try {
    if (leader > 1) process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** What was printed after each heading, up to the next. */
async function run(text: string): Promise<ReadonlyMap<string, string>> {
  const child = spawn('bash', ['-c', text], {
    cwd: scratch.path,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH ?? '', LOG_LEVEL: 'error' },
    detached: true,
  });
  endWithThisProcess(child);
  endGroup = () => endProcessGroup(child.pid ?? 0);
  process.once('exit', endGroup);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await new Promise((resolve) => child.once('close', resolve));
  const parts = output.split(/^== /m).slice(1);
  return new Map(parts.map((part) => [part.split('\n')[0] ?? '', part]));
}

test('the chapter about clusters', async () => {
  let text = script();
  for (const port of PRINTED_PORTS) text = text.replaceAll(port, String(await freePort()));
  const printed = await run(text);
  const ok = (heading: string) => printed.get(heading)?.match(/"ok":true/g)?.length ?? 0;
  expect(printed.get('look')).toContain('"status":"healthy"');
  expect(printed.get('look')?.match(/"reachable":true/g)?.length).toBe(3);
  expect(['add4', 'remove4', 'remove2', 'add2'].map(ok)).toEqual([2, 1, 1, 2]);
  expect(printed.get('add4')).toContain('"voters":[1,2,3,4]');
  expect(printed.get('remove4')).toContain('"voters":[1,2,3]');
  expect(printed.get('transfer')).toContain('"leader":2');
  expect(printed.get('add2')).toContain('"voters":[1,2,3]');
  expect(printed.get('backup')).toContain('identity.json');
  expect(printed.get('recovered')).toContain('"voters":[1]');
  expect(printed.get('refused')).toContain('SVC_RAFT_FORCE_RECOVER=1 is still set');
  expect(printed.has('end')).toBe(true);
}, 120_000);
