/** Where the compiled form of a source file is, which the planted bugs are written against. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** This file is in `test/planted` or, built, in `test/dist/planted`. */
export const ROOT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../..' : '../../..', import.meta.url),
);

/** What the build writes for a source file: `storage/dist/log/log.js` for `storage/log/log.ts`. */
export function compiledPath(file: string): string {
  const inDist = file.replace(/^((?:packages\/)?[^/]+)\//, '$1/dist/');
  return join(ROOT, inDist.replace(/\.ts$/, '.js'));
}

/** The raft core of a storm is compiled together with the storm, into a folder of its own. */
export function compiledInRaft(folder: string, file: string): string {
  return join(folder, file.replace(/^raft\//, '').replace(/\.ts$/, '.js'));
}
