// What every scenario needs: the options, nodes to measure, a place for files, a voice.

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutRoot, nodeEntry } from '../checkout.js';
import { freePort, NodeProcess } from '../node-process.js';
import type { Scratch } from '../scratch.js';
import type { LoopWindow } from './closed-loop.js';
import type { BenchOptions } from './options.js';
import { renderProfiles } from './profile.js';

export class BenchContext {
  readonly options: BenchOptions;
  readonly scratch: Scratch;

  constructor(options: BenchOptions, scratch: Scratch) {
    this.options = options;
    this.scratch = scratch;
  }

  /** One line about what is going on, on standard error: standard output is for the results. */
  say(line: string): void {
    process.stderr.write(`${line}\n`);
  }

  /** Runs `work` against a new node on an empty directory, which is removed afterwards. */
  async withNode<T>(label: string, work: (node: NodeProcess) => Promise<T>): Promise<T> {
    const directory = this.scratch.directory('bench');
    const profileDirectory = join(checkoutRoot(), 'bench', 'results', `profile-${label}`);
    const dataDirectory = join(directory, 'node');
    mkdirSync(dataDirectory);
    const node = new NodeProcess(
      {
        entry: nodeEntry(this.options.entry),
        port: await freePort(),
        dataDirectory,
        logFile: join(directory, 'node.log'),
        runtimeArguments: this.options.profile
          ? ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`]
          : [],
        environment: {},
      },
      this.scratch,
    );
    try {
      await node.start();
      const startedMs = Date.now();
      const result = await work(node);
      await node.stop();
      if (this.options.profile && existsSync(profileDirectory)) {
        process.stdout.write(`${renderProfiles(profileDirectory, startedMs)}\n`);
      }
      return result;
    } finally {
      await node.kill();
      this.scratch.remove(directory);
    }
  }

  /** The usual window; `finished` ends it early. */
  window(finished: () => boolean): LoopWindow {
    const { warmUpSeconds, seconds } = this.options;
    return { warmUpMs: warmUpSeconds * 1000, measureMs: seconds * 1000, finished };
  }

  /** Values of `runs` measurements, one after the other. */
  async repeat(measure: (run: number) => Promise<number>): Promise<readonly number[]> {
    const values: number[] = [];
    for (let run = 0; run < this.options.runs; run += 1) {
      values.push(await measure(run));
    }
    return values;
  }
}

export function never(): boolean {
  return false;
}
