/**
 * Goal: the parts say the same twice, once to the compiler and once to `/openapi.json`. Method: the
 * inferred type and the JSON of one schema beside each other.
 */
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  anything,
  closed,
  constant,
  count,
  each,
  either,
  type Infer,
  list,
  named,
  never,
  noMembers,
  nullable,
  object,
  oneOf,
  optional,
  record,
  text,
  truth,
} from './index.js';

const TEXT = { type: 'string' };
const COUNT = { type: 'integer', minimum: 0 };

describe('an object', () => {
  it('has its members, each with its type', () => {
    const row = object({
      name: text,
      rows: list(count),
      kind: oneOf('a', 'b'),
      lag: nullable(count),
      note: optional(text),
      value: anything,
    });
    expectTypeOf<Infer<typeof row>>().toEqualTypeOf<{
      readonly name: string;
      readonly rows: readonly number[];
      readonly kind: 'a' | 'b';
      readonly lag: number | null;
      readonly note?: string;
      readonly value: unknown;
    }>();
    expect(row.json).toEqual({
      type: 'object',
      properties: {
        name: TEXT,
        rows: { type: 'array', items: COUNT },
        kind: { enum: ['a', 'b'] },
        lag: { type: ['integer', 'null'], minimum: 0 },
        note: TEXT,
        value: {},
      },
      required: ['name', 'rows', 'kind', 'lag', 'value'],
    });
  });

  it('takes members that are spread into it', () => {
    const BASE = { ok: constant(true), count: optional(count) };
    const wider = object({ ...BASE, name: text });
    expectTypeOf<Infer<typeof wider>>().toEqualTypeOf<{
      readonly ok: true;
      readonly count?: number;
      readonly name: string;
    }>();
    expect(wider.json.required).toEqual(['ok', 'name']);
  });

  it('takes members of many names that are alike', () => {
    const limits = object(each(['rows', 'bytes'], nullable(count)));
    expectTypeOf<Infer<typeof limits>>().toEqualTypeOf<{
      readonly rows: number | null;
      readonly bytes: number | null;
    }>();
    const limit = { type: ['integer', 'null'], minimum: 0 };
    expect(limits.json.properties).toEqual({ rows: limit, bytes: limit });
  });

  it('may have no other members, or none at all, or one that may not be there', () => {
    const exact = closed(object({ name: text, tenant: optional(never) }));
    expectTypeOf<Infer<typeof exact>>().toEqualTypeOf<{
      readonly name: string;
      readonly tenant?: never;
    }>();
    expect(exact.json).toEqual({
      type: 'object',
      properties: { name: TEXT, tenant: { not: {} } },
      required: ['name'],
      additionalProperties: false,
    });
    expectTypeOf<Infer<typeof noMembers>>().toEqualTypeOf<Readonly<Record<string, never>>>();
    expect(noMembers.json).toEqual({ type: 'object', properties: {} });
  });
});

it('either of several kinds is the union of their types', () => {
  const found = object({ found: constant(true), name: text });
  const missing = object({ found: constant(false) });
  const answer = either(found, missing);
  expectTypeOf<Infer<typeof answer>>().toEqualTypeOf<
    { readonly found: true; readonly name: string } | { readonly found: false }
  >();
  expect(answer.json).toEqual({ anyOf: [found.json, missing.json] });
});

it('a named schema is referred to, through all that holds it', () => {
  const row = named('Row', object({ live: truth }));
  const byName = record(row);
  expectTypeOf<Infer<typeof byName>>().toEqualTypeOf<
    Readonly<Record<string, { readonly live: boolean }>>
  >();
  const ref = { $ref: '#/components/schemas/Row' };
  expect(byName.json).toEqual({ type: 'object', additionalProperties: ref });
  expect(object({ rows: list(row) }).uses.has('Row')).toBe(true);
  expect(() => either(row, named('Row', text))).toThrow('two different schemas are called Row');
});
