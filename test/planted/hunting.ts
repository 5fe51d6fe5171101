/** Builds what the hunts run, and runs them in child processes, several at a time. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './compiled.js';
import type { HuntAnswer, HuntTask } from './hunt-task.js';

/** A hunt that takes longer hangs, however busy the machine is. */
const HUNT_MS_MAX = 300_000;

/**
 * Compiles raft together with its storms, its model and its scenarios, which are no part of its
 * build, into a folder of its own. Returns the folder and what removes it.
 */
export function buildRaft(): { readonly folder: string; readonly remove: () => void } {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-planted-'));
  const folder = join(scratch, 'raft');
  const options = {
    extends: join(ROOT, 'tsconfig.base.json'),
    compilerOptions: {
      composite: false,
      incremental: false,
      declaration: false,
      rootDir: join(ROOT, 'raft'),
      outDir: folder,
    },
    include: [join(ROOT, 'raft/**/*.ts')],
    exclude: ['raft/dist', 'raft/**/*.test.ts'].map((path) => join(ROOT, path)),
  };
  writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify(options));
  writeFileSync(join(scratch, 'package.json'), '{ "type": "module" }');
  symlinkSync(join(ROOT, 'node_modules'), join(scratch, 'node_modules'));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', scratch], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`raft does not compile:\n${stdout}`);
  return { folder, remove: () => rmSync(scratch, { recursive: true, force: true }) };
}

export function seedsFrom(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, place) => first + place);
}

export function hunt(task: HuntTask): Promise<HuntAnswer> {
  const program = join(ROOT, 'test/dist/planted/hunt.js');
  const child = spawn(process.execPath, [program]);
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

/** Results in the order of the items; `width` of them are under way at a time. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let place = next++; place < items.length; place = next++) {
      const item = items[place];
      if (item !== undefined) results[place] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}
