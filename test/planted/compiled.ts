/** Where the compiled form of a source file is, which the planted bugs are written against. */
import { fileURLToPath } from 'node:url';

/** The root of the checkout. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** What the build writes for a source file: `storage/dist/log/log.js` for `storage/log/log.ts`. */
export function compiledPath(file: string): string {
  const inDist = file.replace(/^((?:packages\/)?[^/]+)\//, '$1/dist/');
  return inDist.replace(/\.ts$/, '.js');
}
