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
    const version = this.#to;
    this.#to = 0;
    if (version > clusterVersionOf(draft.state)) draft.emit({ kind: 'cluster-version', version });
  }
}
