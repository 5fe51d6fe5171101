/** The servers of a client: in which order a call tries them, and which come last for a while. */
import type { Platform } from '../base/platform.js';
import { HashRing } from './hash-ring.js';
import type { Settings } from './settings.js';

/** Longer than what a probe costs, shorter than an upgrade. */
const POPS_ALONE_MS = 60_000;

export class Servers {
  readonly #settings: Settings;
  readonly #platform: Platform;
  readonly #ring: HashRing;
  /** By server: until when it is tried last. */
  readonly #badUntilMs: number[];
  /** By server: until when it is sent no pops with acks. */
  readonly #popsAloneUntilMs: number[];
  /** Where round robin goes on, what a session stays with, and a call without an affinity. */
  #next: number;

  constructor(settings: Settings, platform: Platform) {
    this.#settings = settings;
    this.#platform = platform;
    this.#ring = new HashRing(settings.urls, settings.placesPerServer);
    this.#badUntilMs = settings.urls.map(() => 0);
    this.#popsAloneUntilMs = settings.urls.map(() => 0);
    this.#next = Math.floor(platform.random() * settings.urls.length);
  }

  /**
   * The servers for one round of tries. Those that failed lately come last: when all did, they are
   * still tried. Without failover there is one.
   */
  order(affinity: string): readonly number[] {
    const order = this.#planned(affinity);
    const { strategy, urls } = this.#settings;
    if (strategy === 'round-robin') this.#next = (this.#next + 1) % urls.length;
    return order;
  }

  /** The server that `order` would name first takes acks with a pop, as far as is known. */
  takesAcks(affinity: string): boolean {
    const [first = 0] = this.#planned(affinity);
    return (this.#popsAloneUntilMs[first] as number) <= this.#platform.nowMs();
  }

  /** It refused a pop with acks: for a minute it is sent none. */
  tookNoAcks(server: number): void {
    this.#popsAloneUntilMs[server] = this.#platform.nowMs() + POPS_ALONE_MS;
  }

  #planned(affinity: string): readonly number[] {
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
    return Array.from({ length: count }, (_, i) => (from + i) % count);
  }
}
