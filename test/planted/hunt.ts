/**
 * One hunt in a process of its own: reads its task, plants its bug, runs the seeds until one finds
 * something, prints the answer as one line of JSON. Started by `hunting.ts` alone.
 */
import { readFileSync } from 'node:fs';
import type { HuntAnswer, HuntTask } from './hunt-task.js';
import { PlantedProgram } from './program.js';

const task = JSON.parse(readFileSync(0, 'utf8')) as HuntTask;
const program = new PlantedProgram(task.bug);
const loaded = await program.load(new URL('./hunts.js', import.meta.url).href);
const hunt = await (loaded as typeof import('./hunts.js')).huntOf(task.hunt);
const { notLoaded } = program;
if (notLoaded.length > 0) throw new Error(`never loaded: ${notLoaded.join(', ')}`);
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
