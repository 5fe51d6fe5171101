/**
 * Counts what was relayed, for each cluster, operation and minute (gateway 10).
 *
 * Memory is for the minute that runs alone: a cluster without requests in it costs nothing. When
 * the minute ends, its rows are final: a request is counted when it ends, in the minute of that
 * moment, and never in one before. A clock that is set back over the end of a minute begins a new
 * writer, whose rows are others, so a final row stays final.
 */

import { ownText } from '../base/own-text.js';
import { minuteOf } from './calendar.js';
import type { OpClass, Sample } from './samples.js';
import type { MinuteRow } from './usage-rows.js';
import { lineEnd, lineStart } from './usage-text.js';

/** A row that may still grow. */
class OpenRow implements MinuteRow {
  readonly clusterId: string;
  readonly minuteUs: number;
  readonly op: OpClass;
  readonly writer: string;
  readonly lineStart: string;
  msgs = 0;
  reqs = 0;
  bytes_in = 0;
  bytes_out = 0;
  /** It grew since it was written. */
  isChanged = false;

  constructor(clusterId: string, minuteUs: number, op: OpClass, writer: string) {
    this.clusterId = clusterId;
    this.minuteUs = minuteUs;
    this.op = op;
    this.writer = writer;
    // As one piece: V8 would keep it as the dozen pieces that it was joined of.
    this.lineStart = ownText(lineStart(clusterId, minuteUs, op));
  }
}

/** All rows of one minute of one writer. */
export interface ClosedMinute {
  readonly minuteUs: number;
  readonly writer: string;
  readonly rows: readonly MinuteRow[];
}

export class UsageMeter {
  readonly #name: string;
  #setBack = 0;
  #minuteUs = 0;
  #rows = new Map<string, OpenRow[]>();
  #changed: OpenRow[] = [];
  #closed: ClosedMinute[] = [];

  /** `name`: of this process, and of no other for ever. */
  constructor(name: string) {
    this.#name = name;
  }

  /** Writes the rows of the minute that runs. */
  get writer(): string {
    return this.#setBack === 0 ? this.#name : `${this.#name}.${this.#setBack}`;
  }

  get minuteUs(): number {
    return this.#minuteUs;
  }

  add({ clusterId, op, reqs, msgs, bytesIn, bytesOut }: Sample, wallUs: number): void {
    this.turn(wallUs);
    const row = this.#rowOf(clusterId, op);
    row.reqs += reqs;
    row.msgs += msgs;
    row.bytes_in += bytesIn;
    row.bytes_out += bytesOut;
    if (row.isChanged) return;
    row.isChanged = true;
    this.#changed.push(row);
  }

  /** Whether the minute is another one by now. */
  isOver(wallUs: number): boolean {
    return minuteOf(wallUs) !== this.#minuteUs;
  }

  /** Closes the minute if it is over. */
  turn(wallUs: number): void {
    const minuteUs = minuteOf(wallUs);
    if (minuteUs === this.#minuteUs) return;
    this.#close();
    if (minuteUs < this.#minuteUs) this.#setBack++;
    this.#minuteUs = minuteUs;
  }

  /** Closes the minute though it may run on: what is added later is another writer's. */
  end(): void {
    if (this.#rows.size === 0) return;
    this.#close();
    this.#setBack++;
  }

  /** Lines of the rows that grew since the last `written`; "": none did. */
  changes(): string {
    let text = '';
    for (const row of this.#changed) text += row.lineStart + lineEnd(row);
    return text;
  }

  written(): void {
    for (const row of this.#changed) row.isChanged = false;
    this.#changed = [];
  }

  /** Minutes that ended since the last call. */
  takeClosed(): ClosedMinute[] {
    const closed = this.#closed;
    this.#closed = [];
    return closed;
  }

  #close(): void {
    if (this.#rows.size === 0) return;
    const rows = [...this.#rows.values()].flat();
    this.#closed.push({ minuteUs: this.#minuteUs, writer: this.writer, rows });
    this.#rows = new Map();
    // Lines that could not be written belong to no other minute's file.
    this.#changed = [];
  }

  #rowOf(clusterId: string, op: OpClass): OpenRow {
    let rows = this.#rows.get(clusterId);
    if (rows === undefined) {
      rows = [];
      this.#rows.set(clusterId, rows);
    }
    for (const row of rows) if (row.op === op) return row;
    const row = new OpenRow(clusterId, this.#minuteUs, op, this.writer);
    rows.push(row);
    return row;
  }
}
