/** Programs that a test starts, as built. */
import { fileURLToPath } from 'node:url';

/** `path` below `test/dist/`: this file is in `test/dist/cluster` when it runs. */
export function builtFile(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}
