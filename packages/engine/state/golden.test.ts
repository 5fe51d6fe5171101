/**
 * Goal: the bytes of rows and effects are pinned, for the digest of the state is taken over them,
 * and a build that has added a field to any of them reads what the first build of this format
 * wrote, and writes it as it was.
 * Method: a row of each table and an effect of each kind against bytes in a file,
 * `first-format.json`: what the first build wrote. Lines are added to it, and none is ever changed.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { EngineBug } from '../base/assert.js';
import { ByteReader, ByteWriter } from '../base/bytes.js';
import { CatalogueFault } from '../base/catalogue-fault.js';
import { count } from '../base/fields/field.js';
import { added, type FieldList, formOf } from '../base/fields/record.js';
import { GuardedReader } from '../base/guarded-reader.js';
import { type FormTable, table as tableOf } from '../base/tables.js';
import { SAMPLE_EFFECTS, SAMPLE_ROWS } from '../testing/samples.fake.js';
import { type Effect, effectKinds, readEffect, readEntryHeader, writeEffect } from './effects.js';
import { TABLES } from './table-list.js';

interface Golden {
  readonly rows: readonly (readonly [string, string])[];
  readonly effects: readonly (readonly [string, string])[];
}

const GOLDEN: Golden = JSON.parse(
  readFileSync(new URL('./first-format.json', import.meta.url), 'utf8'),
);
/** Their rows are another part's bytes: raft, request-record.ts, transaction-ids/. */
const FOREIGN = ['memberships', 'requests', 'transactionRuns'];

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'));
}

function effectBytes(effect: Effect): Uint8Array {
  const w = new ByteWriter(16);
  writeEffect(w, effect);
  return w.bytes.slice(0, w.length);
}

/** Fields of the record; null: the row is a single value, or nothing. */
function fieldsOf(table: FormTable<unknown>): FieldList | null {
  const { form } = table;
  return 'fields' in form ? (form.fields as FieldList) : null;
}

describe('rows', () => {
  test('of every table are here', () => {
    const known = new Set(SAMPLE_ROWS.map(([{ name }]) => name));
    const missing = TABLES.map(({ name }) => name).filter((name) => !known.has(name));
    expect(missing.sort()).toEqual(FOREIGN);
  });

  test('stand in tables that each have a number of their own', () => {
    const names = TABLES.filter((one, i) => TABLES.findIndex(({ id }) => id === one.id) !== i);
    expect(names.map(({ name }) => name)).toEqual([]);
  });

  test('have the bytes that the first build wrote, both ways', () => {
    expect(SAMPLE_ROWS.map(([table, row]) => [table.name, hex(table.encode(row))])).toEqual(
      GOLDEN.rows,
    );
    const read = GOLDEN.rows.map(([, bytes], i) => SAMPLE_ROWS[i]?.[0].decode(bytesOf(bytes)));
    expect(read).toEqual(SAMPLE_ROWS.map(([, row]) => row));
  });

  test('that gained a field read what the first build wrote, and write it as it was', () => {
    SAMPLE_ROWS.forEach(([table, row], i) => {
      const fields = fieldsOf(table);
      if (fields === null) return;
      const grown = tableOf<unknown>(
        table.id,
        table.name,
        formOf({ ...fields, gained: added(count, 7) }),
      );
      const bytes = bytesOf(GOLDEN.rows[i]?.[1] ?? '');
      const read = grown.decode(bytes) as object;
      expect(read).toEqual({ ...(row as object), gained: 7 });
      expect(hex(grown.encode(read))).toBe(hex(bytes));
      const used = { ...read, gained: 8 };
      expect(grown.decode(grown.encode(used))).toEqual(used);
      expect(() => table.decode(grown.encode(used))).toThrow(CatalogueFault);
    });
  });

  test('that are cut or changed are a fault, or a row of which they are the form', () => {
    for (const [table, row] of SAMPLE_ROWS) {
      const bytes = table.encode(row).slice();
      for (let length = 0; length < bytes.length; length++) {
        expectSound(bytes.subarray(0, length), table.decode, table.encode);
      }
      for (let at = 0; at < bytes.length * 8; at++) {
        const flipped = bytes.slice();
        flipped[at >>> 3] = (flipped[at >>> 3] ?? 0) ^ (1 << (at & 7));
        expectSound(flipped, table.decode, table.encode);
      }
    }
  });
});

describe('effects', () => {
  test('of every kind are here', () => {
    const known = new Set<string>(SAMPLE_EFFECTS.map(({ kind }) => kind));
    expect(Object.keys(effectKinds).filter((kind) => !known.has(kind))).toEqual([]);
  });

  test('of an unknown kind, or an entry of an unknown format, stop the node', () => {
    const unknown = new ByteWriter(16);
    unknown.u8(200);
    unknown.u32(0);
    expect(() => readEffect(new ByteReader(unknown.finish()))).toThrow(CatalogueFault);
    const other = new ByteReader(new Uint8Array([9, 0, 0]));
    expect(() => readEntryHeader(other)).toThrow(CatalogueFault);
  });

  test('have the bytes that the first build wrote, both ways', () => {
    expect(SAMPLE_EFFECTS.map((one) => [one.kind, hex(effectBytes(one))])).toEqual(GOLDEN.effects);
    const read = GOLDEN.effects.map(([, bytes]) => readEffect(new ByteReader(bytesOf(bytes))));
    expect(read).toEqual(SAMPLE_EFFECTS);
  });

  test('that gained a field read what the first build wrote, and write it as it was', () => {
    SAMPLE_EFFECTS.forEach((effect, i) => {
      const { fields }: { readonly fields: FieldList } = effectKinds[effect.kind];
      // A record that takes the rest of its effect grows for it.
      if (Object.values(fields).some(({ bytesMin }) => bytesMin === 0)) return;
      const grown = formOf<object>({ ...fields, gained: added(count, 7) }, { kind: effect.kind });
      const bytes = bytesOf(GOLDEN.effects[i]?.[1] ?? '').subarray(5);
      const r = new GuardedReader(bytes);
      const read = grown.readFields(r);
      expect([r.whole, read]).toEqual([true, { ...effect, gained: 7 }]);
      const w = new ByteWriter(16);
      grown.writeFields(w, read);
      expect(hex(w.bytes.subarray(0, w.length))).toBe(hex(bytes));
    });
  });

  test('that are cut or changed are a fault, or an effect of which they are the form', () => {
    const decode = (bytes: Uint8Array) => readEffect(new ByteReader(bytes));
    for (const effect of SAMPLE_EFFECTS) {
      const bytes = effectBytes(effect);
      for (let at = 5 * 8; at < bytes.length * 8; at++) {
        const flipped = bytes.slice();
        flipped[at >>> 3] = (flipped[at >>> 3] ?? 0) ^ (1 << (at & 7));
        expectSound(flipped, decode, (read) => effectBytes(read as Effect));
      }
      for (let length = 0; length < bytes.length - 5; length++) {
        const cut = bytes.slice(0, 5 + length);
        new DataView(cut.buffer).setUint32(1, length);
        expectSound(cut, decode, (read) => effectBytes(read as Effect));
      }
    }
  });
});

function expectSound<Value>(
  bytes: Uint8Array,
  decode: (bytes: Uint8Array) => Value,
  encode: (value: Value) => Uint8Array,
): void {
  let value: Value;
  try {
    value = decode(bytes);
  } catch (error) {
    if (error instanceof EngineBug || error instanceof CatalogueFault) return;
    throw error;
  }
  const form = hex(encode(value));
  if (form !== hex(bytes)) expect(form).toBe(hex(bytes));
}
