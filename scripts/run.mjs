/**
 * `node scripts/run.mjs <built program> [arguments]`: sets up, then runs the program in this
 * process.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, setupOrExit } from './setup.mjs';

const [program = '', ...args] = process.argv.slice(2);
await setupOrExit();
const path = join(root, program);
if (program === '' || !existsSync(path)) {
  console.error(`run: there is no built program ${JSON.stringify(program)}`);
  process.exit(1);
}
process.argv = [process.execPath, path, ...args];
await import(pathToFileURL(path).href);
