/**
 * Answers that say of each member what it is and where it is taken from, so that a member more is a
 * line in one place:
 *
 *     const partitionRow = shown<PartitionView>()({
 *       id: uuid,
 *       name: [text, ({ partition }) => partition],
 *       messages: partOf(messageFigures, ({ counts }) => counts),
 *       kind: constant('svc'),
 *     });
 *
 * A schema alone stands for the member of that name in the view, or for its only value. Where the
 * view has no such member, or one of another type, it does not compile. `more` is what an answer
 * needs beside the view, as a rule what was asked for.
 *
 * The object is made by a function of source text, as the text is that it becomes
 * (`answer-writer.ts`): a literal with a call for each function, as one would write it by hand.
 */
import {
  type AnySchema,
  describedAs,
  type Field,
  list,
  type ObjectOf,
  object,
  type Schema,
  type ValueOf,
} from '@svc/schema';
import { jsonOf } from './answer-writer.js';

type From<View, More, Value> = (view: View, more: More) => Value;

/** A schema whose values are made of views. */
export interface Shown<View, More, Value> extends Schema<Value> {
  readonly of: From<View, More, Value>;
  readonly members: AllMembers;
}

type AnyMember = Field | readonly [Field, From<never, never, unknown>];
type AllMembers = Readonly<Record<string, AnyMember>>;

type Taken<F> = F extends { readonly optional: AnySchema } ? ValueOf<F> | undefined : ValueOf<F>;

/** Whether a schema may stand alone. */
type Alone<View, More, Name, F> = F extends { readonly only: unknown }
  ? unknown
  : F extends { readonly of: (view: infer Part, more: infer Beside) => unknown }
    ? [View, More] extends [Part, Beside]
      ? unknown
      : never
    : Name extends keyof View
      ? View[Name] extends Taken<F>
        ? unknown
        : never
      : never;

type Members<View, More, Fields> = {
  readonly [Name in keyof Fields]:
    | (Fields[Name] & Alone<View, More, Name, Fields[Name]>)
    | readonly [Fields[Name], From<View, More, Taken<Fields[Name]>>];
};

export function shown<View, More = unknown>() {
  return <const Fields extends Readonly<Record<string, Field>>>(
    members: Members<View, More, Fields>,
  ): Shown<View, More, ObjectOf<Fields>> => {
    const all = members as AllMembers;
    const fields = Object.entries(all).map(([name, member]) => [name, fieldOf(member)]);
    const schema = object(Object.fromEntries(fields) as Fields);
    return { ...schema, of: makerOf<From<View, More, ObjectOf<Fields>>>(all), members: all };
  };
}

function fieldOf(member: AnyMember): Field {
  return isTaken(member) ? member[0] : member;
}

function isTaken(member: AnyMember): member is Exclude<AnyMember, Field> {
  return Array.isArray(member);
}

/** Makes the object of the view. */
function makerOf<Maker>(members: AllMembers): Maker {
  const functions: unknown[] = [];
  const called = (one: unknown) => `f${functions.push(one) - 1}(view, more)`;
  const lines = Object.entries(members).map(([name, member]) => {
    const key = JSON.stringify(name);
    if (isTaken(member)) return `${key}: ${called(member[1])},`;
    if ('only' in member) return `${key}: ${JSON.stringify(member.only)},`;
    return `${key}: ${'of' in member ? called(member.of) : `view[${key}]`},`;
  });
  const names = functions.map((_, i) => `f${i}`);
  const source = `return (view, more) => ({\n${lines.join('\n')}\n});`;
  return new Function(...names, source)(...functions) as Maker;
}

/** A member that is made of a part of the view. */
export function partOf<Part, Beside, Value, View, More extends Beside>(
  schema: Shown<Part, Beside, Value>,
  part: From<View, More, Part>,
): readonly [Schema<Value>, From<View, More, Value>] {
  return [schema, (view, more) => schema.of(part(view, more), more)];
}

/**
 * A member that is a list, with a row for each of the items. `piecesOf` writes it row by row, and
 * `listForm` as its rows are found.
 */
export function rowsOf<Item, Beside, Row, View, More extends Beside>(
  row: Shown<Item, Beside, Row>,
  items: From<View, More, Iterable<Item>>,
  description?: string,
): readonly [Schema<readonly Row[]>, From<View, More, readonly Row[]>] {
  const rows = description === undefined ? list(row) : describedAs(description, list(row));
  const texts: From<View, More, Iterable<string>> = (view, more) =>
    textsOf(row, items(view, more), ...([more] as unknown as Rest<Beside>));
  const all: From<View, More, readonly Row[]> = (view, more) =>
    Array.from(items(view, more), (item) => row.of(item, more));
  return Object.assign([rows, all] as const, { texts });
}

/** What `more` is not needed for is called without. */
export type Rest<More> = unknown extends More ? readonly [] : readonly [more: More];

/** The text of what is made of the view. */
export function textOf<View, More, Value>(
  schema: Shown<View, More, Value>,
  view: View,
  ...[more]: Rest<More>
): string {
  return jsonOf<Value>(schema, schema.of(view, more as More) as NoInfer<Value>);
}

export function* textsOf<Item, More, Row>(
  row: Shown<Item, More, Row>,
  items: Iterable<Item>,
  ...more: Rest<More>
): Generator<string> {
  for (const item of items) yield textOf(row, item, ...more);
}

/** What an answer holds before and behind the list `name`, and the texts of its rows. */
export function aroundList<View, More, Value>(
  { members }: Shown<View, More, Value>,
  name: keyof Value & string,
) {
  const all = Object.entries(members);
  const at = all.findIndex(([one]) => one === name);
  const side = (some: typeof all) => makerOf<From<View, More, object>>(Object.fromEntries(some));
  const { texts } = members[name] as unknown as {
    readonly texts: From<View, More, Iterable<string>>;
  };
  return { before: side(all.slice(0, at)), texts, after: side(all.slice(at + 1)) };
}
