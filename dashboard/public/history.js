/** Rates from totals: the node counts, the page looks at the difference between two answers. */

/** Samples kept: five minutes at one every two seconds. */
const SAMPLES_MAX = 150;

export class History {
  #last = null;
  rates = [];

  /** A total that went down means that the node has restarted: that step has no rate. */
  add(total, nowMs) {
    const last = this.#last;
    this.#last = { total, nowMs };
    if (last === null || nowMs <= last.nowMs || total < last.total) return;
    this.rates.push(((total - last.total) * 1000) / (nowMs - last.nowMs));
    if (this.rates.length > SAMPLES_MAX) this.rates.shift();
  }

  get latest() {
    return this.rates.at(-1) ?? null;
  }

  get highest() {
    return this.rates.length === 0 ? null : this.rates.reduce(higher);
  }
}

function higher(one, other) {
  return Math.max(one, other);
}

/**
 * The outline of the rates in a box, newest at the right edge; "" while there is nothing to draw.
 */
export function outline(rates, width, height) {
  if (rates.length < 2) return '';
  const highest = rates.reduce(higher, 1e-9);
  const step = width / (SAMPLES_MAX - 1);
  const left = width - (rates.length - 1) * step;
  const points = rates.map((rate, i) => {
    const x = left + i * step;
    const y = height - 2 - (rate / highest) * (height - 4);
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  return `M${points.join('L')}`;
}

/** The outline, closed along the floor of the box. */
export function filled(rates, width, height) {
  const line = outline(rates, width, height);
  if (line === '') return '';
  const left = width - (rates.length - 1) * (width / (SAMPLES_MAX - 1));
  return `${line}L${width} ${height}L${left.toFixed(1)} ${height}Z`;
}
