/** Raises the version of the effect catalogue when the node says that all members read it. */
import type { Draft } from '../draft/draft.js';
import type { Job } from '../features/job.js';
import { clusterVersionOf } from '../state/cluster-version.js';

export class VersionRaise implements Job {
  /** 0: nothing is to be raised. */
  #to = 0;

  get busy(): boolean {
    return this.#to > 0;
  }

  raise(version: number): void {
    this.#to = version;
  }

  turn(draft: Draft): void {
    // Every turn comes here, and a cluster that was never raised has no row: the question whether
    // it has would be a read of the store each time.
    if (this.#to === 0) return;
    const version = this.#to;
    this.#to = 0;
    if (version > clusterVersionOf(draft.state)) draft.emit({ kind: 'cluster-version', version });
  }
}
