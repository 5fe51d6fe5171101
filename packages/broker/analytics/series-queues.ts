/**
 * Rows of the series of queues as bytes: in memory, in the file and on the way to another node they
 * are the same.
 *
 *     row := queue number | which columns are not 0 | their values, in the order of the columns
 *
 * All are numbers from 0 to 2^53 in as few bytes as they need (LEB128). A quiet queue has three or
 * four columns that are not 0, so a row takes about 15 bytes and not 170.
 */
import { newQueueCounts, QUEUE_COLUMNS, type QueueColumn, type QueueCounts } from '@svc/wire';

export interface QueueSeriesRow {
  /** Of the queue; never used for another one. */
  readonly number: number;
  readonly counts: QueueCounts;
}

/** It is not what was written. */
export class SeriesDamage extends Error {
  readonly code = 'series_damaged';
}

const LAG_MAX = QUEUE_COLUMNS.indexOf('lagMsMax');

export function addCounts(to: QueueCounts, counts: Readonly<QueueCounts>): void {
  for (let i = 0; i < QUEUE_COLUMNS.length; i++) {
    const column = QUEUE_COLUMNS[i] as QueueColumn;
    if (i !== LAG_MAX) to[column] += counts[column];
    else if (counts.lagMsMax > to.lagMsMax) to.lagMsMax = counts.lagMsMax;
  }
}

export class SeriesWriter {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacityBytes = 256) {
    this.#bytes = new Uint8Array(capacityBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** From 0 to 2^53 - 1; a fraction is rounded. */
  number(value: number): void {
    this.#reserve(8);
    let rest = Math.min(Math.max(0, Math.round(value)), Number.MAX_SAFE_INTEGER);
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  text(value: string): void {
    const bytes = Buffer.from(value, 'utf8');
    this.number(bytes.length);
    this.blob(bytes);
  }

  blob(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  row(number: number, counts: Readonly<QueueCounts>): void {
    let mask = 0;
    for (let i = 0; i < QUEUE_COLUMNS.length; i++) {
      if (counts[QUEUE_COLUMNS[i] as QueueColumn] >= 0.5) mask |= 1 << i;
    }
    this.number(number);
    this.number(mask);
    for (let i = 0; i < QUEUE_COLUMNS.length; i++) {
      if ((mask & (1 << i)) === 0) continue;
      this.number(counts[QUEUE_COLUMNS[i] as QueueColumn]);
    }
  }

  /** A copy of the exact size. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

/** Every reading throws `SeriesDamage` where the bytes are not what a writer made. */
export class SeriesReader {
  readonly #bytes: Uint8Array;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#position >= this.#bytes.length;
  }

  number(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.#bytes[this.#position];
      if (byte === undefined || scale > 0x2_0000_0000_0000) {
        throw new SeriesDamage(`no number at byte ${this.#position} of ${this.#bytes.length}`);
      }
      this.#position++;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
  }

  text(): string {
    return Buffer.from(this.blob(this.number())).toString('utf8');
  }

  /** A view. */
  blob(length: number): Uint8Array {
    const end = this.#position + length;
    if (end > this.#bytes.length) {
      throw new SeriesDamage(`${length} bytes at ${this.#position} of ${this.#bytes.length}`);
    }
    const bytes = this.#bytes.subarray(this.#position, end);
    this.#position = end;
    return bytes;
  }

  /** What is left; a view. */
  rest(): Uint8Array {
    return this.blob(this.#bytes.length - this.#position);
  }

  row(): QueueSeriesRow {
    const number = this.number();
    const counts = newQueueCounts();
    this.addCounts(counts);
    return { number, counts };
  }

  /** Of a row whose number has been read: added to `counts`. */
  addCounts(counts: QueueCounts): void {
    const mask = this.number();
    for (let i = 0; mask >>> i !== 0; i++) {
      if ((mask & (1 << i)) === 0) continue;
      const value = this.number();
      const column = QUEUE_COLUMNS[i];
      if (column === undefined) throw new SeriesDamage(`a row has a column ${i}`);
      if (i !== LAG_MAX) counts[column] += value;
      else if (value > counts.lagMsMax) counts.lagMsMax = value;
    }
  }

  /** The same, passed over. */
  skipCounts(): void {
    const mask = this.number();
    for (let i = 0; mask >>> i !== 0; i++) if ((mask & (1 << i)) !== 0) this.number();
  }
}
