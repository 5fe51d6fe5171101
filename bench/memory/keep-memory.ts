// Keeps the free memory of a virtual machine in small pieces while a comparison runs, so that its
// host does not take it away between two uses: keep-memory.c says why and how.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { checkoutRoot } from '../checkout.js';
import { compile } from '../native/compile.js';
import type { Scratch } from '../scratch.js';

/** What a comparison uses, files in the page cache included; 60 pipes of 256 pages. */
const KEPT_MIB_MAX = 15_360;
const MIB = 2 ** 20;

/** Three quarters of what this process may still use, as others need memory as well; in MiB. */
export function keepableMib(availableBytes = process.availableMemory()): number {
  return Math.min(KEPT_MIB_MAX, Math.floor((availableBytes * 3) / 4 / MIB));
}

/**
 * Resolves as soon as it is kept, which takes three seconds for each GiB where the host has to give
 * it first, half a second elsewhere. It is given back when `scratch` closes, or this process ends.
 * Rejects with the reason where the machine does not allow it.
 */
export async function keepMemory(scratch: Scratch, mebibytes: number): Promise<void> {
  const program = join(scratch.directory('memory'), 'keep-memory');
  compile(program, [join(checkoutRoot(), 'bench', 'memory', 'keep-memory.c')]);
  const child = spawn(program, [`${mebibytes}`]);
  scratch.adopt(child);
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    complaint += chunk;
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('error', reject);
    child.once('close', (code, signal) => {
      reject(new Error(complaint.trim() || `keep-memory ended by ${code ?? signal}`));
    });
  });
}
