/**
 * Parameters of the query, each declared once: its name, how the document describes it with its
 * default, and how a handler reads it.
 *
 *     const LIMIT = integerParameter('limit', { standard: 20, min: 1, max: 200 });
 *     endpoint({ query: [LIMIT], handle: ... LIMIT.of(query) ... });
 *
 * Parameters of management calls are lenient (inspection 0.2). Those of the message plane are typed
 * and exact, and are read by hand (`pop-query.ts`), for the order of their refusals is a contract.
 */
import { type AnySchema, text } from '@svc/schema';
import { lenientInteger, type Query, textOf } from '../exchange/query.js';
import type { QueryParameter } from './endpoint.js';

export interface Parameter<Value> extends QueryParameter {
  readonly of: (query: Query) => Value;
}

/** "" when it is absent. */
export function textParameter(name: string, description: string): Parameter<string> {
  return { name, description, schema: text, of: (query) => textOf(query, name) };
}

/** null when it is absent or empty. */
export function filterParameter(
  name: string,
  description: string,
  schema: AnySchema = text,
): Parameter<string | null> {
  return { name, description, schema, of: (query) => textOf(query, name) || null };
}

/** null when it is absent; empty is a value like another. */
export function exactParameter(name: string, description: string): Parameter<string | null> {
  return { name, description, schema: text, of: (query) => query.get(name) ?? null };
}

interface Range {
  /** What an absent one and one that is no integer mean. */
  readonly standard: number;
  readonly min: number;
  readonly max: number;
}

/** An integer that is brought into its range. */
export function integerParameter(
  name: string,
  { standard, min, max }: Range,
  schema: AnySchema,
  of = '',
): Parameter<number> {
  const range = max === Number.MAX_SAFE_INTEGER ? '' : `; brought into ${min} to ${max}`;
  return {
    name,
    description: `${of}${standard} when absent or no integer${range}.`,
    schema: { json: { ...schema.json, default: defaultOf(schema, standard) }, uses: schema.uses },
    of: (query) => Math.min(Math.max(lenientInteger(query, name) ?? standard, min), max),
  };
}

/** Where the document describes an integer as a text, its default is one too. */
function defaultOf({ json }: AnySchema, standard: number): number | string {
  return json.type === 'string' ? String(standard) : standard;
}

/** The same parameter, without which the endpoint refuses. */
export function requiredParameter<Value>(one: Parameter<Value>): Parameter<Value> {
  return { ...one, required: true };
}
