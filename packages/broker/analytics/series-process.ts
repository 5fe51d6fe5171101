/**
 * A row of the series of this process: what it counted and measured in one bucket of time. In
 * memory it is numbers in one array, so that a week of minutes takes 10,080 * 450 bytes = 5 MB; in
 * the file and on the way to another node it is the fields that are listed here.
 *
 *     row := minute | samples | counts | for each gauge: avg, min, max, last
 *
 * A gauge that was not known is NaN four times.
 */
import { fields, type Infer, record } from '@svc/engine';

const SCRATCH = new DataView(new ArrayBuffer(8));
const SCRATCH_BYTES = new Uint8Array(SCRATCH.buffer);

const float = fields.field<number>(
  8,
  (w, value) => {
    SCRATCH.setFloat64(0, value);
    w.reserve(8);
    for (let i = 0; i < 8; i++) w.bytes[w.length++] = SCRATCH_BYTES[i] as number;
  },
  (r) => {
    const at = r.skip(8);
    for (let i = 0; at >= 0 && i < 8; i++) SCRATCH_BYTES[i] = r.bytes[at + i] as number;
    const value = SCRATCH.getFloat64(0);
    if (!Number.isFinite(value)) r.refuse();
    return value;
  },
);

export const processCounts = record({
  pushRequests: float,
  pushMessages: float,
  popRequests: float,
  popMessages: float,
  popEmpty: float,
  ackRequests: float,
  ackSuccess: float,
  ackFailed: float,
  transactions: float,
  deadLetters: float,
  lagMsSum: float,
  /** The only one that is not a sum. */
  lagMsMax: float,
});
type CountName = keyof Infer<typeof processCounts>;
export type ProcessCounts = { [Name in CountName]: number };
const PROCESS_COUNTS = Object.keys(processCounts.fields) as CountName[];
const NO_COUNTS = Object.fromEntries(PROCESS_COUNTS.map((name) => [name, 0])) as ProcessCounts;

const gauge = record({ avg: float, min: float, max: float, last: float });
export type Gauge = Infer<typeof gauge>;
const known = fields.nullable(gauge);

const processGauges = record({
  /** Hundredths of a percent of one processor. */
  cpuUser: known,
  cpuSystem: known,
  residentBytes: known,
  virtualBytes: known,
  inFlight: known,
  appliedLag: known,
  logBytes: known,
  logFiles: known,
  mapUsedPct: known,
  loopLagMs: known,
});
export type Gauges = Infer<typeof processGauges>;
export type ProcessGauge = keyof Gauges;
export const PROCESS_GAUGES = Object.keys(processGauges.fields) as ProcessGauge[];

/** One node in one bucket of any width. */
export const processBucket = record({
  /** Minutes since the epoch at which it begins. */
  minute: fields.count,
  /** Measurements that its gauges come from. */
  samples: fields.count,
  counts: processCounts,
  gauges: processGauges,
});
export type ProcessBucket = Infer<typeof processBucket>;

export type ProcessRow = Float64Array;

const COUNTS_AT = 2;
const GAUGES_AT = COUNTS_AT + PROCESS_COUNTS.length;
const GAUGE_NUMBERS = 4;
const PROCESS_ROW_NUMBERS = GAUGES_AT + PROCESS_GAUGES.length * GAUGE_NUMBERS;

export function newProcessCounts(): ProcessCounts {
  return { ...NO_COUNTS };
}

export function processRow({ minute, samples, counts, gauges }: ProcessBucket): ProcessRow {
  const row = new Float64Array(PROCESS_ROW_NUMBERS);
  row[0] = minute;
  row[1] = samples;
  PROCESS_COUNTS.forEach((name, i) => {
    row[COUNTS_AT + i] = counts[name];
  });
  PROCESS_GAUGES.forEach((name, i) => {
    const { avg, min, max, last } = gauges[name] ?? UNKNOWN;
    row.set([avg, min, max, last], GAUGES_AT + i * GAUGE_NUMBERS);
  });
  return row;
}

export function minuteOf(row: ProcessRow): number {
  return row[0] ?? 0;
}

export function bucketOfRow(row: ProcessRow): ProcessBucket {
  const counts = newProcessCounts();
  PROCESS_COUNTS.forEach((name, i) => {
    counts[name] = row[COUNTS_AT + i] ?? 0;
  });
  const gauges = Object.fromEntries(
    PROCESS_GAUGES.map((name, i) => [name, gaugeAt(row, GAUGES_AT + i * GAUGE_NUMBERS)]),
  ) as Gauges;
  return { minute: minuteOf(row), samples: row[1] ?? 0, counts, gauges };
}

/** `two` is the later one; the result begins at `minute`. */
export function mergedBucket(minute: number, one: ProcessBucket, two: ProcessBucket) {
  const gauges = Object.fromEntries(
    PROCESS_GAUGES.map((name) => [
      name,
      mergedGauge(one.gauges[name], one.samples, two.gauges[name], two.samples),
    ]),
  ) as Gauges;
  const samples = one.samples + two.samples;
  return { minute, samples, counts: mergedCounts(one.counts, two.counts), gauges };
}

export function mergedCounts(
  one: Readonly<ProcessCounts>,
  two: Readonly<ProcessCounts>,
): ProcessCounts {
  const counts = newProcessCounts();
  for (const name of PROCESS_COUNTS) {
    counts[name] = name === 'lagMsMax' ? Math.max(one[name], two[name]) : one[name] + two[name];
  }
  return counts;
}

const UNKNOWN: Gauge = { avg: Number.NaN, min: Number.NaN, max: Number.NaN, last: Number.NaN };

function gaugeAt(row: ProcessRow, at: number): Gauge | null {
  const [avg = Number.NaN, min = 0, max = 0, last = 0] = row.subarray(at, at + GAUGE_NUMBERS);
  return Number.isNaN(avg) ? null : { avg, min, max, last };
}

function mergedGauge(
  one: Gauge | null,
  oneSamples: number,
  two: Gauge | null,
  twoSamples: number,
): Gauge | null {
  if (one === null || two === null) return one ?? two;
  const samples = oneSamples + twoSamples;
  return {
    avg: samples === 0 ? two.avg : (one.avg * oneSamples + two.avg * twoSamples) / samples,
    min: Math.min(one.min, two.min),
    max: Math.max(one.max, two.max),
    last: two.last,
  };
}

/** A gauge while it is measured. */
export class Gauging {
  #samples = 0;
  #sum = 0;
  #min = 0;
  #max = 0;
  #last = 0;

  add(value: number): void {
    this.#min = this.#samples === 0 ? value : Math.min(this.#min, value);
    this.#max = this.#samples === 0 ? value : Math.max(this.#max, value);
    this.#samples++;
    this.#sum += value;
    this.#last = value;
  }

  /** Something measured over a time, with its own extreme. */
  addRange(avg: number, max: number): void {
    this.add(avg);
    this.#max = Math.max(this.#max, max);
  }

  /** What was added since the last time; null: nothing. */
  take(): Gauge | null {
    if (this.#samples === 0) return null;
    const gauge = {
      avg: this.#sum / this.#samples,
      min: this.#min,
      max: this.#max,
      last: this.#last,
    };
    this.#samples = 0;
    this.#sum = 0;
    return gauge;
  }
}
