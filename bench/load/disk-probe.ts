// What one synced write costs on this disk, so that figures of two machines can be compared.

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Scratch } from '../scratch.js';
import { type Figure, figure } from './figure.js';
import { percentile } from './percentiles.js';

const WRITES = 200;
const WRITE_BYTES = 4096;

export function probeDisk(scratch: Scratch): Figure {
  const { medianMs, p99Ms } = diskSyncMs(scratch);
  const note = `write of ${WRITE_BYTES} bytes and fdatasync, alone; p99 ${p99Ms.toFixed(2)} ms`;
  return figure('disk sync p50', 'ms', [medianMs], note);
}

/** Overwrites zero-filled blocks one by one, each followed by fdatasync. */
export function diskSyncMs(scratch: Scratch): {
  readonly medianMs: number;
  readonly p99Ms: number;
} {
  const directory = scratch.directory('disk');
  const file = openSync(join(directory, 'probe'), 'w');
  const block = Buffer.alloc(WRITE_BYTES, 0x61);
  const tookMs = new Float64Array(WRITES);
  try {
    writeSync(file, Buffer.alloc(WRITES * WRITE_BYTES));
    fdatasyncSync(file);
    for (let index = 0; index < WRITES; index += 1) {
      const startMs = performance.now();
      writeSync(file, block, 0, WRITE_BYTES, index * WRITE_BYTES);
      fdatasyncSync(file);
      tookMs[index] = performance.now() - startMs;
    }
  } finally {
    closeSync(file);
    scratch.remove(directory);
  }
  tookMs.sort();
  return { medianMs: percentile(tookMs, 0.5), p99Ms: percentile(tookMs, 0.99) };
}
