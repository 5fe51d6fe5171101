/**
 * JSON schemas as values, made of small parts. A schema is the one place that says what a body or
 * an answer holds: its TypeScript type is inferred from it (`Infer`), and so is what
 * `/openapi.json` says of it.
 *
 *     export const seekRefusal = object({ success: constant(false), error: text });
 *     export type SeekRefusal = Infer<typeof seekRefusal>;
 */

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };

export type JsonObject = { readonly [name: string]: Json };

declare const described: unique symbol;

/** A schema whose type is of no concern. */
export interface AnySchema {
  readonly json: JsonObject;
  /** The named schemas that `json` refers to, and those that they refer to. */
  readonly uses: ReadonlyMap<string, JsonObject>;
}

export interface Schema<Value> extends AnySchema {
  readonly [described]?: (value: Value) => Value;
}

/** A schema that one value alone satisfies. */
export interface Constant<Value> extends Schema<Value> {
  readonly only: Value;
}

/** A member that may be absent. */
export interface Optional<Value> {
  readonly optional: Schema<Value>;
}

/** The type of the values that a schema describes. */
export type Infer<S> = S extends Schema<infer Value> ? Value : never;

export type Field = AnySchema | { readonly optional: AnySchema };

/** The type of the values of a member. */
export type ValueOf<F> = F extends { readonly optional: infer S } ? Infer<S> : Infer<F>;

type OptionalNames<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends { readonly optional: AnySchema } ? Name : never;
}[keyof Fields];

/** Members that types of values leave out. */
type UnreadNames<Fields> = {
  [Name in keyof Fields]: [ValueOf<Fields[Name]>] extends [never]
    ? never
    : ValueOf<Fields[Name]> extends Unread
      ? Name
      : never;
}[keyof Fields];

type RequiredNames<Fields> = Exclude<keyof Fields, OptionalNames<Fields> | UnreadNames<Fields>>;

/** The type of the objects that have these members. */
export type ObjectOf<Fields> = Flat<
  { readonly [Name in RequiredNames<Fields>]: ValueOf<Fields[Name]> } & {
    readonly [Name in Exclude<OptionalNames<Fields>, UnreadNames<Fields>>]?: ValueOf<Fields[Name]>;
  }
>;

/** One object type instead of an intersection, for messages of the compiler and for editors. */
type Flat<Type> = { [Name in keyof Type]: Type[Name] };

const NONE: ReadonlyMap<string, JsonObject> = new Map();
const COMPONENTS = '#/components/schemas/';

function leaf<Value>(json: JsonObject): Schema<Value> {
  return { json, uses: NONE };
}

function just<Value>(only: Value, json: JsonObject): Constant<Value> {
  return { ...leaf<Value>(json), only };
}

export const text = leaf<string>({ type: 'string' });
export const truth = leaf<boolean>({ type: 'boolean' });
export const number = leaf<number>({ type: 'number' });
export const integer = leaf<number>({ type: 'integer' });
/** A number of things. */
export const count = leaf<number>({ type: 'integer', minimum: 0 });
export const nothing = just(null, { type: 'null' });
export const emptyList = just<readonly []>([], { type: 'array', maxItems: 0 });
/** An object that has no member. */
export const noMembers = just<Readonly<Record<string, never>>>(
  {},
  { type: 'object', properties: {} },
);
/** No value at all; as `optional(never)`, a member that may not be there. */
export const never = leaf<never>({ not: {} });
/** Any JSON value. */
export const anything = leaf<unknown>({});
declare const isUnread: unique symbol;
/** The type of what is not read. */
export interface Unread {
  readonly [isUnread]: true;
}
/** Any JSON value, in a member that is not read: types of values do not have the member. */
export const unread = leaf<Unread>({});
export const uuid = leaf<string>({ type: 'string', format: 'uuid' });
/** UTC with microseconds. */
export const stamp = leaf<string>({
  type: 'string',
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z$',
});
/** A partition's number as its decimal digits. */
export const partitionNumber = leaf<string>({ type: 'string', pattern: '^\\d+$' });

export function integerBetween(minimum: number, maximum: number): Schema<number> {
  return leaf({ type: 'integer', minimum, maximum });
}

export function matching(pattern: RegExp): Schema<string> {
  return leaf({ type: 'string', pattern: pattern.source });
}

/** UTC with milliseconds. */
export const stampMs = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

export function constant<const Value extends string | number | boolean>(
  value: Value,
): Constant<Value> {
  return just(value, { const: value });
}

export function oneOf<const Value extends string>(...values: readonly Value[]): Schema<Value> {
  return leaf({ enum: values });
}

export function nullable<Value>(schema: Schema<Value>): Schema<Value | null> {
  const { json, uses } = schema;
  if (typeof json.type === 'string') return { json: { ...json, type: [json.type, 'null'] }, uses };
  return { json: { anyOf: [json, { type: 'null' }] }, uses };
}

/** A value of any of the kinds. */
export function either<const Kinds extends readonly AnySchema[]>(
  ...schemas: Kinds
): Schema<Infer<Kinds[number]>> {
  return { json: { anyOf: schemas.map(({ json }) => json) }, uses: usesOf(schemas) };
}

export function list<Value>(of: Schema<Value>, itemsMax?: number): Schema<readonly Value[]> {
  const bound = itemsMax === undefined ? {} : { maxItems: itemsMax };
  return { json: { type: 'array', items: of.json, ...bound }, uses: of.uses };
}

/** An object whose members have any names, and values of one kind. */
export function record<Value>(of: Schema<Value>): Schema<Readonly<Record<string, Value>>> {
  return { json: { type: 'object', additionalProperties: of.json }, uses: of.uses };
}

export function optional<Value>(schema: Schema<Value>): Optional<Value> {
  return { optional: schema };
}

/** An object of these members; what else it holds is not described. */
export function object<const Fields extends Readonly<Record<string, Field>>>(
  fields: Fields,
): Schema<ObjectOf<Fields>> {
  return objectOf(Object.entries<Field>(fields));
}

/** Members of these names, alike: to be spread among the members of an object. */
export function each<const Name extends string, F extends Field>(
  names: readonly Name[],
  field: F,
): { readonly [Key in Name]: F } {
  return Object.fromEntries(names.map((name) => [name, field])) as { readonly [K in Name]: F };
}

/** An object that holds no member besides those described. */
export function closed<Value>({ json, uses }: Schema<Value>): Schema<Value> {
  return { json: { ...json, additionalProperties: false }, uses };
}

/** Described once, under its name, and referred to. */
export function named<S extends AnySchema>(name: string, schema: S): S {
  const uses = new Map(schema.uses);
  addUse(uses, name, schema.json);
  return { ...schema, json: { $ref: `${COMPONENTS}${name}` }, uses };
}

/** A name stands for one schema; two of one name would be described by either. */
export function addUse(uses: Map<string, JsonObject>, name: string, json: JsonObject): void {
  const known = uses.get(name);
  const isSame = known === undefined || JSON.stringify(known) === JSON.stringify(json);
  if (!isSame) throw new Error(`two different schemas are called ${name}`);
  uses.set(name, json);
}

export function describedAs<S extends AnySchema>(description: string, schema: S): S {
  return { ...schema, json: { ...schema.json, description } };
}

/** How a request may spell an instant. */
export const instant = describedAs(
  'ISO-8601 date and time; without a zone, UTC.',
  matching(/^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}([.,]\d{1,9})?([Zz]|[+-]\d{2}:?\d{2})?$/),
);

function objectOf<Value>(fields: readonly (readonly [string, Field])[]): Schema<Value> {
  const schemas = fields.map(([, field]) => ('optional' in field ? field.optional : field));
  const required = fields.filter(([, field]) => !('optional' in field)).map(([name]) => name);
  return {
    json: {
      type: 'object',
      properties: Object.fromEntries(
        fields.map(([name], index) => [name, (schemas[index] as AnySchema).json]),
      ),
      ...(required.length === 0 ? {} : { required }),
    },
    uses: usesOf(schemas),
  };
}

function usesOf(schemas: readonly AnySchema[]): ReadonlyMap<string, JsonObject> {
  const uses = new Map<string, JsonObject>();
  for (const schema of schemas) for (const [name, json] of schema.uses) addUse(uses, name, json);
  return uses;
}
