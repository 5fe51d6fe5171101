/**
 * Makes the disk of one node slow: loaded into its process before the program, it lets every
 * fdatasync of the thread pool begin so many milliseconds later. What the node itself does is
 * unchanged, and nothing of the program knows of it. The delay is the number in the file that
 * SVC_TEST_SYNC_DELAY_FILE names, read for every sync, so that a test can turn it while the node
 * runs; without the file there is none.
 *
 * Only a delay, and the same for syncs that overlap: a sync that was asked for first also begins
 * first, as on a device with one queue.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const file = process.env.SVC_TEST_SYNC_DELAY_FILE ?? '';

function delayMs(): number {
  try {
    return Number(fs.readFileSync(file, 'utf8')) || 0;
  } catch {
    return 0;
  }
}

const sync = fs.fdatasync;

function slowSync(descriptor: number, done: fs.NoParamCallback): void {
  const ms = delayMs();
  if (ms === 0) sync(descriptor, done);
  else setTimeout(() => sync(descriptor, done), ms);
}

Object.assign(fs, { fdatasync: slowSync });
syncBuiltinESMExports();
