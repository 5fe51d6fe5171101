/**
 * The form of a route's body. JSON is read by the reader of the front, which refuses what is no
 * JSON at the byte where it goes wrong; in addition no object may have a name twice, for readers do
 * not agree which one counts. Members that a route does not know are passed over.
 */
import { JsonError, JsonReader } from '@svc/http';
import { isWellFormed } from '@svc/wire';
import type { Json } from '../store/kv.js';

export interface BodyFault {
  /** The fault, for whoever sent it. */
  readonly fault: string;
}

export interface BodyForm<Body> {
  readonly bytesMax: number;
  readonly read: (bytes: Buffer) => Body | BodyFault;
}

export function isFault(read: unknown): read is BodyFault {
  return typeof read === 'object' && read !== null && 'fault' in read;
}

declare const typed: unique symbol;

/** One member of a JSON object. */
export interface BodyMember<Value> {
  readonly of: (value: Json) => unknown;
  readonly isRequired: boolean;
  readonly fault: (name: string, value: Json) => string;
  readonly [typed]?: Value;
}

type Checked<Value> = (value: Json) => Value | null;
/** The text of a fault behind its member's name, or the whole text. */
type Fault = string | BodyMember<unknown>['fault'];

export function required<Value>(of: Checked<Value>, fault: Fault): BodyMember<Value> {
  return { of, isRequired: true, fault: textOf(fault) };
}

/** null is as good as absent. */
export function optional<Value>(of: Checked<Value>, fault: Fault): BodyMember<Value | undefined> {
  return { of, isRequired: false, fault: textOf(fault) };
}

function textOf(fault: Fault): BodyMember<unknown>['fault'] {
  return typeof fault === 'string' ? (name) => `${name} ${fault}` : fault;
}

interface BodyMembers {
  readonly [name: string]: BodyMember<unknown>;
}

export type BodyOf<Members extends BodyMembers> = {
  readonly [Name in keyof Members]: Members[Name] extends BodyMember<infer Value> ? Value : never;
};

/** A JSON object with these members. */
export function jsonObject<const Members extends BodyMembers>(
  members: Members,
  bytesMax: number,
): BodyForm<BodyOf<Members>> {
  const read = (bytes: Buffer): BodyOf<Members> | BodyFault => {
    const json = readJson(bytes);
    if (isFault(json)) return json;
    const { value } = json;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { fault: 'the body must be an object' };
    }
    const given = new Map(Object.entries(value as { readonly [name: string]: Json }));
    const body: [string, unknown][] = [];
    for (const [name, member] of Object.entries(members)) {
      const raw = given.get(name) ?? null;
      const checked = raw === null ? null : member.of(raw);
      const isMissing = checked === null && (raw !== null || member.isRequired);
      if (isMissing) return { fault: member.fault(name, raw) };
      body.push([name, checked ?? undefined]);
    }
    return Object.fromEntries(body) as BodyOf<Members>;
  };
  return { bytesMax, read };
}

/** Any JSON value that `of` takes. */
export function jsonValue<Value>(
  of: (value: Json) => Value | BodyFault,
  bytesMax: number,
): BodyForm<Value> {
  const read = (bytes: Buffer): Value | BodyFault => {
    const json = readJson(bytes);
    return isFault(json) ? json : of(json.value);
  };
  return { bytesMax, read };
}

/** Bytes that somebody else reads. */
export function rawBody(bytesMax: number): BodyForm<Buffer> {
  return { bytesMax, read: (bytes) => bytes };
}

export function readJson(bytes: Buffer): { readonly value: Json } | BodyFault {
  try {
    const reader = new JsonReader(bytes);
    const value = jsonAt(reader);
    reader.finish();
    return { value };
  } catch (error) {
    if (error instanceof JsonError) return { fault: error.message };
    throw error;
  }
}

/** The reader bounds the depth. */
function jsonAt(reader: JsonReader): Json {
  switch (String.fromCharCode(reader.peek())) {
    case '{':
      return objectOf(reader);
    case '[': {
      const elements: Json[] = [];
      reader.enterArray('the array');
      while (reader.nextElement()) elements.push(jsonAt(reader));
      return elements;
    }
    case '"':
      return reader.readText('a string');
    default:
      reader.skipValue();
      return JSON.parse(reader.valueText()) as Json;
  }
}

function objectOf(reader: JsonReader): Json {
  const members = new Map<string, Json>();
  reader.enterObject('the object');
  for (;;) {
    const name = reader.nextName();
    if (name === null) return Object.fromEntries(members);
    if (members.has(name)) reader.fail(`duplicate field ${JSON.stringify(name)}`, reader.at);
    members.set(name, jsonAt(reader));
  }
}

/** A form as browsers send it; each of these fields at most once, and "" where it is absent. */
export function urlencoded<const Name extends string>(
  names: readonly Name[],
  bytesMax: number,
): BodyForm<{ readonly [N in Name]: string }> {
  const read = (bytes: Buffer): { readonly [N in Name]: string } | BodyFault => {
    const form = new URLSearchParams(bytes.toString('utf8'));
    const body: [string, string][] = [];
    for (const name of names) {
      const values = form.getAll(name);
      if (values.length > 1) return { fault: `${name} is given more than once` };
      const [value = ''] = values;
      if (!isWellFormed(value)) return { fault: `${name} is no text` };
      body.push([name, value]);
    }
    return Object.fromEntries(body) as { readonly [N in Name]: string };
  };
  return { bytesMax, read };
}
