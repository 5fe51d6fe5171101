/**
 * Brings a checkout to where it can run: the right Node, dependencies from the lock file, built
 * output. Does nothing, quietly and in well under a second, when all of it is there already.
 *
 * What must hold:
 * - Several may run in one checkout at the same time (nodes, tests): one works, the others wait and
 *   then look again. A lock whose holder died is taken over.
 * - A stamp is written only after its work succeeded, and names what it was made from: the lock
 *   file's digest and the Node for the dependencies; names, sizes and times of all sources for the
 *   build. So an interrupted run, a removed file and a switch to older sources are all seen.
 *
 * Plain JavaScript on built-in modules alone: it has to run before anything is installed or built.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { withLock } from './setup-lock.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const INSTALLED_STAMP = join(root, '.setup', 'installed');
const BUILT_STAMP = join(root, '.setup', 'built');
/** npm writes it as the last step of an installation. */
const INSTALLED_LOCK = join(root, 'node_modules', '.package-lock.json');
const LOCK = join(root, '.setup', 'lock');
/** Says whether the bundle of a node, the last that a build writes, is that of the build. */
const BUNDLE_DIGEST = join(root, 'packages/broker/dist/bundle-digest.js');
/** As `engines` in package.json has it; 22.2 is the first of its kind with `zlib.crc32`. */
const FIRST_MINOR_OF_MAJOR = new Map([
  [20, 15],
  [22, 2],
  [24, 0],
]);
const SKIPPED_FOLDERS = new Set(['node_modules', 'dist', '.git', '.setup']);
/** What nodes store that are started here. */
const STORED = join(root, 'data');

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'];

/** A failure that the user can read; printed without a stack. */
export class SetupError extends Error {}

export async function setup() {
  checkNode();
  if (isInstalled() && (await isBuilt())) return;
  await locked(async () => {
    if (!isInstalled()) await install();
    if (!(await isBuilt())) await build();
  });
}

/** Builds alone: for a program that runs from the installation, which must not go under it. */
export async function setupBuild() {
  if (await isBuilt()) return;
  await locked(async () => {
    if (!(await isBuilt())) await build();
  });
}

async function locked(work) {
  mkdirSync(dirname(LOCK), { recursive: true });
  await withLock(LOCK, work);
}

/** Runs a Node program of the checkout in a child process; gives its exit code. */
export function runNode(args) {
  return run(process.execPath, args);
}

/** Ends the process with one readable line for what is wrong with the set-up. */
export async function setupOrExit() {
  try {
    await setup();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(`setup: ${error.message}`);
    process.exit(1);
  }
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const firstMinor = FIRST_MINOR_OF_MAJOR.get(major);
  if (firstMinor !== undefined && minor >= firstMinor) return;
  throw new SetupError(
    `Node ${process.versions.node} cannot run this project: it needs Node 20.15 or later, ` +
      'Node 22.2 or later, or Node 24 (the HTTP library is a native build for each of them). ' +
      'Get one from https://nodejs.org/',
  );
}

function lockDigest() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

/** Another Node needs another native build of the HTTP library, and so another installation. */
function installStamp() {
  return `${lockDigest()} ${process.versions.modules}`;
}

/** Known by the lock file's digest, or installed by hand since the lock file was written. */
function isInstalled() {
  if (!existsSync(INSTALLED_LOCK)) return false;
  const wanted = installStamp();
  const stamp = readStamp(INSTALLED_STAMP);
  if (stamp === wanted) return true;
  if (stamp.startsWith(lockDigest())) return false;
  const lockedMs = statSync(join(root, 'package-lock.json')).mtimeMs;
  if (statSync(INSTALLED_LOCK).mtimeMs < lockedMs) return false;
  writeStamp(INSTALLED_STAMP, wanted);
  return true;
}

async function install() {
  console.log('setup: installing dependencies from package-lock.json');
  const code = await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  if (code !== 0) throw new SetupError('npm ci failed; its messages are above');
  writeStamp(INSTALLED_STAMP, installStamp());
}

async function isBuilt() {
  const isWhole = projects().every(hasOutput) && existsSync(BUNDLE_DIGEST);
  if (!isWhole || readStamp(BUILT_STAMP) !== sourceDigest()) return false;
  return (await import(BUNDLE_DIGEST)).isBundleCurrent();
}

async function build() {
  console.log('setup: building');
  // Taken before the build: what changes meanwhile makes the stamp wrong, and the next run builds
  // again.
  const digest = sourceDigest();
  for (const args of [['node_modules/typescript/bin/tsc', '-b', root], ['scripts/bundle.mjs']]) {
    const code = await runNode([join(root, args[0]), ...args.slice(1)]);
    if (code !== 0) throw new SetupError('the build failed; its messages are above');
  }
  writeStamp(BUILT_STAMP, digest);
}

function projects() {
  const { references } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));
  return references.map((reference) => join(root, reference.path));
}

function hasOutput(project) {
  return existsSync(join(project, 'dist', '.tsbuildinfo'));
}

/**
 * Over everything the build reads: sources, compiler settings, manifests, the installed packages.
 */
function sourceDigest() {
  const hash = createHash('sha256').update(readStamp(INSTALLED_STAMP));
  for (const path of sourcesUnder(root)) {
    const { size, mtimeMs } = statSync(path);
    hash.update(`${path}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

function sourcesUnder(directory) {
  const entries = readdirSync(directory, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(directory, entry.name);
    const isSkipped = SKIPPED_FOLDERS.has(entry.name) || path === STORED;
    if (entry.isDirectory()) return isSkipped ? [] : sourcesUnder(path);
    return isSource(entry.name) ? [path] : [];
  });
}

function isSource(name) {
  if (name.endsWith('.ts')) return !name.endsWith('.test.ts');
  if (/\.(tsx|css|html|svg)$/.test(name)) return true;
  return /^(tsconfig.*\.json|package\.json|(bundle|answer).*\.mjs)$/.test(name);
}

function readStamp(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function writeStamp(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** A signal to this process alone would leave the child behind, so it is passed on. */
function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit' });
    const stop = (signal) => {
      child.kill(signal);
      process.exit(1);
    };
    const forget = () => {
      for (const signal of SIGNALS) process.off(signal, stop);
    };
    for (const signal of SIGNALS) process.on(signal, stop);
    child.on('error', (error) => {
      forget();
      reject(error);
    });
    child.on('exit', (code, signal) => {
      forget();
      resolve(signal === null ? code : 1);
    });
  });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await setupOrExit();
}
