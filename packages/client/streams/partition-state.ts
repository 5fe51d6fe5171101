/**
 * What a stream remembers of one partition: rows, as they are committed, with the changes of the
 * cycle that runs on top. Changes are not kept apart from what was committed: when a cycle fails,
 * whoever holds this throws it away and reads it again.
 *
 * | Row | Key of the state | Value |
 * | --- | --- | --- |
 * | a window | tag, its start as ISO text, key | `{acc, windowStart, windowEnd, id}` |
 * | a gate | `gate`, `state`, key | `{acc, windowEnd}`: when it may be forgotten |
 * | the watermark | `__wm__` | `{eventTimeMs}` |
 *
 * The parts of a key are parted by U+001F. When a cycle is committed, what it changed becomes the
 * text that was stored, so that the next one works on what another worker would read.
 */
import { writeJson } from '../base/write-json.js';

export interface Row {
  readonly stateKey: string;
  readonly key: string;
  startMs: number;
  /** Infinity: it has no end. */
  endMs: number;
  /** Names the row among all that ever had its key: what it puts out is stored once. */
  readonly id: string;
  /** JSON of `acc` as it was committed; null: it is in `acc`. */
  text: string | null;
  acc: unknown;
}

/** As the wire has it. */
export interface StateRow {
  readonly key: string;
  readonly value: {
    readonly acc?: unknown;
    readonly windowStart?: number;
    readonly windowEnd?: number;
    readonly id?: string;
    readonly eventTimeMs?: number;
  };
}

const SEPARATOR = '\u001f';
const WATERMARK = '__wm__';

export function stateKeyOf(tag: string, window: string, key: string): string {
  return [tag, window, key].join(SEPARATOR);
}

export class PartitionState {
  #watermarkMs = -Infinity;
  /** A session stands under its key, since a key has one that is open; others by their state's. */
  readonly #rows = new Map<string, Row>();
  readonly #bySession: boolean;
  /** A heap by end; each row once, at an end that it had. */
  readonly #ends: { readonly endMs: number; readonly row: Row }[] = [];
  /** By key of the state; null: deleted. */
  readonly #changed = new Map<string, Row | number | null>();

  /** `tag` is that of the rows that are read; others belong to an earlier shape of the stream. */
  constructor(rows: readonly StateRow[], tag: string, bySession: boolean) {
    this.#bySession = bySession;
    for (const { key: stateKey, value } of rows) {
      if (stateKey === WATERMARK) this.#watermarkMs = value.eventTimeMs ?? this.#watermarkMs;
      const [rowTag, , ...key] = stateKey.split(SEPARATOR);
      if (rowTag !== tag) continue;
      const { acc, windowStart: startMs = 0, id = stateKey } = value;
      const endMs = value.windowEnd ?? Infinity;
      this.#add({ stateKey, key: key.join(SEPARATOR), startMs, endMs, id, text: null, acc });
    }
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Rows that the cycle changed. */
  get changes(): number {
    return this.#changed.size;
  }

  /** The end that comes first, or an earlier one; Infinity: there is none. */
  get nextEndMs(): number {
    return this.#ends[0]?.endMs ?? Infinity;
  }

  get watermarkMs(): number {
    return this.#watermarkMs;
  }

  raiseWatermark(ms: number): void {
    if (ms <= this.#watermarkMs) return;
    this.#watermarkMs = ms;
    this.#changed.set(WATERMARK, ms);
  }

  /** By key of the state, or by key of the session. */
  find(slot: string): Row | undefined {
    return this.#rows.get(slot);
  }

  add(row: Row): void {
    this.#add(row);
    this.#changed.set(row.stateKey, row);
  }

  /** Sets what a row holds; `text`: as JSON. Its ends were changed in place perhaps. */
  change(row: Row, acc: unknown, text: string | null): void {
    row.acc = text === null ? acc : undefined;
    row.text = text;
    this.#changed.set(row.stateKey, row);
  }

  remove(row: Row): void {
    if (this.#rows.get(this.#slot(row)) === row) this.#rows.delete(this.#slot(row));
    this.#changed.set(row.stateKey, null);
  }

  /** Removes the row that ends first, if it ends by then, and gives it. */
  takeEnded(untilMs: number): Row | undefined {
    while (this.nextEndMs <= untilMs) {
      const { row, endMs } = this.#takeFirst();
      if (this.#rows.get(this.#slot(row)) !== row) continue;
      if (row.endMs === endMs) {
        this.remove(row);
        return row;
      }
      this.#pushEnd(row);
    }
    return undefined;
  }

  /** The operations that the cycle asks for, as JSON. */
  operations(): string[] {
    return [...this.#changed].map(([stateKey, change]) => {
      const key = `"key":${JSON.stringify(stateKey)}`;
      if (change === null) return `{"type":"delete",${key}}`;
      const isMark = typeof change === 'number';
      const value = isMark ? `{"eventTimeMs":${change}}` : valueText(change);
      return `{"type":"upsert",${key},"value":${value}}`;
    });
  }

  /** The operations were carried out. */
  committed(): void {
    for (const change of this.#changed.values()) {
      if (typeof change === 'object' && change !== null) change.acc = undefined;
    }
    this.#changed.clear();
  }

  #slot(row: Row): string {
    return this.#bySession ? row.key : row.stateKey;
  }

  #add(row: Row): void {
    this.#rows.set(this.#slot(row), row);
    this.#pushEnd(row);
  }

  #pushEnd(row: Row): void {
    if (row.endMs === Infinity) return;
    const heap = this.#ends;
    const added = { endMs: row.endMs, row };
    let at = heap.push(added) - 1;
    for (let above = (at - 1) >> 1; at > 0 && isBefore(added, heap[above]); above = (at - 1) >> 1) {
      heap[at] = heap[above] as typeof added;
      at = above;
    }
    heap[at] = added;
  }

  #takeFirst() {
    const heap = this.#ends;
    const [first] = heap as [(typeof heap)[number]];
    const last = heap.pop() as typeof first;
    let at = 0;
    for (let below = 1; below < heap.length; below = 2 * at + 1) {
      if (isBefore(heap[below + 1], heap[below])) below++;
      if (!isBefore(heap[below], last)) break;
      heap[at] = heap[below] as typeof first;
      at = below;
    }
    if (heap.length > 0) heap[at] = last;
    return first;
  }
}

/** What the row holds, to be worked on. */
export function accOf(row: Row): unknown {
  if (row.text !== null) row.acc = JSON.parse(row.text);
  row.text = null;
  return row.acc;
}

function valueText(row: Row): string {
  row.text ??= accText(row.acc);
  const end = row.endMs === Infinity ? '' : `,"windowEnd":${row.endMs}`;
  return `{"acc":${row.text},"windowStart":${row.startMs}${end},"id":${JSON.stringify(row.id)}}`;
}

export function accText(acc: unknown): string {
  return writeJson(acc, 'the state of a stream');
}

interface End {
  readonly endMs: number;
  readonly row: Row;
}

function isBefore(a: End | undefined, b: End | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.endMs < b.endMs || (a.endMs === b.endMs && a.row.stateKey < b.row.stateKey);
}
