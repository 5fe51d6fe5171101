/**
 * Whether an answer has the shape that its endpoint declares. A page reads members as the types of
 * the API name them; what a proxy, another program or another release answers with status 200 would
 * break it in the middle of drawing. So an answer is checked once, where it enters.
 *
 * Only shapes are checked, as far as they go: required members and kinds of values. A word or a
 * pattern that is new harms no page, and a newer node may say more than is described.
 */
import { RawJson } from './raw-json.js';

/** The part of a JSON schema that is used. */
export interface AnswerSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, AnswerSchema>>;
  readonly required?: readonly string[];
  readonly items?: AnswerSchema;
  readonly additionalProperties?: AnswerSchema;
  readonly anyOf?: readonly AnswerSchema[];
  /** The name of one of `named`. */
  readonly $ref?: string;
}

export interface AnswerSchemas {
  /** The answer of each endpoint's success, by method and path. */
  readonly answers: Readonly<Record<string, AnswerSchema>>;
  readonly named: Readonly<Record<string, AnswerSchema>>;
}

const WORDS: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  integer: 'a number',
  boolean: 'true or false',
  null: 'null',
};

/** The first fault: "queues[3].name is missing"; null: nothing. */
export function faultOfAnswer(
  value: unknown,
  schema: AnswerSchema,
  named: AnswerSchemas['named'],
  path = '',
): string | null {
  // Its text is a payload of somebody.
  if (value instanceof RawJson) return null;
  const { $ref, anyOf, type } = schema;
  if ($ref !== undefined) return faultOfAnswer(value, named[$ref] ?? {}, named, path);
  if (anyOf !== undefined) {
    const faults = anyOf.map((one) => faultOfAnswer(value, one, named, path));
    return faults.includes(null) ? null : (faults[0] ?? null);
  }
  const kinds = typeof type === 'string' ? [type] : (type ?? []);
  if (kinds.length > 0 && !kinds.some((kind) => isOf(kind, value))) {
    return `${path || 'it'} is not ${kinds.map((kind) => WORDS[kind]).join(' or ')}`;
  }
  if (Array.isArray(value)) return faultOfItems(value, schema, named, path);
  return isOf('object', value) ? faultOfMembers(value as Members, schema, named, path) : null;
}

type Members = Readonly<Record<string, unknown>>;

function faultOfItems(
  values: readonly unknown[],
  { items }: AnswerSchema,
  named: AnswerSchemas['named'],
  path: string,
): string | null {
  if (items === undefined) return null;
  for (const [at, value] of values.entries()) {
    const fault = faultOfAnswer(value, items, named, `${path}[${at}]`);
    if (fault !== null) return fault;
  }
  return null;
}

function faultOfMembers(
  value: Members,
  { properties = {}, required = [], additionalProperties }: AnswerSchema,
  named: AnswerSchemas['named'],
  path: string,
): string | null {
  const pathTo = (name: string) => (path === '' ? name : `${path}.${name}`);
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${pathTo(missing)} is missing`;
  const names = additionalProperties === undefined ? Object.keys(properties) : Object.keys(value);
  for (const name of names) {
    if (!Object.hasOwn(value, name)) continue;
    const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    const fault = faultOfAnswer(value[name], known ?? {}, named, pathTo(name));
    if (fault !== null) return fault;
  }
  return null;
}

function isOf(kind: string, value: unknown): boolean {
  if (kind === 'null') return value === null;
  if (kind === 'array') return Array.isArray(value);
  if (kind === 'object') {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  }
  // 1e999 is no number to anybody.
  if (kind === 'number' || kind === 'integer') return Number.isFinite(value);
  return typeof value === kind;
}
