/**
 * A lock between processes, as a file that names its holder.
 *
 * The job is to survive a holder that was killed: the file then stays. Its holder is gone when its
 * process is (asked on the same host only), or when the file has not been touched for a while:
 * holders touch it every second. That also covers a reused process id and a checkout shared by
 * containers.
 *
 * Two waiters may find the same dead holder. Only the one that makes the guard directory may remove
 * the file, and it looks again inside; otherwise the second would remove the lock that the first
 * just took.
 */
import {
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const TOUCH_MS = 1000;
const SILENT_MS_MAX = 30_000;
const POLL_MS = 200;
/** The work under the guard takes far less than a second. */
const GUARD_MS_MAX = 10_000;

export async function withLock(path, work) {
  await acquire(path);
  const release = () => rmSync(path, { force: true });
  process.on('exit', release);
  const ticker = setInterval(() => touch(path), TOUCH_MS);
  try {
    return await work();
  } finally {
    clearInterval(ticker);
    process.off('exit', release);
    release();
  }
}

async function acquire(path) {
  let told = false;
  while (!create(path)) {
    const holder = readHolder(path);
    if (holder !== null && isGone(holder)) removeDead(path);
    else if (holder !== null && !told) {
      console.error(`setup: waiting for another setup of this checkout (process ${holder.pid})`);
      told = true;
    }
    await sleep(POLL_MS);
  }
}

function create(path) {
  try {
    writeFileSync(path, JSON.stringify({ pid: process.pid, host: hostname() }), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Null when the file is gone. A file without a holder in it was made this moment, or by one who
 * died.
 */
function readHolder(path) {
  try {
    const { mtimeMs } = statSync(path);
    const text = readFileSync(path, 'utf8');
    return { pid: 0, host: '', ...(text === '' ? {} : JSON.parse(text)), touchedMs: mtimeMs };
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

function isGone({ pid, host, touchedMs }) {
  if (Date.now() - touchedMs > SILENT_MS_MAX) return true;
  if (pid === 0 || host !== hostname()) return false;
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

function removeDead(path) {
  const guard = `${path}.guard`;
  try {
    mkdirSync(guard);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (isOlder(guard, GUARD_MS_MAX)) rmdirIfThere(guard);
    return;
  }
  try {
    const holder = readHolder(path);
    if (holder !== null && isGone(holder)) rmSync(path, { force: true });
  } finally {
    rmdirIfThere(guard);
  }
}

function isOlder(path, ageMs) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs > ageMs;
}

function rmdirIfThere(path) {
  try {
    rmdirSync(path);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

function touch(path) {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}
