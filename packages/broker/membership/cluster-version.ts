/**
 * Raising the version of the effect catalogue that the cluster writes (cluster-and-config 11): the
 * leader does so by one entry, once every member, learners too, has said lately that it reads the
 * newer one. It never goes back; a build that reads less then refuses the directory.
 */
import type { Cancel, Clock } from '../system/clock.js';

export interface ClusterVersionOptions {
  readonly clock: Clock;
  /** How often versions are compared; 0: never. */
  readonly everyMs: number;
  /** Of the replicated state. */
  readonly version: () => number;
  /** null: not every member has said. */
  readonly readByAll: () => number | null;
  /** null: this node does not lead. */
  readonly leader: () => { raiseVersion(version: number): void } | null;
  readonly report: (text: string) => void;
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
    const { version, readByAll, leader, report } = this.#options;
    const leads = leader();
    if (leads === null) return;
    const [now, next] = [version(), readByAll()];
    if (next === null || next <= now) return;
    report(`every member reads effect catalogue version ${next}: raised from ${now}`);
    leads.raiseVersion(next);
  }
}
