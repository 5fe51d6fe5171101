// What every scenario needs: the options, a cluster to measure, and progress on standard error.

import { LoadProgram } from '../native/load-program.js';
import { NodeGroup } from '../rig/node-group.js';
import type { Scratch } from '../rig/scratch.js';
import type { ClusterOptions } from './options.js';

export class ClusterRun {
  readonly options: ClusterOptions;
  readonly scratch: Scratch;

  constructor(options: ClusterOptions, scratch: Scratch) {
    this.options = options;
    this.scratch = scratch;
  }

  get program(): LoadProgram {
    return LoadProgram.in(this.scratch);
  }

  /** One line about what is going on, on standard error: standard output is for the results. */
  say(line: string): void {
    process.stderr.write(`${line}\n`);
  }

  /** Runs `work` against a new cluster on empty directories, which are removed afterwards. */
  async withGroup<T>(work: (group: NodeGroup) => Promise<T>): Promise<T> {
    const group = await NodeGroup.start(this.scratch, this.options.nodes, this.options.entry);
    try {
      return await work(group);
    } finally {
      await group.end();
    }
  }
}
