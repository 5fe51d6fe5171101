/**
 * One hunt in a process of its own: reads its task, runs the seeds until one finds something,
 * prints the answer as one line of JSON. Started by `hunting.ts` alone, in a copy of the program
 * that has the bug in it.
 */
import { readFileSync } from 'node:fs';
import type { HuntAnswer, HuntTask } from './hunt-task.js';
import { huntOf } from './hunts.js';
import { loadedFiles } from './planted-text.js';

const task = JSON.parse(readFileSync(0, 'utf8')) as HuntTask;
const hunt = await huntOf(task.hunt);
const planted = new Set(task.bug?.edits.map(({ file }) => file));
for (const file of loadedFiles()) planted.delete(file);
if (planted.size > 0) throw new Error(`never loaded: ${[...planted].join(', ')}`);
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
