// A program of its own: writes a file at a steady rate and syncs each part, and uses so much of a
// processor meanwhile, evenly, on one thread and without a heap that grows. It stands for a node
// that is caught up at that rate on the same machine: what clients feel of it is what they feel of
// the disk and of the processors that are shared, whatever the node is like.
//
//   node plain-writer.js <file> <bytes a second> <processor seconds a second>

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const PART_BYTES = 1024 * 1024;
/** Then it begins again at the front: a run must not fill the disk. */
const FILE_PARTS = 1024;

const [path = '', rate = '', share = ''] = process.argv.slice(2);
const bytesPerSecond = Number(rate);
const processorShare = Number(share);
if (path === '' || !(bytesPerSecond > 0) || !(processorShare >= 0)) {
  throw new Error('a file, bytes a second and processor seconds a second are needed');
}

const part = Buffer.alloc(PART_BYTES, 'x');
const file = openSync(path, 'w');
process.once('SIGTERM', () => {
  closeSync(file);
  process.exit(0);
});
const before = process.cpuUsage();
const beganMs = performance.now();
for (let parts = 0; ; parts++) {
  const aheadMs = (parts * PART_BYTES * 1000) / bytesPerSecond - (performance.now() - beganMs);
  // Also when it is late: a signal is only heard while nothing else runs.
  await sleep(Math.max(0, aheadMs));
  writeSync(file, part, 0, PART_BYTES, (parts % FILE_PARTS) * PART_BYTES);
  fdatasyncSync(file);
  const dueUs = ((parts + 1) * PART_BYTES * processorShare * 1e6) / bytesPerSecond;
  while (usedUs() < dueUs);
}

/** Its writes use some of it already. */
function usedUs(): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
