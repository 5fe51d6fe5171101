/**
 * The clients of the state surfaces in one run: which of them a seed has, their end, and what is
 * wrong with what they saw. Each draws from a generator of its own, so whether there are such
 * clients changes nothing else of the seed but the times at which things happen.
 */
import type { ReadRecord } from '../checkers/history.js';
import { SeededRandom } from '../seeded-random.js';
import { KvClients } from './kv-clients.js';
import { LockClients } from './lock-clients.js';
import { PipelineClients } from './pipeline-clients.js';
import { PoisonClients } from './poison-clients.js';
import type { ShapeName } from './shape.js';
import { StreamClients } from './stream-clients.js';
import type { SurfaceClient, SurfaceClientOptions } from './surface-client.js';
import { TimerClients } from './timer-clients.js';

/** How far the clocks of clients and machines drift apart over one lifetime of a lock. */
export const LIFETIME_MS = 20;
/** Delays of timers. */
export const TIMER_MS_MAX: { readonly [shape in ShapeName]: number } = {
  single: 300,
  cluster: 3000,
  busy: 1500,
  standby: 3000,
  joined: 1500,
};

interface Kind {
  /** Share of seeds that have such clients. */
  readonly share: number;
  readonly make: (options: SurfaceClientOptions) => SurfaceClient;
}

const KINDS: readonly Kind[] = [
  { share: 0.4, make: (options) => new KvClients(options) },
  { share: 0.3, make: (options) => new PipelineClients(options) },
  { share: 0.3, make: (options) => new TimerClients(options) },
  { share: 0.3, make: (options) => new StreamClients(options) },
  { share: 0.4, make: (options) => new LockClients(options) },
];

/** By the numbers of seeds: what others are known to find stays where it is. */
const POISON_EVERY = 11;
const POISON_AT = 8;

export class Surfaces {
  readonly #clients: SurfaceClient[];
  /** A run may end before its clients begin. */
  #state: 'waiting' | 'started' | 'never' = 'waiting';

  constructor(seed: number, options: Omit<SurfaceClientOptions, 'random'>) {
    this.#clients = KINDS.flatMap(({ share, make }, i) => {
      const random = new SeededRandom(seed ^ Math.imul(i + 1, 0x5eed_5f1d));
      return random.chance(share) ? [make({ ...options, random })] : [];
    });
    if (seed % POISON_EVERY === POISON_AT) {
      const random = new SeededRandom(seed ^ 0x5eed_dead);
      this.#clients.push(new PoisonClients({ ...options, random }));
    }
  }

  start(): void {
    if (this.#state === 'never') return;
    this.#state = 'started';
    for (const client of this.#clients) client.start();
  }

  end(): void {
    if (this.#state === 'waiting') this.#state = 'never';
    for (const client of this.#clients) client.end();
  }

  /** All are asked, so that all come to their end at once. */
  unfinished(): string | null {
    if (this.#state === 'never') return null;
    return this.#clients.map((client) => client.unfinished()).find((each) => each !== null) ?? null;
  }

  judge(
    read: (places: readonly (readonly [queue: string, partition: string])[]) => ReadRecord[],
  ): readonly string[] {
    if (this.#state === 'never') return [];
    return this.#clients.flatMap((client) => client.judge(read(client.places)));
  }
}
