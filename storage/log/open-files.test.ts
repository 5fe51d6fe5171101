/**
 * Goal: however many segments a log has, it opens no more files than are counted for it where the
 * bound of connections is made, each of its sealed segments once. Method: the real disk, and the
 * descriptors of this process that lead into the directory, where the system shows them.
 */
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RealDisk } from '../disk/real.js';
import type { LogEntry } from './entry.js';
import { Log } from './log.js';

const DESCRIPTORS = '/proc/self/fd';
const SEGMENTS = 100;
/** Sealed segments that stay open, `OPEN_FILES_MAX` of log/segments.ts. */
const SEALED_OPEN_MAX = 64;
const OPEN_MAX = 72;

/** How many descriptors there are of each file in the directory. */
function openIn(directory: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  // The descriptor of the listing is among them, and closed by now.
  const paths = readdirSync(DESCRIPTORS).map((descriptor) => join(DESCRIPTORS, descriptor));
  for (const path of paths.filter(existsSync)) {
    const target = readlinkSync(path);
    if (target.startsWith(directory)) found.set(target, (found.get(target) ?? 0) + 1);
  }
  return found;
}

function entry(index: number): LogEntry {
  return { index, term: 1, type: 0, data: new Uint8Array(3000).fill(index) };
}

test.skipIf(!existsSync(DESCRIPTORS))('a sealed segment is open once', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-open-files-'));
  const log = Log.open({
    disk: new RealDisk(),
    directory,
    identity: new Uint8Array(16).fill(7),
    segmentBytes: 4096,
    onFailure: (error) => {
      throw error;
    },
  });
  try {
    let most = 0;
    for (let index = 1; log.segments().length < SEGMENTS; index++) {
      await new Promise<void>((done) => log.append([entry(index)], done));
      let open = 0;
      for (const count of openIn(directory).values()) open += count;
      most = Math.max(most, open);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    const [last] = log.segments().slice(-1);
    expect(last).toBeDefined();
    const counts = [...openIn(directory)].filter(([path]) => path.endsWith('.log'));
    const twice = counts.filter(([, count]) => count > 1);
    expect(counts.length).toBeGreaterThanOrEqual(SEALED_OPEN_MAX);
    expect(twice.length).toBeLessThanOrEqual(1);
    expect(most).toBeLessThanOrEqual(OPEN_MAX);
  } finally {
    await new Promise<void>((done) => log.close(done));
    rmSync(directory, { recursive: true, force: true });
  }
});
