/**
 * The series of this process: what it counted and measured in one bucket of time. In memory, in the
 * file and on the way to another node a bucket is the bytes of the fields that are listed here, so
 * that a week of minutes takes 10,080 * 450 bytes = 5 MB.
 */
import { ByteWriter, fields, GuardedReader, type Infer, record } from '@svc/engine';

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

/** The bytes of a bucket: 12 counts of 8 bytes, 10 gauges of 34, and two numbers. */
export type ProcessRow = Uint8Array;
export const PROCESS_ROW_BYTES = 450;

export function newProcessCounts(): ProcessCounts {
  return { ...NO_COUNTS };
}

export function processRow(bucket: ProcessBucket): ProcessRow {
  const w = new ByteWriter(PROCESS_ROW_BYTES);
  processBucket.writeFields(w, bucket);
  return w.finish();
}

export function minuteOf(row: ProcessRow): number {
  return new GuardedReader(row).varint();
}

export function bucketOfRow(row: ProcessRow): ProcessBucket {
  return processBucket.readFields(new GuardedReader(row));
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
