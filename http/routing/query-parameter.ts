/**
 * Parameters of the query, each declared once: how the document describes it with its default, and
 * how it is read. An endpoint's handler gets their values by their names:
 *
 *     endpoint({
 *       query: { limit: integerParameter({ standard: 20, min: 1, max: 200 }, integer) },
 *       handle: (front, { query }) => ... query.limit ...
 *     });
 *
 * Parameters of management calls are lenient (inspection 0.2). Those of the message plane are typed
 * and exact, and are read by hand (`pop-query.ts`), for the order of their refusals is a contract.
 */
import { type AnySchema, type Schema, text } from '@svc/schema';
import { type Refused, RequestFault } from '../exchange/errors.js';
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../exchange/paging.js';
import { lenientInteger, type Query, textOf } from '../exchange/query.js';

/** A parameter as the document describes it. */
export interface QueryParameter {
  readonly description: string;
  readonly schema: AnySchema;
  readonly required?: true;
}

export interface ReadParameter<Value> extends QueryParameter {
  readonly of: (query: Query, name: string) => Value;
}

/** `Said`: what clients send, as the schema says. */
export interface Parameter<Value, Said> extends ReadParameter<Value> {
  readonly schema: Schema<Said>;
}

export type Parameters = Readonly<Record<string, ReadParameter<unknown>>>;

export type ValuesOf<All> = {
  readonly [Name in keyof All]: All[Name] extends ReadParameter<infer Value> ? Value : never;
};

/** Throws `RequestFault` for what a parameter refuses. */
export function valuesOf(parameters: Parameters, query: Query): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(parameters)) values[name] = parameters[name]?.of(query, name);
  return values;
}

export function parameter<Said>(description: string, schema: Schema<Said>) {
  return { description, schema };
}

/** "" when it is absent. */
export function textParameter(description: string): Parameter<string, string> {
  return { description, schema: text, of: textOf };
}

/** null when it is absent or empty. */
export function filterParameter(description: string): Parameter<string | null, string> {
  return { description, schema: text, of: (query, name) => textOf(query, name) || null };
}

/** null when it is absent; empty is a value like another. */
export function exactParameter(description: string): Parameter<string | null, string> {
  return { description, schema: text, of: (query, name) => query.get(name) ?? null };
}

/** One of some words, or else refused; null when it is absent or empty. */
export function wordParameter<Word extends string>(
  description: string,
  schema: Schema<Word>,
  refused: Refused,
): Parameter<Word | null, Word> {
  const words = schema.json.enum as readonly string[];
  const of = (query: Query, name: string): Word | null => {
    const word = textOf(query, name);
    if (word === '') return null;
    if (!words.includes(word)) throw new RequestFault(refused);
    return word as Word;
  };
  return { description, schema, of };
}

interface Range {
  /** What an absent one and one that is no integer mean. */
  readonly standard: number;
  readonly min: number;
  readonly max: number;
}

/** An integer that is brought into its range. */
export function integerParameter<Said extends number | string>(
  { standard, min, max }: Range,
  schema: Schema<Said>,
  of = '',
): Parameter<number, Said> {
  const range = max === Number.MAX_SAFE_INTEGER ? '' : `; brought into ${min} to ${max}`;
  return {
    description: `${of}${standard} when absent or no integer${range}.`,
    schema: { json: { ...schema.json, default: defaultOf(schema, standard) }, uses: schema.uses },
    of: (query, name) => Math.min(Math.max(lenientInteger(query, name) ?? standard, min), max),
  };
}

/** Where the document describes an integer as a text, its default is one too. */
function defaultOf({ json }: AnySchema, standard: number): number | string {
  return json.type === 'string' ? String(standard) : standard;
}

/** A text without which the request is refused, also when it is empty. */
export function mandatoryParameter(
  description: string,
  refused: Refused,
): Parameter<string, string> & { readonly required: true } {
  const of = (query: Query, name: string): string => {
    const value = textOf(query, name);
    if (value === '') throw new RequestFault(refused);
    return value;
  };
  return { description, schema: text, required: true, of };
}

const WHOLE = 'Without `limit` and `after` the list is whole.';

/** `limit` and `after` of lists that answer in pages when one of them is given. */
export const PAGE_QUERY = {
  limit: parameter(
    `Asks for a page of so many rows at most: 1 to ${PAGE_LIMIT_MAX}, ${PAGE_LIMIT_DEFAULT} when ` +
      `it is absent or no integer. ${WHOLE}`,
    text,
  ),
  after: parameter('Where an earlier page ended. Opaque; the queue it is of may be gone.', text),
};

/**
 * Description of the header that stands in for `nextAfter` where the answer is a bare array, or an
 * object whose members are names.
 */
export const NEXT_AFTER_HEADER =
  'A page has the header `x-svc-next-after`, unless it is the last: what to send as `after`.';
