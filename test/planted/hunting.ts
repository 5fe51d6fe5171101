/** Runs hunts in child processes, several at a time. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { HuntAnswer, HuntTask } from './hunt-task.js';

/** A hunt that takes longer hangs, however busy the machine is. */
const HUNT_MS_MAX = 300_000;
/**
 * The bytes of bytecode that a function runs before it is compiled with optimisation, 67,584 unless
 * given. Most hunts end with their first seed, and what a life of two seconds compiles would repay
 * its cost in ten.
 */
const INTERRUPT_BUDGET = 400_000;
/** Simulated machines make objects of short life. */
const YOUNG_GENERATION = ['--min-semi-space-size=32', '--max-semi-space-size=64'];
const ARGUMENTS = [
  `--interrupt-budget=${INTERRUPT_BUDGET}`,
  ...YOUNG_GENERATION,
  '--experimental-vm-modules',
  '--no-warnings',
  fileURLToPath(new URL('./hunt.js', import.meta.url)),
];

export function seedsFrom(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, place) => first + place);
}

/** Answers in the order of the tasks; `width` of them are under way at a time. */
export async function huntAll<Task extends HuntTask>(
  tasks: readonly Task[],
  width: number,
  onAnswer: (task: Task, answer: HuntAnswer) => void,
): Promise<readonly HuntAnswer[]> {
  const answers: HuntAnswer[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let place = next++; place < tasks.length; place = next++) {
      const task = tasks[place];
      if (task === undefined) continue;
      // One that does not apply any more must not hide the others.
      const answer = await hunt(task).catch(notHunted);
      answers[place] = answer;
      onAnswer(task, answer);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, tasks.length) }, worker));
  return answers;
}

function notHunted(error: Error): HuntAnswer {
  return { needed: null, found: [], text: error.message, tookMs: 0 };
}

function hunt(task: HuntTask): Promise<HuntAnswer> {
  const child = spawn(process.execPath, ARGUMENTS);
  child.stdin.end(JSON.stringify(task));
  const output: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdout.on('data', (bytes: Buffer) => output.push(bytes));
  child.stderr.on('data', (bytes: Buffer) => errors.push(bytes));
  const timer = setTimeout(() => child.kill('SIGKILL'), HUNT_MS_MAX);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      const line = Buffer.concat(output).toString().trim().split('\n').at(-1) ?? '';
      if (code === 0) resolve(JSON.parse(line) as HuntAnswer);
      else {
        const what = `${task.bug?.name ?? 'nothing planted'}, ${task.hunt}`;
        reject(new Error(`${what}: ended by ${signal ?? code}\n${Buffer.concat(errors)}`));
      }
    });
  });
}
