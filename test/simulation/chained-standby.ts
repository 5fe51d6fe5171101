/**
 * A standby of the standby. It follows what that has applied, before and after its promotion, and
 * stays a standby: in the end it holds what the cluster has that it follows, entry for entry.
 */
import type { SeededRandom } from '../seeded-random.js';
import { ClientNetwork } from './client-network.js';
import { Cluster, type ClusterOptions } from './cluster.js';
import { followerOf, isHeld, standbyEnvironment, wayBetween } from './following.js';
import { checkMirror, lastWithEffects } from './mirror-check.js';
import type { SourceNetwork } from './source-network.js';

export class ChainedStandby {
  readonly cluster: Cluster;
  readonly network: SourceNetwork;
  readonly #followed: () => Cluster;

  /** `machines`: of the cluster that is followed. */
  constructor(
    options: Omit<ClusterOptions, 'machines' | 'spares' | 'beside'>,
    random: SeededRandom,
    followed: () => Cluster,
    followedMachines: number,
  ) {
    const { loop, faults, counts } = options;
    const machines = random.pick([1, 1, 3]);
    this.#followed = followed;
    this.network = wayBetween(loop, random.fork(), followed, () => this.cluster);
    this.cluster = new Cluster({
      ...options,
      machines,
      spares: 0,
      beside: {
        environment: standbyEnvironment(followedMachines, random),
        // No client asks here.
        clients: new ClientNetwork({
          loop,
          random: random.fork(),
          machines,
          faults,
          counts,
          patienceMs: Number.POSITIVE_INFINITY,
          owesAnswer: () => false,
          enter: () => {},
        }),
        firstDoor: 0,
        sourcePort: (machine) => this.network.open(machine),
        began: () => {},
        ended: (machine) => this.network.standbyEnded(machine),
      },
    });
  }

  get follows(): boolean {
    return isHeld(this.#followed()) && this.#follower?.state === 'following';
  }

  /** It needs a new seed. */
  get isHalted(): boolean {
    const { state, error } = this.#follower ?? {};
    return state === 'halted' && error?.includes('it needs a new seed') === true;
  }

  get #follower() {
    return followerOf(this.cluster, this.#position);
  }

  get #position(): number {
    return checkMirror(this.#followed().judge, this.cluster.judge).position;
  }

  heal(): void {
    this.network.heal();
    this.cluster.heal();
  }

  /** null: it has all of the cluster that it follows, which is at rest. */
  unrest(): string | null {
    const unrest = this.cluster.unrest();
    if (unrest !== null) return unrest;
    const [position, last] = [this.#position, lastWithEffects(this.#followed().judge)];
    if (position === last) return null;
    const { state, error, scanned } = this.#follower ?? {};
    return `at ${position} of ${last}, scanned ${scanned}, ${state} ${error}`;
  }

  judge(): readonly string[] {
    this.cluster.checkAll();
    const { wrong, promotedAt } = checkMirror(this.#followed().judge, this.cluster.judge);
    return promotedAt === null ? wrong : [...wrong, `promoted: by nobody, at ${promotedAt}`];
  }
}
