/**
 * Holds: which entries of its log a source's node keeps for the standbys that read it
 * (standby-link 8).
 *
 * The job. A standby that was away for a minute has to find the log where it left it, else it needs
 * a new seed, which is the whole state. So each call of a standby says which entry it has applied,
 * and for some time after its last call that entry and all that follow it stay. The entry itself
 * stays too: its term tells whether the log is still the one that the standby followed.
 *
 * What must hold:
 * - A hold is no promise. It ends by itself when its reader is silent for long, so a standby that
 *   was taken down costs disk for a while and not for ever.
 * - A reader is believed. One that comes back lower has lost something, and needs what it says.
 * - What the log gave up cannot be held: a reader below that point has no hold, and is not shown as
 *   if it had one.
 * - Readers are bounded. Whoever has the token could make up names, and each is a row in a file, in
 *   a list and in metrics.
 *
 * After a restart each reader that was known has what was left of its time, and RESTART_MS at the
 * least: a node that was down for an hour has not heard anybody, and the readers will call soon.
 *
 * Times are milliseconds: `nowMs` of a clock that only rises within one process, `wallMs` of the
 * wall clock, which alone means something in the file.
 */

/** Standbys of one source. Three are many; the file of as many is some 20 KiB. */
export const READERS_MAX = 64;
const RESTART_MS = 60_000;

interface Hold {
  after: number;
  seenMs: number;
  untilMs: number;
}

export interface HoldRow {
  readonly name: string;
  /** The last entry that the reader has applied. */
  readonly after: number;
  /** Since its last call. */
  readonly idleMs: number;
}

/**
 * `new`: its reader had none, or comes back lower; the file is to be written. `below`: the log
 * begins after it. `full`: there are READERS_MAX others.
 */
export type HoldResult = 'new' | 'kept' | 'below' | 'full';

export interface HoldTime {
  readonly nowMs: number;
  readonly wallMs: number;
}

export class Holds {
  readonly #holdMs: number;
  readonly #byReader = new Map<string, Hold>();

  constructor(holdMs: number) {
    this.#holdMs = holdMs;
  }

  get size(): number {
    return this.#byReader.size;
  }

  /** The reader has called. `purged`: the last entry that the log gave up. */
  note(reader: string, after: number, purged: number, nowMs: number): HoldResult {
    this.sweep(purged, nowMs);
    if (after < purged) return 'below';
    const untilMs = nowMs + this.#holdMs;
    const known = this.#byReader.get(reader);
    if (known === undefined) {
      if (this.#byReader.size >= READERS_MAX) return 'full';
      this.#byReader.set(reader, { after, seenMs: nowMs, untilMs });
      return 'new';
    }
    const isLower = after < known.after;
    known.after = after;
    known.seenMs = nowMs;
    known.untilMs = untilMs;
    return isLower ? 'new' : 'kept';
  }

  /** The reader is still there. */
  touch(reader: string, nowMs: number): void {
    const hold = this.#byReader.get(reader);
    if (hold === undefined) return;
    hold.seenMs = nowMs;
    hold.untilMs = nowMs + this.#holdMs;
  }

  /** Ends the holds of those who were silent for too long, and those that the log cannot keep. */
  sweep(purged: number, nowMs: number): void {
    for (const [reader, { after, untilMs }] of this.#byReader) {
      if (nowMs >= untilMs || after < purged) this.#byReader.delete(reader);
    }
  }

  /** The first entry that has to stay; null: none has to. */
  get heldFrom(): number | null {
    let lowest: number | null = null;
    for (const { after } of this.#byReader.values()) {
      if (lowest === null || after < lowest) lowest = after;
    }
    return lowest;
  }

  /** By name. */
  rows(nowMs: number): HoldRow[] {
    const rows = Array.from(this.#byReader, ([name, { after, seenMs }]) => {
      return { name, after, idleMs: Math.max(0, Math.round(nowMs - seenMs)) };
    });
    return rows.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  toFile({ nowMs, wallMs }: HoldTime): string {
    const rows = this.rows(nowMs).map(({ name, after, idleMs }) => {
      return [name, { after, seenMs: Math.round(wallMs - idleMs) }];
    });
    return `${JSON.stringify({ readers: Object.fromEntries(rows) })}\n`;
  }

  /**
   * Takes in what `toFile` gave, in this process or an earlier one; false: it is none of that.
   * `purged`: the last entry that the log gave up. A file is older than what its readers said last,
   * so the log may have given up more than it says, and the readers need what is left.
   */
  takeFile(text: string, { nowMs, wallMs }: HoldTime, purged: number): boolean {
    const rows = rowsOf(text);
    if (rows === null) return false;
    for (const { name, after, seenMs } of rows.slice(0, READERS_MAX)) {
      // A wall clock that was set back must not make a hold of years.
      const idleMs = Math.min(Math.max(0, wallMs - seenMs), this.#holdMs);
      const leftMs = Math.max(this.#holdMs - idleMs, RESTART_MS);
      const hold = { seenMs: nowMs - idleMs, untilMs: nowMs + leftMs };
      this.#byReader.set(name, { after: Math.max(after, purged), ...hold });
    }
    return true;
  }
}

interface FileRow {
  readonly name: string;
  readonly after: number;
  readonly seenMs: number;
}

/** null: it is not the file of holds. */
function rowsOf(text: string): FileRow[] | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const readers = fieldsOf(fieldsOf(value)?.readers);
  if (readers === null) return null;
  const rows: FileRow[] = [];
  for (const [name, row] of Object.entries(readers)) {
    const { after, seenMs } = fieldsOf(row) ?? {};
    if (!isCount(after) || !isCount(seenMs)) return null;
    rows.push({ name, after, seenMs });
  }
  return rows;
}

function fieldsOf(value: unknown): { readonly [name: string]: unknown } | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return value as { readonly [name: string]: unknown };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
