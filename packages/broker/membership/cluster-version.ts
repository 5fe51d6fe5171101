/**
 * Raises the version of the effect catalogue that the cluster writes. The leader does so by one
 * entry, once every member, learners too, has said lately that it reads the newer one. The version
 * never goes back; a build that reads less then refuses the directory.
 */
import { clusterVersionOf, type State } from '@svc/engine';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';

export interface ClusterVersionOptions {
  readonly clock: Clock;
  /** How often versions are compared; 0: never. */
  readonly everyMs: number;
  readonly state: State;
  /** null: not every member has said. */
  readonly reports: { versionReadByAll(): number | null };
  /** null: this node does not lead. */
  readonly leadership: { readonly leader: { raiseVersion(version: number): void } | null };
  readonly logger: Pick<Logger, 'info'>;
}

export class ClusterVersion {
  readonly #options: ClusterVersionOptions;
  #stop: Cancel | null = null;

  constructor(options: ClusterVersionOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, everyMs } = this.#options;
    if (everyMs > 0) this.#stop = clock.every(everyMs, () => this.#compare());
  }

  stop(): void {
    this.#stop?.();
    this.#stop = null;
  }

  #compare(): void {
    const { state, reports, leadership, logger } = this.#options;
    const { leader } = leadership;
    if (leader === null) return;
    const [now, next] = [clusterVersionOf(state), reports.versionReadByAll()];
    if (next === null || next <= now) return;
    logger.info('raft', `every member reads effect catalogue version ${next}: raised from ${now}`);
    leader.raiseVersion(next);
  }
}
