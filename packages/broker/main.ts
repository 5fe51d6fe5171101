/**
 * The program of a node: loads the one file that the build makes of `node/program.ts` and all that
 * it imports (`scripts/bundle.mjs`).
 *
 * A file that is older than what it was made of is refused. `npm` commands always build both; a
 * compiler that was run by hand leaves an old one behind, and a fix that is in the sources and not
 * in the node costs somebody a day.
 */
import { existsSync, statSync } from 'node:fs';

const BUNDLE = new URL('bundle/node.js', import.meta.url);
/** The compiler writes them whenever it writes a workspace. An installation need not have them. */
const BUILT = [
  '.tsbuildinfo',
  ...['engine', 'ephemeral', 'schema', 'wire'].map((name) => `../../${name}/dist/.tsbuildinfo`),
  ...['http', 'raft', 'storage'].map((name) => `../../../${name}/dist/.tsbuildinfo`),
].map((path) => new URL(path, import.meta.url));

function modifiedMs(file: URL): number {
  return existsSync(file) ? statSync(file).mtimeMs : 0;
}

if (BUILT.some((file) => modifiedMs(file) > modifiedMs(BUNDLE)) || !existsSync(BUNDLE)) {
  process.stderr.write(`FATAL: ${BUNDLE.pathname} is older than the build: run npm run build\n`);
  process.exit(1);
}
process.setSourceMapsEnabled(true);
await import(BUNDLE.href);
