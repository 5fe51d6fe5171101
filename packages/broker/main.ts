/**
 * The program of a node: loads the one file that the build makes of `node/program.ts` and all that
 * it imports (`scripts/bundle.mjs`).
 *
 * A file that was made of another build is refused. `npm` commands always build both; a compiler
 * that was run by hand leaves an old one behind, and a fix that is in the sources and not in the
 * node costs somebody a day.
 */
import { BUNDLE, isBundleCurrent } from './bundle-digest.js';

if (!isBundleCurrent()) {
  process.stderr.write(`FATAL: ${BUNDLE.pathname} is not that of the build: run npm run build\n`);
  process.exit(1);
}
process.setSourceMapsEnabled(true);
await import(BUNDLE.href);
