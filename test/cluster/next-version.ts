/**
 * Loaded into a node's process before the program, it makes this build the next one: a build that
 * reads one version more of what the cluster writes than the one in this checkout. Nothing else
 * differs, which is what a rolling upgrade has to be safe with at least.
 */
import { readFileSync } from 'node:fs';
import { createRequire, register } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import type { PatchData } from '../planted/patch-hook.js';

const [, program = ''] = process.argv;
const engine = createRequire(program).resolve('@svc/engine');
const path = join(engine, '..', 'state', 'cluster-version.js');
const find = /CLUSTER_VERSION_READ = (\d+);/;
const [text = '', version = ''] = find.exec(readFileSync(path, 'utf8')) ?? [];
if (text === '') throw new Error(`${path}: no version is set there`);

const { port1, port2 } = new MessageChannel();
// Nobody listens, and the process does not live for it.
port2.unref();
const replace = text.replace(version, `${Number(version) + 1}`);
const data: PatchData = {
  edits: [[pathToFileURL(path).href, [{ file: path, find: text, replace }]]],
  port: port1,
};
register('../planted/patch-hook.js', {
  parentURL: import.meta.url,
  data,
  transferList: [port1],
});
