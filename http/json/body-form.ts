/**
 * The form of a body: its members, each declared once with its schema and how it is read. The
 * document, the key set and the reader follow from it:
 *
 *     const placeForm = objectForm('a position', {
 *       queue: nameMember(),
 *       partition: given(DEFAULT_PARTITION, nameMember()),
 *     });
 *     const body = bodyForm({ positions: listMember(placeForm.member, 100, tooMany) });
 *     const { positions } = body.read(bytes);
 *
 * Forms are for bodies that are read now and then. What is read for every message (push, pop, ack,
 * fetch, transactions, key/value, timers) keeps a reader by hand: a form makes an object with
 * members in the order of the body, which costs several times what a hand reader does.
 *
 * What holds: values are read in the order of the body, so the first fault in it is the one that is
 * told, and `values` has its members in that order. Absent members are looked for behind the end of
 * their object, and behind the end of a whole body.
 */
import {
  type AnySchema,
  type Field,
  nullable,
  type ObjectOf,
  type Optional,
  object,
  optional,
  type Schema,
  text,
  truth,
  type ValueOf,
} from '@svc/schema';
import { type KeySet, keySet } from './json-keys.js';
import { JsonReader, KEYS_END } from './json-reader.js';

export interface Member<Value, Described extends Field = Field> {
  /** As the document describes it. */
  readonly field: Described;
  /** Reads the value that the reader stands before. undefined: it is as good as absent. */
  readonly read: (reader: JsonReader, name: string) => Value | undefined;
  /** What stands for an absent member; without it the member is required. */
  readonly absent?: { readonly value: Value };
}

/** Another spelling of a member. Which of two in a body counts, the form says. */
export interface Alias<Described extends Field = Field> {
  readonly field: Described;
  readonly aliasOf: string;
}

type Counts = 'first' | 'last';

export type Members = Readonly<Record<string, Member<unknown> | Alias>>;

export type ValuesOf<All extends Members> = {
  readonly [Name in keyof All as All[Name] extends Alias ? never : Name]: All[Name] extends Member<
    infer Value
  >
    ? Value
    : never;
};

type FieldsOf<All extends Members> = { readonly [Name in keyof All]: All[Name]['field'] };

type OtherFields<All> = { readonly [Name in keyof All]?: Field };

export interface ObjectForm<All extends Members> {
  readonly schema: Schema<ObjectOf<FieldsOf<All>>>;
  /** Reads the object as a value in a list or of a member. */
  readonly readAt: (reader: JsonReader) => ValuesOf<All>;
  /** A schema of the same members, some of which are described otherwise. */
  readonly variant: <const Other extends OtherFields<All>>(
    described: Other,
  ) => Schema<ObjectOf<Omit<FieldsOf<All>, keyof Other> & Other>>;
}

export interface BodyForm<All extends Members> extends ObjectForm<All> {
  /** Throws `JsonError` for a body of another shape. */
  readonly read: (bytes: Buffer) => ValuesOf<All>;
  /** The same, and an empty body has no members. */
  readonly readOrEmpty: (bytes: Buffer) => ValuesOf<All>;
}

interface Plan {
  readonly keys: KeySet;
  /** By the index of the key. */
  readonly targets: readonly string[];
  readonly reads: readonly Member<unknown>['read'][];
  /** Which of several spellings of a member counts. */
  readonly counts: Counts;
  readonly required: readonly string[];
  readonly absent: readonly (readonly [string, unknown])[];
}

/** `label` is what errors call the object. */
export function objectForm<const All extends Members>(label: string, all: All): ObjectForm<All> {
  const plan = planOf(all, 'last');
  const schema = described(all, {});
  return {
    schema,
    readAt: (reader) => {
      const values = readMembers(reader, label, plan);
      fillAbsent(reader, values, plan);
      return values as ValuesOf<All>;
    },
    variant: (other) => described(all, other),
  };
}

export function bodyForm<const All extends Members>(
  all: All,
  counts: Counts = 'last',
): BodyForm<All> {
  const plan = planOf(all, counts);
  const read = (bytes: Buffer): ValuesOf<All> => {
    const reader = new JsonReader(bytes);
    const values = readMembers(reader, 'the body', plan);
    reader.finish();
    fillAbsent(reader, values, plan);
    return values as ValuesOf<All>;
  };
  const readOrEmpty = (bytes: Buffer): ValuesOf<All> =>
    bytes.length === 0 ? (Object.fromEntries(plan.absent) as ValuesOf<All>) : read(bytes);
  return { ...objectForm('the body', all), read, readOrEmpty };
}

/**
 * Reads a body that holds one list, of entries that are read at once or not at all. null: it has
 * more than `max`, and what follows has not been looked at.
 */
export function readEntries<Entry>(
  bytes: Buffer,
  max: number,
  readAt: (reader: JsonReader, index: number) => Entry,
  isOptional: boolean,
): Entry[] | null {
  const reader = new JsonReader(bytes);
  const entries: Entry[] = [];
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(ENTRIES_KEYS, seen);
    if (key === KEYS_END) break;
    if (key === 0) seen = 1;
    if (key !== 0 || (isOptional && reader.isNull())) {
      reader.skipValue();
      continue;
    }
    reader.enterArray('entries');
    while (reader.nextElement()) {
      if (entries.length === max) return null;
      entries.push(readAt(reader, entries.length));
    }
  }
  reader.finish();
  if (seen === 0 && !isOptional) reader.fail('missing field `entries`', reader.at);
  return entries;
}

const ENTRIES_KEYS = keySet('entries');

function planOf(all: Members, counts: Counts): Plan {
  const names = Object.keys(all);
  const target = (name: string): string => {
    const member = all[name] as Member<unknown> | Alias;
    return 'aliasOf' in member ? member.aliasOf : name;
  };
  const own = Object.entries(all).filter(
    (entry): entry is [string, Member<unknown>] => !('aliasOf' in entry[1]),
  );
  return {
    keys: keySet(...names),
    counts,
    targets: names.map(target),
    reads: names.map((name) => (all[target(name)] as Member<unknown>).read),
    required: own.filter(([, { absent }]) => absent === undefined).map(([name]) => name),
    absent: own.flatMap(([name, { absent }]) =>
      absent === undefined ? [] : [[name, absent.value]],
    ),
  };
}

function readMembers(reader: JsonReader, label: string, plan: Plan): Record<string, unknown> {
  const { keys, targets, reads, counts } = plan;
  const values: Record<string, unknown> = {};
  let seen = 0;
  reader.enterObject(label);
  for (;;) {
    const key = reader.nextKey(keys, seen);
    if (key === KEYS_END) return values;
    const read = reads[key];
    if (read === undefined) {
      reader.skipValue();
      continue;
    }
    seen |= 1 << key;
    const value = read(reader, keys.names[key] as string);
    const target = targets[key] as string;
    if (value === undefined || (counts === 'first' && Object.hasOwn(values, target))) continue;
    values[target] = value;
  }
}

function fillAbsent(reader: JsonReader, values: Record<string, unknown>, plan: Plan): void {
  for (const name of plan.required) {
    if (!Object.hasOwn(values, name)) reader.fail(`missing field \`${name}\``, reader.at);
  }
  for (const [name, value] of plan.absent) {
    if (!Object.hasOwn(values, name)) values[name] = value;
  }
}

function described(all: Members, other: { readonly [name: string]: Field | undefined }): AnySchema {
  const fields = Object.entries(all).map(([name, { field }]) => [name, other[name] ?? field]);
  return object(Object.fromEntries(fields));
}

// --- members -------------------------------------------------------------------------------------

/** `value` where the member is absent or null. */
export function given<Value, Other, Described extends Field>(
  value: Other,
  { field, read }: Member<Value, Described>,
): Member<Value | Other, Optional<ValueOf<Described> | null>> {
  const schema: Schema<ValueOf<Described>> = 'optional' in field ? field.optional : field;
  return {
    field: optional(withDefault(nullable(schema), value)),
    read: (reader, name) => {
      if (!reader.isNull()) return read(reader, name);
      reader.skipValue();
      return undefined;
    },
    absent: { value },
  };
}

/** `value` where the member is absent; null is a value like another. */
export function ifPresent<Value, Described extends Field>(
  value: Value,
  { field, read }: Member<Value, Described>,
): Member<Value, Optional<ValueOf<Described>>> {
  const schema: Schema<ValueOf<Described>> = 'optional' in field ? field.optional : field;
  return { field: optional(withDefault(schema, value)), read, absent: { value } };
}

function withDefault<Said>({ json, uses }: Schema<Said>, value: unknown): Schema<Said> {
  const isSaid = typeof value === 'number' || typeof value === 'boolean' || value === 'Default';
  return isSaid ? { json: { ...json, default: value }, uses } : { json, uses };
}

/** The same, described otherwise: by what the endpoint demands of it in the end. */
export function describedBy<Value, Described extends Field>(
  field: Described,
  member: Member<Value>,
): Member<Value, Described> {
  return { ...member, field };
}

/** Read as `aliasOf` is. */
export function alias<Described extends Field>(
  aliasOf: string,
  field: Described,
): Alias<Described> {
  return { field, aliasOf };
}

/** A string without NUL. */
export function nameMember<Said = string>(
  field: Schema<Said> = text as AnySchema,
): Member<string, Schema<Said>> {
  return { field, read: (reader, name) => reader.readName(name) };
}

/** A string. */
export function textMember<Said = string>(
  field: Schema<Said> = text as AnySchema,
): Member<string, Schema<Said>> {
  return { field, read: (reader, name) => reader.readText(name) };
}

export function flagMember(field: Schema<boolean> = truth): Member<boolean, Schema<boolean>> {
  return { field, read: readFlag };
}

export function readFlag(reader: JsonReader, name: string): boolean {
  reader.skipValue();
  const value = reader.valueText();
  if (value === 'true') return true;
  return value === 'false' ? false : reader.fail(`${name} must be a boolean`, reader.valueStart);
}

export function integerMember(
  field: Schema<number>,
  min: number = Number.MIN_SAFE_INTEGER,
  max: number = Number.MAX_SAFE_INTEGER,
): Member<number, Schema<number>> {
  return { field, read: (reader, name) => reader.readInteger(name, min, max) };
}

/** The JSON text of a value of any kind. */
export function jsonMember<Said>(field: Schema<Said>): Member<string, Schema<Said>> {
  return {
    field,
    read: (reader) => {
      reader.skipValue();
      return reader.valueText();
    },
  };
}

interface ListBound {
  readonly max: number;
  /** `at`: where the list begins. */
  readonly tooMany: (reader: JsonReader, name: string, at: number) => never;
}

export function listMember<Value, Said>(
  field: Schema<Said>,
  item: (reader: JsonReader, name: string, index: number) => Value,
  { max, tooMany }: ListBound,
): Member<readonly Value[], Schema<Said>> {
  return {
    field,
    read: (reader, name) => {
      reader.peek();
      const at = reader.at;
      const items: Value[] = [];
      reader.enterArray(name);
      while (reader.nextElement()) {
        if (items.length === max) tooMany(reader, name, at);
        items.push(item(reader, name, items.length));
      }
      return items;
    },
  };
}
