/**
 * Fields: the one declaration of a value that is stored or sent. A field knows how its value is
 * written, read and checked; records and choices are made of fields (record.ts, choice.ts), and the
 * TypeScript type of a row, an effect, a command or a frame is inferred from its field list.
 *
 * The job, and why it is hard: rows must be able to grow without a new format, the digest of the
 * state is taken over their bytes, and the bytes come from disks and from other machines. So these
 * must hold:
 * - Canonical: a value has exactly one form, and a form that is read is the one that its value is
 *   written in. Longer spellings of a number, a flag of 2, a default that is written out and texts
 *   that are no UTF-8 are refused. Nothing depends on the build, the platform or its version.
 * - Checked: reading never throws, never runs past the end, and allocates nothing on the word of a
 *   number (guarded-reader.ts). Depth is bounded by the declaration: a form cannot nest itself.
 * - Growing: a record is as long as its bytes, so fields that were added at its end may be absent
 *   (record.ts).
 *
 * msgpackr was weighed for this, without its native part, by processor time for 100,000 rows of a
 * kind (written / read, and bytes). By hand: timer 287 / 74 and 90 bytes, partition 81 / 37 and 64,
 * cursor 222 / 44 and 71, queue 228 / 71 and 136. msgpackr, nothing checked and the conversion of
 * keys and UUIDs to bytes not counted: 134 / 86 and 98, 125 / 59 and 68, 83 / 112 and 126, 96 / 96
 * and 131. It was not taken. It sets an array of the promised length aside before it has looked
 * (four bytes ask for gigabytes), replaces bytes that are no UTF-8 silently, reads several
 * spellings of one number, and turns integers above 2^32 into floats: each frame would have to be
 * walked by a parser of our own before the library sees it, which is what is here, and more.
 * Most of what writing took by hand was the memory of each result; see `table` in tables.ts.
 */
import { formatUuid } from '@svc/wire';
import { type ByteWriter, byteString } from '../bytes.js';
import type { GuardedReader } from '../guarded-reader.js';
import type { Key } from '../state.js';

export interface Field<Value> {
  /** No value takes fewer bytes: what a count promises is held against what is left. */
  readonly bytesMin: number;
  readonly write: (w: ByteWriter, value: Value) => void;
  /** What cannot be is refused at the reader, and whatever is given then means nothing. */
  readonly read: (r: GuardedReader) => Value;
}

/** The type of the values of a field, a record or a choice. */
export type Infer<Form> = Form extends { readonly read: (r: GuardedReader) => infer Value }
  ? Value
  : never;

const UUID_BYTES = 16;
const U32_MAX = 0xffff_ffff;
/** For lists of an entry, which its size bounds. */
export const ROWS_MAX = U32_MAX;

export function field<Value>(
  bytesMin: number,
  write: (w: ByteWriter, value: Value) => void,
  read: (r: GuardedReader) => Value,
): Field<Value> {
  return { bytesMin, write, read };
}

// --- numbers -------------------------------------------------------------------------------------

/** An integer from 0 to 2^53 - 1, in as few bytes as it needs. */
export const count = field<number>(
  1,
  (w, value) => w.varint(value),
  (r) => r.varint(),
);

/** An integer from `least` to `most`, both included; neither is negative. */
export function within(least: number, most: number): Field<number> {
  return field(
    1,
    (w, value) => w.varint(value),
    (r) => r.within(least, most),
  );
}

/** An offset, or -1 for none. */
export const offset = field<number>(
  1,
  (w, value) => w.varint(value + 1),
  (r) => r.varint() - 1,
);

/** An integer from 0 to 2^32 - 1, in four bytes. */
export const u32 = field<number>(
  4,
  (w, value) => w.u32(value),
  (r) => r.u32(),
);

/** The number of a queue, a partition or a store where most are small. */
export const number32 = within(0, U32_MAX);

/** An integer of 32 bits that may be negative. */
export const int32 = field<number>(
  4,
  (w, value) => w.u32(value),
  (r) => r.u32() | 0,
);

const BELOW_ZERO = 2;
const FROM_ZERO = 1;

/** An integer of 53 bits with its sign. */
export const signed = field<number>(
  2,
  (w, value) => {
    w.u8(value < 0 ? BELOW_ZERO : FROM_ZERO);
    w.varint(Math.abs(value));
  },
  (r) => {
    const sign = r.u8();
    const size = r.varint();
    if (sign !== FROM_ZERO && (sign !== BELOW_ZERO || size === 0)) r.refuse();
    return sign === BELOW_ZERO ? -size : size;
  },
);

export const flag = field<boolean>(
  1,
  (w, value) => w.flag(value),
  (r) => r.flag(),
);

/** One of a list of words or values, by its place: a new one comes last. */
export function oneOf<const Word>(words: readonly [Word, ...Word[]]): Field<Word> {
  return field(
    1,
    (w, value) => w.u8(words.indexOf(value)),
    (r) => r.oneOf(words),
  );
}

// --- texts and bytes -----------------------------------------------------------------------------

/** Well-formed UTF-8 of at most `bytesMax` bytes. */
export function textTo(bytesMax: number): Field<string> {
  return field(
    1,
    (w, value) => w.text(value),
    (r) => r.text(bytesMax),
  );
}

/** A text that nothing but its message or row bounds. */
export const text = textTo(2 ** 31);

/** A UUID in lower case, as 16 bytes. */
export const uuid = field<string>(
  UUID_BYTES,
  (w, value) => w.uuid(value),
  (r) => {
    const at = r.skip(UUID_BYTES);
    return at < 0 ? '' : formatUuid(r.bytes, at);
  },
);

/** A key of the state, or a part of one: every character is one byte. */
export const key = field<Key>(
  1,
  (w, value) => w.latin1(value),
  (r) => {
    const length = r.varint();
    const at = r.skip(length);
    return (at < 0 ? '' : byteString(r.bytes, at, at + length)) as Key;
  },
);

/** So many one-byte characters, without a length before them. */
export function characters<Text extends string>(length: number): Field<Text> {
  return field(
    length,
    (w, value) => {
      for (let i = 0; i < length; i++) w.u8(value.charCodeAt(i));
    },
    (r) => r.latin1(length) as Text,
  );
}

/** Bytes of a row: a copy, so that the row does not keep the memory alive that it came in. */
export const bytes = field<Uint8Array>(
  1,
  (w, value) => w.blob(value),
  (r) => new Uint8Array(r.view(r.varint())),
);

/** Bytes of a message: a view of it. */
export const view = field<Uint8Array>(
  1,
  (w, value) => w.blob(value),
  (r) => r.view(r.varint()),
);

// --- made of other fields ------------------------------------------------------------------------

export function nullable<Value>(inner: Field<Value>): Field<Value | null> {
  return field<Value | null>(
    1,
    (w, value) => {
      w.flag(value !== null);
      if (value !== null) inner.write(w, value);
    },
    (r) => (r.flag() ? inner.read(r) : null),
  );
}

/** At most `most` values. */
export function list<Value>(inner: Field<Value>, most: number): Field<readonly Value[]> {
  return field<readonly Value[]>(
    1,
    (w, values) => {
      w.varint(values.length);
      for (const value of values) inner.write(w, value);
    },
    (r) => {
      const values: Value[] = [];
      for (let left = r.count(inner.bytesMin, most); left > 0 && !r.refused; left--) {
        values.push(inner.read(r));
      }
      return values;
    },
  );
}

/** Ascending numbers, each as its distance from the one before: most are neighbours. */
export function ascending(most: number): Field<readonly number[]> {
  return field<readonly number[]>(
    1,
    (w, values) => {
      w.varint(values.length);
      let before = 0;
      for (const value of values) {
        w.varint(value - before);
        before = value;
      }
    },
    (r) => {
      const values: number[] = [];
      let at = 0;
      for (let left = r.count(1, most); left > 0 && !r.refused; left--) {
        at += r.varint();
        if (at > Number.MAX_SAFE_INTEGER) r.refuse();
        values.push(at);
      }
      return values;
    },
  );
}

/** Refuses values that `isSound` does not take. */
export function refined<Value>(
  inner: Field<Value>,
  isSound: (value: Value) => boolean,
): Field<Value> {
  return field(inner.bytesMin, inner.write, (r) => {
    const value = inner.read(r);
    if (!r.refused && !isSound(value)) r.refuse();
    return value;
  });
}

/** The same bytes for values of another shape. */
export function mapped<Stored, Value>(
  inner: Field<Stored>,
  stored: (value: Value) => Stored,
  value: (stored: Stored) => Value,
): Field<Value> {
  return field(
    inner.bytesMin,
    (w, given) => inner.write(w, stored(given)),
    (r) => {
      const read = inner.read(r);
      return r.refused ? (undefined as never) : value(read);
    },
  );
}

/** The same field for values of a narrower type, which the bytes do not tell apart. */
export function as<Narrow extends Wide, Wide>(inner: Field<Wide>): Field<Narrow> {
  return inner as unknown as Field<Narrow>;
}
