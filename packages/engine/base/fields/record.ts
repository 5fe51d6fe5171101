/**
 * Records: a list of named fields, in the order of their bytes.
 *
 *     record := field ... | added field ...
 *
 * A record ends where its bytes end: a row with its row, a record within another one behind a
 * length. So a field may be added at the end (`added`) without a new format: in what an older build
 * wrote it is absent, and reads as its default. Added fields that have their defaults are not
 * written, from the last one backward. So an older row that is written anew has the bytes that it
 * had, a build that does not know the field writes the same bytes as long as nobody uses it, and
 * the digest of the state agrees between the two. Use of the field is for the cluster version to
 * allow. Fields are never removed, reordered or inserted: a golden file holds the form of each
 * record.
 *
 * Bytes behind the last field that this build knows are a newer build's. They are refused: a row
 * that is read without them and written again would have lost them.
 *
 * The functions of a record are made from source text when the module is loaded, one statement per
 * field. A loop over the fields reads properties by a name that changes, which the platform cannot
 * compile well: to read 100,000 rows took 182, 139 and 187 ms by a loop (timer, partition, cursor),
 * 142, 47 and 51 in this way, 118, 42 and 76 by hand; and cursors are read once for each pop and
 * ack. The text is made of names that stand in our own source and of nothing else.
 */
import { assert } from '../assert.js';
import type { ByteWriter } from '../bytes.js';
import type { GuardedReader } from '../guarded-reader.js';
import { type Field, field } from './field.js';

/** A field of any type, as it stands in a list. */
export interface AnyField {
  readonly bytesMin: number;
  readonly write: (w: ByteWriter, value: never) => void;
  readonly read: (r: GuardedReader) => unknown;
}

export interface FieldList {
  readonly [name: string]: AnyField;
}

export type ValuesOf<List> = {
  readonly [name in keyof List]: List[name] extends Field<infer Value> ? Value : never;
};

/** Without a length: whoever holds the value knows where its bytes end. */
export interface Form<Value> {
  readonly writeFields: (w: ByteWriter, value: Value) => void;
  /** Reads up to the reader's end. */
  readonly readFields: (r: GuardedReader) => Value;
}

/** As a field it stands behind its length. */
export interface RecordField<List> extends Field<ValuesOf<List>>, Form<ValuesOf<List>> {
  readonly fields: List;
}

type Default = string | number | boolean | null;

interface AddedField extends AnyField {
  readonly absent: Default;
}

/** A field that came after the first build; `absent`: its value where it is not there. */
export function added<Value>(inner: Field<Value>, absent: Value & Default): Field<Value> {
  const one: Field<Value> & AddedField = { ...inner, absent };
  return one;
}

function isAdded(one: AnyField): boolean {
  return Object.hasOwn(one, 'absent');
}

const NAME = /^[A-Za-z][A-Za-z0-9]*$/;

export function record<const List extends FieldList>(fields: List): RecordField<List> {
  const form = formOf<ValuesOf<List>>(fields);
  return { fields, ...form, ...sized(form) };
}

/** `constants`: members that the value has and its bytes do not say. */
export function formOf<Value>(
  fields: FieldList,
  constants: { readonly [name: string]: string } = {},
): Form<Value> {
  const names = Object.keys(fields);
  const list = Object.values(fields);
  for (const name of [...names, ...Object.keys(constants)]) {
    assert(NAME.test(name), `${name} is no name of a field`);
  }
  const firstAdded = list.findIndex(isAdded);
  const required = firstAdded === -1 ? names.length : firstAdded;
  assert(list.slice(required).every(isAdded), `${names}: a field stands behind an added one`);
  const first = names.slice(0, required);
  const later = names.slice(required);
  const source = [
    ...names.map((_, i) => `const w${i} = list[${i}].write, r${i} = list[${i}].read;`),
    ...later.map((_, i) => `const d${required + i} = list[${required + i}].absent;`),
    'return { writeFields: (w, value) => {',
    ...first.map((name, i) => `w${i}(w, value.${name});`),
    ...addedWrites(later, required),
    '}, readFields: (r) => {',
    ...first.map((_, i) => `const v${i} = r${i}(r);`),
    ...later.map((_, i) => addedRead(required + i)),
    'r.endFields();',
    'return {',
    ...Object.entries(constants).map(([name, value]) => `${name}: ${JSON.stringify(value)},`),
    ...names.map((name, i) => `${name}: v${i},`),
    '}; } };',
  ].join('\n');
  return new Function('list', source)(list) as Form<Value>;
}

/** `n` of the added fields are written: up to the last that has not its default. */
function addedWrites(later: readonly string[], required: number): string[] {
  if (later.length === 0) return [];
  const last = later.map((name, i) => `value.${name} !== d${required + i} ? ${i + 1} : `).reverse();
  return [
    `const n = ${last.join('')}0;`,
    ...later.map((name, i) => `if (n > ${i}) w${required + i}(w, value.${name});`),
  ];
}

/** A last one that has its default would be a second form of the same value. */
function addedRead(i: number): string {
  return (
    `let v${i} = d${i};` +
    `if (!r.isAtEnd) { v${i} = r${i}(r); if (v${i} === d${i} && r.isAtEnd) r.refuse(); }`
  );
}

/** A form with its length before it. */
export function sized<Value>({ writeFields, readFields }: Form<Value>): Field<Value> {
  return field<Value>(
    1,
    (w, value) => {
      const at = w.beginSized();
      writeFields(w, value);
      w.endSized(at, 0);
    },
    (r) => {
      const end = r.enter(r.varint());
      const value = readFields(r);
      r.leave(end);
      return value;
    },
  );
}

/** A record or null: 0, or one more than the length of the record, and the record. */
export function maybe<Value>({ writeFields, readFields }: Form<Value>): Field<Value | null> {
  return field<Value | null>(
    1,
    (w, value) => {
      const at = w.beginSized();
      if (value === null) return;
      writeFields(w, value);
      w.endSized(at, 1);
    },
    (r) => {
      const size = r.varint();
      if (size === 0) return null;
      const end = r.enter(size - 1);
      const value = readFields(r);
      r.leave(end);
      return value;
    },
  );
}

/** The last field of a record, itself a record: it takes all bytes that are left, and grows. */
export function rest<Value>({ writeFields, readFields }: Form<Value>): Field<Value> {
  return field(0, writeFields, readFields);
}

/** A row that is a single value. As a record whose first field it is, it could grow later. */
export function single<Value>({ write, read }: Field<Value>): Form<Value> {
  return {
    writeFields: write,
    readFields: (r) => {
      const value = read(r);
      r.endFields();
      return value;
    },
  };
}

/** The row of an index, whose key says it all. */
export const nothing: Form<true> = {
  writeFields: () => {},
  readFields: (r) => {
    r.endFields();
    return true;
  },
};
