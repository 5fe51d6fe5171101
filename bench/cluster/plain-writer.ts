// A program of its own: writes a file at a steady rate and syncs each part, and does nothing else.
// What clients feel of it is what they feel of the disk, so it stands beside a node that is caught
// up at that rate on the same machine.
//
//   node plain-writer.js <file> <bytes a second>

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const PART_BYTES = 1024 * 1024;
/** Then it begins again at the front: a run must not fill the disk. */
const FILE_PARTS = 1024;

const [path = '', rate = ''] = process.argv.slice(2);
const bytesPerSecond = Number(rate);
if (path === '' || !(bytesPerSecond > 0)) throw new Error('a file and bytes a second are needed');

const part = Buffer.alloc(PART_BYTES, 'x');
const file = openSync(path, 'w');
process.once('SIGTERM', () => {
  closeSync(file);
  process.exit(0);
});
const beganMs = performance.now();
for (let parts = 0; ; parts++) {
  const aheadMs = (parts * PART_BYTES * 1000) / bytesPerSecond - (performance.now() - beganMs);
  // Also when it is late: a signal is only heard while nothing else runs.
  await sleep(Math.max(0, aheadMs));
  writeSync(file, part, 0, PART_BYTES, (parts % FILE_PARTS) * PART_BYTES);
  fdatasyncSync(file);
}
