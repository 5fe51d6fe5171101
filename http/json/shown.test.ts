// Goal: what is said of a member once holds for its value, its text and its type. Method: one
// answer of every kind of member; the compiler of the tests judges what may stand alone.
import {
  constant,
  count,
  describedAs,
  emptyList,
  type Infer,
  named,
  nothing,
  optional,
  text,
  truth,
} from '@svc/schema';
import { expect, expectTypeOf, test } from 'vitest';
import { listForm } from '../exchange/list-text.js';
import { nextAfterOf, WHOLE_LIST } from '../exchange/paging.js';
import { piecesOf } from '../exchange/sliced-answer.js';
import { partOf, rowsOf, shown, textOf } from './shown.js';

interface View {
  readonly name: string;
  readonly counts: { readonly all: number; readonly taken: number };
  readonly rows: readonly { readonly id: number }[];
  readonly isCut: boolean;
}

const counts = named(
  'Counts',
  shown<View['counts']>()({ all: count, left: [count, ({ all, taken }) => all - taken] }),
);
const row = shown<View['rows'][number], string>()({
  id: count,
  of: [text, (_, asker) => asker],
});
const answer = shown<View, string>()({
  name: text,
  asker: [text, (_, asker) => asker],
  kind: describedAs('The only one.', constant('kind')),
  unknown: nothing,
  none: emptyList,
  counts: partOf(counts, (view) => view.counts),
  rows: rowsOf(row, ({ rows }) => rows, 'By id.'),
  isCut: [optional(constant(true)), ({ isCut }) => isCut || undefined],
});

const VIEW: View = {
  name: 'n',
  counts: { all: 5, taken: 2 },
  rows: [{ id: 1 }, { id: 2 }],
  isCut: false,
};
const TEXT =
  '{"name":"n","asker":"a","kind":"kind","unknown":null,"none":[],' +
  '"counts":{"all":5,"left":3},"rows":[{"id":1,"of":"a"},{"id":2,"of":"a"}]';

test('values, texts and types', () => {
  expect(textOf(answer, VIEW, 'a')).toBe(`${TEXT}}`);
  expect(textOf(answer, { ...VIEW, isCut: true }, 'a')).toBe(`${TEXT},"isCut":true}`);
  expect(textOf(counts, VIEW.counts)).toBe('{"all":5,"left":3}');
  expect(Object.keys(answer.json.properties as object)).toEqual(Object.keys(answer.members));
  expect(answer.json.required).not.toContain('isCut');
  expectTypeOf<Infer<typeof answer>>().toEqualTypeOf<{
    readonly name: string;
    readonly asker: string;
    readonly kind: 'kind';
    readonly unknown: null;
    readonly none: readonly [];
    readonly counts: { readonly all: number; readonly left: number };
    readonly rows: readonly { readonly id: number; readonly of: string }[];
    readonly isCut?: true;
  }>();
});

test('in pieces, and row by row, the text is the same', () => {
  expect([...piecesOf(answer, 'rows')(VIEW, 'a')].join('')).toBe(`${TEXT}}`);
  const list = shown<{ readonly nextAfter: string | null }, { readonly page: typeof WHOLE_LIST }>()(
    {
      rows: rowsOf(counts, () => []),
      nextAfter: nextAfterOf('l'),
    },
  );
  const form = listForm(list, 'rows', counts, 'l');
  for (const isPaged of [false, true]) {
    const { open, row, close } = form({ page: { ...WHOLE_LIST, isPaged } });
    const texts = open + row(VIEW.counts, true) + row(VIEW.counts, false);
    const end = isPaged ? ',"nextAfter":null' : '';
    const one = '{"all":5,"left":3}';
    expect(texts + close({ nextAfter: null }, 2)).toBe(`{"rows":[${one},${one}]${end}}`);
  }
});

test('what the view does not have does not compile', () => {
  const of = shown<View>();
  // @ts-expect-error There is no such member.
  of({ title: text });
  // @ts-expect-error It has another type.
  of({ name: count });
  // @ts-expect-error It is made of another view.
  of({ counts });
  // @ts-expect-error The value has another type.
  of({ isCut: [truth, ({ name }) => name] });
  // @ts-expect-error What was asked for is missing.
  textOf(row, { id: 1 });
});
