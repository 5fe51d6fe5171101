// What every scenario needs: the options, a cluster to measure, a voice.

import type { Scratch } from '../scratch.js';
import { NodeGroup } from './node-group.js';
import type { ClusterBenchOptions } from './options.js';

export class ClusterBench {
  readonly options: ClusterBenchOptions;
  readonly scratch: Scratch;

  constructor(options: ClusterBenchOptions, scratch: Scratch) {
    this.options = options;
    this.scratch = scratch;
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
