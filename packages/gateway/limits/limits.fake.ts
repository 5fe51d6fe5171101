/** Limits that deny what a test says, and write down what they were asked. */
import { REFUSALS } from '../base/refusal.js';
import type { Denial, Limits, ParkedSlot, PushBlock } from './limits.js';

export class FakeLimits implements Limits {
  readonly asked: string[] = [];
  /** By the name of the question. */
  readonly denies = new Map<string, Denial>();
  block: PushBlock | null = null;
  /** False: the broker is asked before `admit`. */
  isKnown = true;
  parked = 0;

  deny(name: string, shadowable = true): void {
    const refusal = { ...REFUSALS.overloaded, status: 429, code: 'rate_limited', error: name };
    this.denies.set(name, { refusal, shadowable });
  }

  pushBlock(): PushBlock | null {
    return this.block;
  }

  request(): Denial | null {
    return this.#ask('request');
  }

  messages(_cluster: unknown, count: number): Denial | null {
    return this.#ask('messages', count);
  }

  delivered(_cluster: unknown, count: number): void {
    this.#ask('delivered', count);
  }

  knows(): boolean {
    return this.isKnown;
  }

  admit(_cluster: unknown, destinations: readonly unknown[]): Denial | null {
    return this.#ask('admit', destinations.length);
  }

  retention(_cluster: unknown, seconds: readonly number[]): Denial | null {
    return this.#ask('retention', seconds.join());
  }

  sizes(_cluster: unknown, items: number): Denial | null {
    return this.#ask('sizes', items);
  }

  park(): ParkedSlot | Denial {
    const denial = this.#ask('park');
    if (denial !== null) return denial;
    this.parked++;
    return { release: () => void this.parked-- };
  }

  #ask(name: string, what: string | number = ''): Denial | null {
    this.asked.push(`${name} ${what}`.trim());
    return this.denies.get(name) ?? null;
  }
}
