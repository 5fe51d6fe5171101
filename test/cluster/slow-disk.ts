/**
 * Makes the disk of one node slow: loaded into its process before the program, it lets every
 * fdatasync of the thread pool begin so many milliseconds later, and tells the end of every write
 * through a descriptor with O_DSYNC so much later. What the node itself does is unchanged, and
 * nothing of the program knows of it. The delay is the number in the file that
 * SVC_TEST_SYNC_DELAY_FILE names, read for every sync, so that a test can turn it while the node
 * runs; without the file there is none.
 *
 * Only a delay, and the same for syncs that overlap: a sync that was asked for first also ends
 * first, as on a device with one queue. A node that is killed meanwhile leaves what it has written
 * and did not see stored.
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

const { openSync, closeSync, fdatasync, writev } = fs;

/** Descriptors that the kernel syncs at each write. */
const syncing = new Set<number>();

function notedOpen(path: fs.PathLike, flags: fs.OpenMode, mode?: fs.Mode | null): number {
  const descriptor = openSync(path, flags, mode);
  if (typeof flags === 'number' && (flags & fs.constants.O_DSYNC) !== 0) syncing.add(descriptor);
  return descriptor;
}

function notedClose(descriptor: number): void {
  syncing.delete(descriptor);
  closeSync(descriptor);
}

function slowSync(descriptor: number, done: fs.NoParamCallback): void {
  const ms = delayMs();
  if (ms === 0) fdatasync(descriptor, done);
  else setTimeout(() => fdatasync(descriptor, done), ms);
}

type Written = (error: NodeJS.ErrnoException | null, written: number) => void;

function slowWrite(
  descriptor: number,
  buffers: readonly NodeJS.ArrayBufferView[],
  position: number,
  done: Written,
): void {
  const ms = syncing.has(descriptor) ? delayMs() : 0;
  writev(descriptor, [...buffers], position, (error, written) => {
    if (ms === 0) done(error, written);
    else setTimeout(() => done(error, written), ms);
  });
}

Object.assign(fs, {
  openSync: notedOpen,
  closeSync: notedClose,
  fdatasync: slowSync,
  writev: slowWrite,
});
syncBuiltinESMExports();
