/**
 * Judges calls that read and write several keys together: they are strictly serializable. There is
 * one order of all of them in which each sees what those before it left, and in which whatever was
 * answered before something else was asked comes first.
 *
 * In general that is hard to decide. Versions make it easy, and lose nothing: one counter of the
 * store gives every write its version in the order in which writes happen, so the order of the
 * calls that write is not searched for but read off, and each has a place: its lowest version. What
 * is left to place are the calls that only read, each between the writers of what it saw and the
 * next writers of those keys:
 * - Its place is not before `low`: the places of the writers of what it saw, of all writers that
 *   had been answered when it began, and the `low` of all reads that had been answered then.
 * - It is before `high`: the next place at which one of its keys was written, and the places of all
 *   writers that began when it had been answered.
 * All those demands are met by the least places that meet the first kind, computed in the order of
 * beginnings, if any places meet them: so there is an order exactly if `low` is below `high`
 * everywhere (and writers are in order by time, and what writers read fits their places). A
 * history that is reported has no order at all, and one that is not has this one.
 *
 * A call without an answer counts as written from the moment that any of its values was seen; its
 * place is the version that was seen, since the versions of one call are one block. One of which
 * nothing was ever seen need not have happened.
 */
import type { Anomaly } from './history.js';
import type { KvBatch, KvRead } from './kv-history.js';

export type BatchAnomalyKind =
  /** A value that no call wrote to that key, or another version than its writer was told. */
  | 'never_written'
  /** A write of a call that was refused, or whose precondition had not held, was seen. */
  | 'refused_read'
  | 'version_twice'
  /** Versions of another call lie between those of one. */
  | 'split_block'
  /** What one call read was never there together. */
  | 'not_a_snapshot'
  /** There was such a moment, but not at a time when the call could have met it. */
  | 'not_strict'
  /** A call that was answered before another began has a higher version. */
  | 'order'
  /** A precondition was met by a key that was not at that version any more, or not yet. */
  | 'lost_update';

export type BatchAnomaly = Anomaly<BatchAnomalyKind>;

type Report = (kind: BatchAnomalyKind, text: string) => void;

/** A call that wrote, at its place. */
interface Writer {
  readonly batch: KvBatch;
  readonly place: number;
  /** When it was known at the latest to have happened. */
  readonly knownMs: number;
}

interface Stored {
  readonly writer: Writer;
  /** null: nobody saw it. */
  readonly version: number | null;
}

export function checkBatches(batches: readonly KvBatch[]): BatchAnomaly[] {
  const anomalies: BatchAnomaly[] = [];
  const report: Report = (kind, text) => anomalies.push({ kind, text });
  const log = new WriteLog(batches, report);
  checkOrder(log.writers, report);
  const readers: Reader[] = [];
  for (const batch of batches) {
    if (batch.reads.length === 0) continue;
    const window = log.windowOf(batch.reads);
    if (window === null) continue;
    if (window.low >= window.high) {
      report('not_a_snapshot', `${textOf(batch)}: from ${window.low} to ${window.high}`);
    } else if (batch.writes.length === 0) readers.push({ batch, ...window });
    else checkWriterReads(batch, window, log, report);
  }
  checkReaders(readers, log.writers, report);
  return anomalies;
}

function textOf({ beganMs, endedMs, reads, writes }: KvBatch): string {
  const shown = reads.map(({ key, version }) => `${key}@${version}`);
  const written = writes.map(({ key, value }) => `${key}=${value}`);
  return `${beganMs.toFixed(1)}-${endedMs.toFixed(1)} ms: ${[...shown, ...written].join(' ')}`;
}

class WriteLog {
  /** In the order of their places. */
  readonly writers: readonly Writer[];
  /** By key, in that order. */
  readonly #stored = new Map<string, Stored[]>();
  readonly #byValue = new Map<string, KvBatch>();
  /** The version at which a value was seen first. */
  readonly #seenAt = new Map<string, number>();
  readonly #writerOf = new Map<KvBatch, Writer>();
  readonly #report: Report;

  constructor(batches: readonly KvBatch[], report: Report) {
    this.#report = report;
    for (const batch of batches) {
      for (const { key, value } of batch.writes) this.#byValue.set(`${key} ${value}`, batch);
    }
    const seen = this.#lookAround(batches);
    const writers = [...seen].map(([batch, { version, atMs }]): Writer => {
      const isTold = batch.outcome === 'committed';
      const place = isTold ? Math.min(...batch.versions) : version;
      return { batch, place, knownMs: isTold ? batch.endedMs : atMs };
    });
    this.writers = writers.sort((a, b) => a.place - b.place);
    for (const writer of this.writers) this.#store(writer);
    this.#checkPreconditions();
    checkVersions(batches, report);
  }

  /** Between which places a call that saw this may be; null: what it saw is wrong by itself. */
  windowOf(
    reads: readonly KvRead[],
    own: KvBatch | null = null,
  ): { readonly low: number; readonly high: number } | null {
    let low = 0;
    let high = Number.POSITIVE_INFINITY;
    for (const { key, value, version } of reads) {
      const stored = this.#stored.get(key) ?? [];
      const batch = value === null ? null : this.#byValue.get(`${key} ${value}`);
      if (batch === undefined) return null;
      if (batch !== null && batch === own) continue;
      const at = stored.findIndex(({ writer }) => writer.batch === batch);
      if (batch !== null) {
        const known = stored[at];
        if (known === undefined) return null;
        if (known.version !== null && known.version !== version) {
          this.#report('never_written', `${key}: ${value} is at ${known.version} and ${version}`);
          return null;
        }
        low = Math.max(low, known.writer.place);
      }
      high = Math.min(high, stored[at + 1]?.writer.place ?? Number.POSITIVE_INFINITY);
    }
    return { low, high };
  }

  writerOf(batch: KvBatch): Writer | undefined {
    return this.#writerOf.get(batch);
  }

  /** Which calls have written: those that were told so, and those whose values were seen. */
  #lookAround(
    batches: readonly KvBatch[],
  ): Map<KvBatch, { readonly version: number; readonly atMs: number }> {
    const seen = new Map<KvBatch, { readonly version: number; readonly atMs: number }>();
    for (const batch of batches) {
      const hasWritten = batch.outcome === 'committed' && batch.writes.length > 0;
      if (hasWritten) seen.set(batch, { version: 0, atMs: batch.endedMs });
    }
    for (const { reads, endedMs } of batches) {
      for (const { key, value, version } of reads) {
        if (value === null) continue;
        const batch = this.#byValue.get(`${key} ${value}`);
        if (batch === undefined) this.#report('never_written', `${key}: ${value} at ${version}`);
        else if (batch.outcome === 'lost' || batch.outcome === 'refused') {
          this.#report('refused_read', `${key}: ${value} at ${version} of a ${batch.outcome} call`);
        } else if (batch.outcome === 'unknown') {
          this.#seenAt.set(`${key} ${value}`, this.#seenAt.get(`${key} ${value}`) ?? version);
          const known = seen.get(batch) ?? { version, atMs: endedMs };
          seen.set(batch, {
            version: Math.min(known.version, version),
            atMs: Math.min(known.atMs, endedMs),
          });
        }
      }
    }
    return seen;
  }

  #store(writer: Writer): void {
    const { batch } = writer;
    this.#writerOf.set(batch, writer);
    batch.writes.forEach(({ key, value }, i) => {
      const stored = this.#stored.get(key) ?? [];
      const version = batch.versions[i] ?? this.#seenAt.get(`${key} ${value}`) ?? null;
      stored.push({ writer, version });
      this.#stored.set(key, stored);
    });
  }

  #checkPreconditions(): void {
    for (const [key, stored] of this.#stored) {
      stored.forEach(({ writer }, i) => {
        const write = writer.batch.writes.find((each) => each.key === key);
        const before = i === 0 ? 0 : (stored[i - 1]?.version ?? null);
        const expect = write?.expect ?? null;
        if (expect === null || before === null || expect === before) return;
        this.#report(
          'lost_update',
          `${key}: ${write?.value} was written over ${before} and expected ${expect}`,
        );
      });
    }
  }
}

/** Every version is given once, and those of one call together. */
function checkVersions(batches: readonly KvBatch[], report: Report): void {
  const given = batches.flatMap((batch) => batch.versions.map((version) => ({ batch, version })));
  given.sort((a, b) => a.version - b.version);
  const closed = new Set<KvBatch>();
  given.forEach(({ batch, version }, i) => {
    const before = given[i - 1];
    if (before === undefined) return;
    if (before.version === version) {
      report('version_twice', `${version}: ${textOf(before.batch)} and ${textOf(batch)}`);
    }
    if (before.batch === batch) return;
    closed.add(before.batch);
    if (closed.has(batch)) report('split_block', `${textOf(batch)} around ${before.version}`);
  });
}

function checkOrder(writers: readonly Writer[], report: Report): void {
  let latest: Writer | null = null;
  for (const writer of writers) {
    if (latest !== null && writer.knownMs < latest.batch.beganMs) {
      report('order', `${textOf(writer.batch)} is after ${textOf(latest.batch)}`);
    }
    if (latest === null || writer.batch.beganMs > latest.batch.beganMs) latest = writer;
  }
}

/** What a call that writes reads fits its own place; its own writes it sees. */
function checkWriterReads(
  batch: KvBatch,
  window: { readonly low: number; readonly high: number },
  log: WriteLog,
  report: Report,
): void {
  const writer = log.writerOf(batch);
  if (writer === undefined) return;
  for (const { key, value, version } of batch.reads) {
    const own = batch.writes.findIndex((write) => write.key === key);
    if (own < 0) continue;
    const isOwn = value === batch.writes[own]?.value && version === batch.versions[own];
    if (!isOwn) report('not_a_snapshot', `${textOf(batch)} does not see its own ${key}`);
  }
  const others = log.windowOf(batch.reads, batch) ?? window;
  if (others.low < writer.place && writer.place <= others.high) return;
  report(
    'not_a_snapshot',
    `${textOf(batch)} at ${writer.place} reads from ${others.low} to ${others.high}`,
  );
}

interface Reader {
  readonly batch: KvBatch;
  readonly low: number;
  readonly high: number;
}

/** Gives every reader its least place, in the order of their beginnings. */
function checkReaders(
  readers: readonly Reader[],
  writers: readonly Writer[],
  report: Report,
): void {
  const byKnown = [...writers].sort((a, b) => a.knownMs - b.knownMs);
  const byBegin = [...writers].sort((a, b) => b.batch.beganMs - a.batch.beganMs);
  const highAfter = suffixLeast(byBegin);
  const byEnd = [...readers].sort((a, b) => a.batch.endedMs - b.batch.endedMs);
  const placeOf = new Map<Reader, number>();
  let [known, ended, past] = [0, 0, 0];
  for (const reader of [...readers].sort((a, b) => a.batch.beganMs - b.batch.beganMs)) {
    const { beganMs, endedMs } = reader.batch;
    for (; (byKnown[known]?.knownMs ?? Number.POSITIVE_INFINITY) < beganMs; known++) {
      past = Math.max(past, byKnown[known]?.place ?? 0);
    }
    for (; ended < byEnd.length; ended++) {
      const before = byEnd[ended] as Reader;
      if (before.batch.endedMs >= beganMs) break;
      past = Math.max(past, placeOf.get(before) ?? 0);
    }
    const low = Math.max(reader.low, past);
    const high = Math.min(reader.high, highAfter(endedMs));
    placeOf.set(reader, low);
    if (low >= high) report('not_strict', `${textOf(reader.batch)}: from ${low} to ${high}`);
  }
}

/** The least place of a writer that began after some time; writers by beginning, latest first. */
function suffixLeast(byBegin: readonly Writer[]): (afterMs: number) => number {
  const least: number[] = [];
  for (const { place } of byBegin) {
    least.push(Math.min(place, least[least.length - 1] ?? Number.POSITIVE_INFINITY));
  }
  return (afterMs) => {
    let [from, to] = [0, byBegin.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((byBegin[middle]?.batch.beganMs ?? 0) > afterMs) from = middle + 1;
      else to = middle;
    }
    return least[from - 1] ?? Number.POSITIVE_INFINITY;
  };
}
