// Where this checkout lies, whether the code runs from its sources or from `dist`.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds `bench/` and `packages/`. */
export function checkoutRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'bench', 'data', 'README.md'))) {
    const parent = dirname(folder);
    if (parent === folder) {
      throw new Error('the folder that holds bench/ was not found above this file');
    }
    folder = parent;
  }
  return folder;
}

/** The file that starts a node: `packages/broker/dist/main.js` unless another one is named. */
export function nodeEntry(named: string | undefined): string {
  const entry = named ?? join(checkoutRoot(), 'packages', 'broker', 'dist', 'main.js');
  if (!existsSync(entry)) {
    throw new Error(`${entry} does not exist; build the node first (npm run build)`);
  }
  return entry;
}
