/**
 * How full a tenant's allowance is, as this node sees it (state-surfaces 5.3). The gate is soft: it
 * knows what is applied here and what this node has let in since; what other nodes let in at the
 * same moment comes on top, once.
 *
 * What must hold:
 * - A charge is an upper bound and counts from its admission until its outcome is known here: an
 *   answered write is applied on this node, so from then on the measurement holds what it really
 *   added. One that certainly wrote nothing is refunded by the same step.
 * - A charge of unknown outcome may still turn up in the measurement. It counts until no entry can
 *   hold it any more, so nothing is let in twice on its room; and as charges are summed by the
 *   minute that they came in, forgotten ones cost no memory and end by themselves.
 * - Once refused, growth is refused until the measurement has fallen into the release band: a
 *   tenant at its limit would otherwise be let in and refused in turns.
 */

/** Units of one resource: rows, bytes or timers. */
interface Gauge {
  /** Charges whose outcome is not known, in this window and the one before. */
  current: number;
  previous: number;
  isBlocked: boolean;
}

export const RESOURCES = ['rows', 'bytes', 'timers'] as const;
export type Resource = (typeof RESOURCES)[number];

/** What there is, or is to come, of each resource. */
export type Amounts = { readonly [resource in Resource]: number };

/** null: not limited. */
export type Caps = { readonly [resource in Resource]: number | null };

/** Longer than any call lives: its deadline is a minute at most. */
export const CHARGE_WINDOW_MS = 60_000;

/** What one call was charged; given back by `settle`. */
export interface Charge {
  readonly window: number;
  readonly amounts: Amounts;
}

export class Occupancy {
  readonly #gauges: { readonly [resource in Resource]: Gauge } = {
    rows: newGauge(),
    bytes: newGauge(),
    timers: newGauge(),
  };
  #window = 0;
  #windowEndMs: number;
  /** When the measurement was last looked at, and whether it was near a cap then. */
  measuredMs: number;
  isHot = false;

  constructor(nowMs: number) {
    this.#windowEndMs = nowMs + CHARGE_WINDOW_MS;
    this.measuredMs = nowMs;
  }

  /** Or the resource of which it would exceed the cap, or whose growth is blocked. */
  admit(
    measured: Amounts,
    caps: Caps,
    asked: Amounts,
    bands: Bands,
    nowMs: number,
  ): Charge | Resource {
    this.#turnOver(nowMs);
    this.measuredMs = nowMs;
    this.isHot = RESOURCES.some((name) => isAtLeast(measured[name], caps[name], bands.hotPct));
    const full = RESOURCES.filter((name) => !this.#fits(name, measured, caps[name], asked, bands));
    const [first] = full;
    if (first !== undefined) return first;
    for (const name of RESOURCES) this.#gauges[name].current += asked[name];
    return { window: this.#window, amounts: asked };
  }

  /** What came of the call is in the measurement, or nothing came of it. */
  settle({ window, amounts }: Charge): void {
    const age = this.#window - window;
    if (age > 1) return;
    for (const name of RESOURCES) {
      const gauge = this.#gauges[name];
      if (age === 0) gauge.current -= amounts[name];
      else gauge.previous -= amounts[name];
    }
  }

  #fits(
    name: Resource,
    measured: Amounts,
    cap: number | null,
    asked: Amounts,
    { releasePct }: Bands,
  ): boolean {
    const gauge = this.#gauges[name];
    if (cap === null || measured[name] * 100 <= cap * releasePct) gauge.isBlocked = false;
    if (cap === null || asked[name] === 0) return true;
    const expected = measured[name] + gauge.current + gauge.previous + asked[name];
    if (expected > cap) gauge.isBlocked = true;
    return !gauge.isBlocked;
  }

  #turnOver(nowMs: number): void {
    while (nowMs >= this.#windowEndMs) {
      // After a long silence both windows are empty, and only the numbers go on.
      const windows = Math.floor((nowMs - this.#windowEndMs) / CHARGE_WINDOW_MS) + 1;
      this.#window += windows;
      this.#windowEndMs += windows * CHARGE_WINDOW_MS;
      for (const name of RESOURCES) {
        const gauge = this.#gauges[name];
        gauge.previous = windows === 1 ? gauge.current : 0;
        gauge.current = 0;
      }
    }
  }
}

/** In percent of a cap. */
export interface Bands {
  /** At or below it a blocked resource is released. */
  readonly releasePct: number;
  /** From it on a tenant counts as hot. */
  readonly hotPct: number;
}

function newGauge(): Gauge {
  return { current: 0, previous: 0, isBlocked: false };
}

function isAtLeast(measured: number, cap: number | null, pct: number): boolean {
  return cap !== null && measured * 100 >= cap * pct;
}
