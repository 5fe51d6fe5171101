// Goal: the cluster comes up, serves through its balancer, names a node that dies, ends in order on
// Ctrl-C, goes on with its data, and leaves no process behind, whatever happens to the program.
// Method: the built program with real nodes; processes are found by a mark in their environment.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const PROGRAM = fileURLToPath(new URL('dist/cluster.js', import.meta.url));
const UP_MS_MAX = 40_000;

let directory: string;
let mark: string;
let programs: Program[];

class Program {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  output = '';

  constructor(...args: readonly string[]) {
    this.child = spawn(process.execPath, [PROGRAM, '--dir', directory, ...args], {
      env: { ...process.env, SVC_TEST_MARK: mark },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const take = (chunk: Buffer) => {
      this.output += chunk.toString();
    };
    this.child.stdout?.on('data', take);
    this.child.stderr?.on('data', take);
    this.ended = new Promise((resolve) => this.child.on('exit', (code) => resolve(code)));
    programs.push(this);
  }

  async says(pattern: RegExp, msMax = UP_MS_MAX): Promise<void> {
    await expect.poll(() => this.output, { timeout: msMax, interval: 50 }).toMatch(pattern);
  }

  /** The address that the line of a node or of the balancer names. */
  address(name: string): string {
    return new RegExp(`^${name} +(http:\\S+)`, 'm').exec(this.output)?.[1] ?? '';
  }

  pid(node: number): number {
    return Number(new RegExp(`^node ${node} .* pid (\\d+) `, 'm').exec(this.output)?.[1]);
  }
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-cluster-'));
  mark = directory;
  programs = [];
});

afterEach(async () => {
  for (const { child } of programs) child.kill('SIGKILL');
  await expect.poll(marked, { timeout: 20_000 }).toEqual([]);
  rmSync(directory, { recursive: true, force: true });
});

/** Programs with the mark, but for the one that this test started itself. */
function marked(): string[] {
  const own = new Set(programs.map(({ child }) => child.pid));
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || own.has(Number(pid))) return [];
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`SVC_TEST_MARK=${mark}\0`)) {
        return [];
      }
      return [readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').slice(0, 3).join(' ')];
    } catch {
      // It ended meanwhile, or is another user's.
      return [];
    }
  });
}

async function isUp(program: Program): Promise<void> {
  for (const id of [1, 2, 3]) {
    await program.says(new RegExp(`node ${id}: (leader|follower), term \\d+, ready`));
  }
}

async function push(base: string, id: number): Promise<string> {
  const body = JSON.stringify({ items: [{ queue: 'q', payload: id }] });
  const answer = await fetch(`${base}/api/v1/push`, { method: 'POST', body });
  return `${answer.status} ${await answer.text()}`;
}

test('up, a node dies, Ctrl-C, and on with the same data', async () => {
  const first = new Program('--no-balancer');
  await isUp(first);
  expect(first.output).toContain('Ctrl-C stops all.');
  const base = first.address('node 2');
  expect(await push(base, 1)).toMatch(/^201 .*"queued"/);
  process.kill(first.pid(3), 'SIGKILL');
  await first.says(/node 3 DIED \(SIGKILL\)/);
  expect(await push(base, 2)).toMatch(/^201 .*"queued"/);
  first.child.kill('SIGINT');
  expect(await first.ended).toBe(1);
  expect(first.output).toMatch(/node 1 stopped \(code 0\)/);
  expect(first.output).toMatch(/node 2 stopped \(code 0\)/);
  await expect.poll(marked).toEqual([]);

  const second = new Program('--no-balancer');
  await isUp(second);
  expect(second.address('node 2')).toBe(base);
  const popped = await fetch(`${base}/api/v1/pop/queue/q?consumerGroup=g&batch=10&wait=true`);
  const { messages } = (await popped.json()) as { messages: { data: number }[] };
  expect(messages.map(({ data }) => data)).toEqual([1, 2]);
  second.child.kill('SIGTERM');
  expect(await second.ended).toBe(0);
});

test('the program is killed: nothing is left', async () => {
  const program = new Program();
  await isUp(program);
  const balancer = program.address('balancer');
  if (balancer === '') expect(program.output).toContain('apt-get install haproxy');
  else await expect.poll(() => push(balancer, 1), { timeout: 10_000 }).toMatch(/^201 /);
  const before = marked();
  expect(before.filter((line) => line.includes('broker')).length).toBe(3);
  program.child.kill('SIGKILL');
  await program.ended;
  await expect.poll(marked, { timeout: 20_000 }).toEqual([]);
});

test('whoever read its lines is gone: it stops as on Ctrl-C', async () => {
  const program = new Program('--no-balancer');
  await program.says(/Ctrl-C stops all/);
  program.child.stdout?.destroy();
  process.kill(program.pid(1), 'SIGKILL');
  await program.ended;
  await expect.poll(marked, { timeout: 20_000 }).toEqual([]);
});

test('help and refusals start nothing', async () => {
  const help = new Program('--help');
  expect(await help.ended).toBe(0);
  expect(help.output).toContain('Three nodes and a load balancer');
  const refused = new Program('--nodes=5');
  expect(await refused.ended).toBe(1);
  expect(refused.output).toContain('cluster: there is no option --nodes');
  expect(readdirSync(directory)).toEqual([]);
});
