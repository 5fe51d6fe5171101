/**
 * One hunt in a process of its own: reads its task, plants the bug, runs the seeds until one finds
 * something, prints the answer as one line of JSON. Started by `hunting.ts` alone.
 */
import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { compiledInRaft, compiledPath } from './compiled.js';
import type { HuntAnswer, HuntTask } from './hunt-task.js';
import { huntOf } from './hunts.js';
import type { PatchData } from './patch-hook.js';

const OF_RAFT_ALONE: ReadonlySet<string> = new Set(['model', 'scenarios']);

/** Where the compiled form of a source file is loaded from in this hunt. */
function compiledUrl(task: HuntTask, file: string): string {
  const alone = task.hunt.startsWith('storm') || OF_RAFT_ALONE.has(task.hunt);
  return pathToFileURL(alone ? compiledInRaft(task.raftFolder, file) : compiledPath(file)).href;
}

/** Returns what tells afterwards which files were never loaded, and so never changed. */
function plant(task: HuntTask): () => readonly string[] {
  const { bug } = task;
  if (bug === null) return () => [];
  const files = [...new Set(bug.edits.map(({ file }) => file))];
  const edits = files.map(
    (file) => [compiledUrl(task, file), bug.edits.filter((edit) => edit.file === file)] as const,
  );
  const { port1, port2 } = new MessageChannel();
  port1.unref();
  const data: PatchData = { edits, port: port2 };
  register('./patch-hook.js', { parentURL: import.meta.url, data, transferList: [port2] });
  return () => {
    const changed = new Set<string>();
    for (let told = receiveMessageOnPort(port1); told; told = receiveMessageOnPort(port1)) {
      changed.add(`${told.message}`);
    }
    return files.filter((file) => !changed.has(compiledUrl(task, file)));
  };
}

const task = JSON.parse(readFileSync(0, 'utf8')) as HuntTask;
const unplanted = plant(task);
const hunt = await huntOf(task);
const missing = unplanted();
if (missing.length > 0) throw new Error(`never loaded: ${missing.join(', ')}`);
const found: number[] = [];
let text = '';
for (const seed of task.seeds) {
  const seen = hunt(seed);
  if (seen === null) continue;
  if (found.length === 0) text = seen;
  found.push(seed);
  if (!task.all) break;
}
const { user, system } = process.cpuUsage();
const [first] = found;
const needed = first === undefined ? null : task.seeds.indexOf(first) + 1;
const answer: HuntAnswer = { needed, found, text, tookMs: (user + system) / 1000 };
console.log(JSON.stringify(answer));
process.exit(0);
