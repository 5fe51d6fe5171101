/**
 * Loaded into a node's process before the program, it makes this build the next one: a build that
 * reads one version more of what the cluster writes than the one in this checkout. Nothing else
 * differs, which is what a rolling upgrade has to be safe with at least.
 */
import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import type { OtherText } from './next-version-hook.js';

const [, program = ''] = process.argv;
// The program of a front thread is the file itself.
const path = isMainThread ? join(program, '../bundle/node.js') : program;
const find = /CLUSTER_VERSION_READ = (\d+);/;
const built = readFileSync(path, 'utf8');
const [found = '', version = ''] = find.exec(built) ?? [];
if (found === '') throw new Error(`${path}: no version is set there`);

const data: OtherText = {
  url: pathToFileURL(path).href,
  text: built.replace(found, found.replace(version, `${Number(version) + 1}`)),
};
register('./next-version-hook.js', { parentURL: import.meta.url, data });
