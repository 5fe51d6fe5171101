// Goal: memory is kept in pieces for as long as the run lasts, and not longer, and what cannot be
// kept is said. Method: the program is compiled and run with a few MiB; what the kernel says of the
// process tells what it still has.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compilerIsInstalled } from '../native/compile.js';
import { Scratch } from '../scratch.js';
import { keepableMib, keepMemory } from './keep-memory.js';

let directory = '';
let scratch: Scratch;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-keep-memory-'));
  scratch = new Scratch(directory);
});

afterEach(() => {
  scratch.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Of the keeper that lives in our directory; undefined when there is none. */
function residentKib(): number | undefined {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(directory)) continue;
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
    } catch (error) {
      // One that has ended in between is none.
      if (!(error instanceof Error && 'syscall' in error)) throw error;
    }
  }
  return undefined;
}

describe.skipIf(!compilerIsInstalled())('memory', () => {
  test('is given back but for a page of each mebibyte, until the end', async () => {
    await keepMemory(scratch, 300);
    const kib = residentKib() ?? 0;
    expect(kib).toBeGreaterThan(300 * 4);
    expect(kib).toBeLessThan(300 * 4 + 8192);
    scratch.close();
    while (residentKib() !== undefined) await sleep(5);
  });

  test('that cannot be had is refused with the reason', async () => {
    await expect(keepMemory(scratch, 2 ** 40)).rejects.toThrow('mmap');
    await expect(keepMemory(scratch, 0)).rejects.toThrow('usage: keep-memory MEBIBYTES');
  });

  test('is left for others: at most three quarters of what is free, and 15 GiB', () => {
    expect(keepableMib()).toBeGreaterThan(0);
    expect(keepableMib(4 * 2 ** 30)).toBe(3 * 1024);
    expect(keepableMib(64 * 2 ** 30)).toBe(15 * 1024);
  });
});
