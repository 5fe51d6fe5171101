/**
 * JSON texts of what users give. `JSON.stringify` leaves out or replaces what JSON cannot hold, and
 * a consumer would meet it as a hole: here it is refused, by the path at which it stands.
 *
 * The walk comes before `JSON.stringify` and not as its replacer, which would cost a call for each
 * member through the engine's slow path. The first walk makes no text; only when it finds something
 * a second one names the place. A cycle is not looked for: it shows as a value that is nested
 * deeper than the broker reads.
 */
import { shown } from './errors.js';

/** The broker reads 128 levels, of which a request takes a few around the value. */
const DEPTH_MAX = 120;

/** A value as the JSON text that is sent and stored, for numbers that JavaScript would round. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** `rawJson('{"id":12345678901234567890}')`, wherever a value or a payload goes. */
export function rawJson(text: string): RawJson {
  try {
    JSON.parse(text);
  } catch {
    throw new TypeError(`rawJson(${shown(text)}) is no JSON: write a text like '{"n":1}'`);
  }
  return new RawJson(text);
}

/** `name` is how the caller calls the value, and begins the path: `payload.items[3].price`. */
export function writeJson(value: unknown, name: string): string {
  if (value instanceof RawJson) return value.text;
  if (!isHeldByJson(value, 0)) refuseWhatJsonCannotHold(value, name, 0);
  return JSON.stringify(value);
}

/** false also for what the other walk lets pass: values with a `toJSON`. */
function isHeldByJson(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth >= DEPTH_MAX) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isHeldByJson(value[i], depth + 1)) return false;
    return true;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype || 'toJSON' in value) return false;
  for (const name in value) {
    if (!isHeldByJson((value as Record<string, unknown>)[name], depth + 1)) return false;
  }
  return true;
}

function refuseWhatJsonCannotHold(value: unknown, at: string, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (Number.isFinite(value)) return;
      throw refused(at, `is ${value}`, 'write null, or leave it out');
    case 'bigint':
      throw refused(at, 'is a BigInt', 'write it as a text, or as a number if it fits');
    case 'undefined':
      throw refused(at, 'is undefined', 'write null, or leave it out');
    case 'object':
      if (value !== null) refuseInside(value, at, depth);
      return;
    default:
      throw refused(at, `is a ${typeof value}`, 'leave it out');
  }
}

function refuseInside(value: object, at: string, depth: number): void {
  if (value instanceof RawJson) throw refused(at, 'is rawJson', 'it stands for a whole value only');
  if (depth >= DEPTH_MAX) {
    throw refused(at.slice(0, 60), `is nested deeper than ${DEPTH_MAX} levels, or in a cycle`);
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const keys = at.split(/[.[]/);
    refuseWhatJsonCannotHold(value.toJSON(keys.at(-1)), at, depth + 1);
    return;
  }
  if (value instanceof Map || value instanceof Set || value instanceof Promise) {
    throw refused(at, `is a ${value.constructor.name}, of which JSON holds nothing`);
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      refuseWhatJsonCannotHold(value[i], `${at}[${i}]`, depth + 1);
    }
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    refuseWhatJsonCannotHold(member, `${at}.${name}`, depth + 1);
  }
}

function refused(at: string, is: string, instead?: string): TypeError {
  return new TypeError(`${at} ${is}${instead === undefined ? '' : `: ${instead}`}`);
}
