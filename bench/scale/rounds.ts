// What the rounds of a scenario measured, by name. Two things that are compared are measured in
// turn, and compared round by round: what disturbed the machine in a round disturbed both.

import { type Figure, figure } from '../load/figure.js';

export class Rounds {
  readonly #values = new Map<string, number[]>();

  add(name: string, value: number): void {
    const values = this.#values.get(name);
    if (values === undefined) this.#values.set(name, [value]);
    else values.push(value);
  }

  of(name: string): readonly number[] {
    const values = this.#values.get(name);
    if (values === undefined) throw new Error(`no round measured: ${name}`);
    return values;
  }

  /** In the order of their first round. */
  figures(unitOf: (name: string) => string, note: string): Figure[] {
    return [...this.#values].map(([name, values]) => figure(name, unitOf(name), values, note));
  }

  /** `over` divided by `under`, of each round. */
  ratios(over: string, under: string): readonly number[] {
    const divisors = this.of(under);
    return this.of(over).map((value, round) => value / (divisors[round] ?? Number.NaN));
  }
}

/** Units of the names that all scenarios use. */
export function unitOf(name: string): string {
  if (name.includes('processor time')) return 'us/message';
  if (name.includes('latency') || name.includes('p50') || name.includes('p99')) return 'ms';
  if (name.includes('memory')) return 'bytes';
  return 'messages/s';
}
