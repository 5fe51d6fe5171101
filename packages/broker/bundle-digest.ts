/**
 * What the bundle of the node was made of, as one digest over the files that the compiler writes
 * whenever it writes a workspace. The build puts it beside the bundle, and a node compares. Times
 * of files would not do: a copied checkout has those of its copying.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

/** The program of a node, as one file. */
export const BUNDLE = new URL('bundle/node.js', import.meta.url);
/** Holds the digest that `builtDigest` had when the bundle was made. */
export const MADE_OF = new URL('bundle/made-of', import.meta.url);

const BUILT = [
  '.tsbuildinfo',
  ...['engine', 'ephemeral', 'gateway', 'schema', 'standby', 'wire'].map(
    (name) => `../../${name}/dist/.tsbuildinfo`,
  ),
  ...['http', 'raft', 'storage'].map((name) => `../../../${name}/dist/.tsbuildinfo`),
].map((path) => new URL(path, import.meta.url));

/** null: this is an installation without the files of the compiler. */
export function builtDigest(): string | null {
  const files = BUILT.filter((file) => existsSync(file));
  if (files.length === 0) return null;
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex');
}

/** The bundle is there, and is that of the build. */
export function isBundleCurrent(): boolean {
  if (!existsSync(BUNDLE)) return false;
  const digest = builtDigest();
  return digest === null || (existsSync(MADE_OF) && readFileSync(MADE_OF, 'utf8') === digest);
}
