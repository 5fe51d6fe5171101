/** The servers of a client: in which order a call tries them, and which come last for a while. */
import type { Platform } from '../base/platform.js';
import { HashRing } from './hash-ring.js';
import type { Settings } from './settings.js';

export class Servers {
  readonly #settings: Settings;
  readonly #platform: Platform;
  readonly #ring: HashRing;
  /** By server: until when it is tried last. */
  readonly #badUntilMs: number[];
  /** Where round robin goes on, what a session stays with, and a call without an affinity. */
  #next: number;

  constructor(settings: Settings, platform: Platform) {
    this.#settings = settings;
    this.#platform = platform;
    this.#ring = new HashRing(settings.urls, settings.placesPerServer);
    this.#badUntilMs = settings.urls.map(() => 0);
    this.#next = Math.floor(platform.random() * settings.urls.length);
  }

  /**
   * The servers for one round of tries. Those that failed lately come last: when all did, they are
   * still tried. Without failover there is one.
   */
  order(affinity: string): readonly number[] {
    const order = this.#wanted(affinity);
    if (!this.#settings.failover) return order.slice(0, 1);
    const nowMs = this.#platform.nowMs();
    const isGood = (server: number) => (this.#badUntilMs[server] as number) <= nowMs;
    return [...order.filter(isGood), ...order.filter((server) => !isGood(server))];
  }

  url(server: number): string {
    return this.#settings.urls[server] as string;
  }

  failed(server: number): void {
    this.#badUntilMs[server] = this.#platform.nowMs() + this.#settings.healthRetryMs;
    const { strategy, failover, urls } = this.#settings;
    const isSession = strategy === 'session' && failover;
    if (isSession && this.#next === server) this.#next = (server + 1) % urls.length;
  }

  worked(server: number): void {
    this.#badUntilMs[server] = 0;
  }

  #wanted(affinity: string): number[] {
    // A call without a key stays with one server of this client's own, not the same one for all.
    if (this.#settings.strategy === 'affinity' && affinity !== '')
      return this.#ring.order(affinity);
    const from = this.#next;
    const count = this.#settings.urls.length;
    if (this.#settings.strategy === 'round-robin') this.#next = (from + 1) % count;
    return Array.from({ length: count }, (_, i) => (from + i) % count);
  }
}
