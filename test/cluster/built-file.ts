/** Programs that a test starts run from what was built, also when the test runs from its source. */
import { fileURLToPath } from 'node:url';

/** This file is in `test/cluster` or, built, in `test/dist/cluster`. */
const BUILT = new URL(import.meta.url.endsWith('.ts') ? '../dist/' : '../', import.meta.url);

/** `path` below `test/`, as built. */
export function builtFile(path: string): string {
  return fileURLToPath(new URL(path, BUILT));
}
