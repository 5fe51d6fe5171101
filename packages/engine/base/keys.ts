/**
 * Keys of state rows. Numbers are big-endian so that key order is number order; a name always
 * stands last, so no separator or escape is needed. See `tables.ts` for which table uses which
 * form.
 */
import { byteString } from './bytes.js';
import type { Tenant } from './commands/commands.js';
import type { Key } from './state.js';
import { utf8Length, utf8Read, utf8Write } from './utf8.js';

const OFFSET_HIGH = 0x1_0000_0000;

function u32(value: number): string {
  return String.fromCharCode(
    value >>> 24,
    (value >>> 16) & 0xff,
    (value >>> 8) & 0xff,
    value & 0xff,
  );
}

function u48(value: number): string {
  const high = Math.floor(value / OFFSET_HIGH);
  return String.fromCharCode((high >>> 8) & 0xff, high & 0xff) + u32(value >>> 0);
}

/** A name as a string of its UTF-8 bytes. ASCII names, nearly all, are already that. */
export function keyText(text: string): string {
  const length = utf8Length(text);
  if (length === text.length) return text;
  const bytes = new Uint8Array(length);
  utf8Write(bytes, 0, text);
  return byteString(bytes, 0, length);
}

/** The name at the end of a key, after the number that `numberNameKey` put before it. */
export function nameInKey(key: Key): string {
  return textInKey(key, 4, key.length);
}

/** The text that `keyText` put at `start..end` of a key. */
export function textInKey(key: Key, start: number, end: number): string {
  const bytes = new Uint8Array(end - start);
  for (let i = 0; i < bytes.length; i++) bytes[i] = key.charCodeAt(start + i);
  return utf8Read(bytes, 0, bytes.length);
}

/** The number that a key begins with. */
export function numberInKey(key: Key): number {
  return numberAt(key, 0);
}

/** The second number of a key made by `numberPairKey`. */
export function secondNumberInKey(key: Key): number {
  return (
    key.charCodeAt(4) * 0x100_0000 +
    ((key.charCodeAt(5) << 16) | (key.charCodeAt(6) << 8) | key.charCodeAt(7))
  );
}

export const SINGLETON_KEY = '' as Key;

export function tenantNameKey(tenant: Tenant, text: string): Key {
  return (tenant + keyText(text)) as Key;
}

/** Bounds of all names of one tenant: a UUID has only characters below `~`. */
export function tenantRange(tenant: Tenant): readonly [Key, Key] {
  return [tenant as Key, `${tenant.slice(0, -1)}${nextChar(tenant.slice(-1))}` as Key];
}

function nextChar(char: string): string {
  return String.fromCharCode(char.charCodeAt(0) + 1);
}

export function numberKey(number: number): Key {
  return u32(number) as Key;
}

/** Bounds of all keys that begin with this number. */
export function numberRange(number: number): readonly [Key, Key] {
  return [u32(number) as Key, u32(number + 1) as Key];
}

export function numberNameKey(number: number, text: string): Key {
  return (u32(number) + keyText(text)) as Key;
}

export function numberPairKey(first: number, second: number): Key {
  return (u32(first) + u32(second)) as Key;
}

export function appendKey(partition: number, offset: number): Key {
  return (u32(partition) + u48(offset)) as Key;
}

/** The base offset in a key made by `appendKey`. */
export function appendKeyOffset(key: Key): number {
  const high = key.charCodeAt(4) * 0x100 + key.charCodeAt(5);
  const low =
    key.charCodeAt(6) * 0x100_0000 +
    ((key.charCodeAt(7) << 16) | (key.charCodeAt(8) << 8) | key.charCodeAt(9));
  return high * OFFSET_HIGH + low;
}

/** A dead letter of a queue: its id is time-ordered, so rows stand in the order of filing. */
export function deadLetterKey(queue: number, id: string): Key {
  return (u32(queue) + id) as Key;
}

/** A partition by the stamp of its oldest retained append, among those of its queue. */
export function ageKey(queue: number, stampUs: number, partition: number): Key {
  return (u32(queue) +
    u32(Math.floor(stampUs / OFFSET_HIGH)) +
    u32(stampUs) +
    u32(partition)) as Key;
}

/** The partition in a key made by `ageKey`. */
export function agedPartition(key: Key): number {
  return numberAt(key, 12);
}

/** The stamp in a key made by `ageKey`. */
export function agedStampUs(key: Key): number {
  return numberAt(key, 4) * OFFSET_HIGH + numberAt(key, 8);
}

/** A number beyond 32 bits that stands alone. */
export function stretchKey(stretch: number): Key {
  return (u32(Math.floor(stretch / OFFSET_HIGH)) + u32(stretch)) as Key;
}

export function stretchInKey(key: Key): number {
  return numberAt(key, 0) * OFFSET_HIGH + numberAt(key, 4);
}

function numberAt(key: Key, at: number): number {
  return (
    key.charCodeAt(at) * 0x100_0000 +
    ((key.charCodeAt(at + 1) << 16) | (key.charCodeAt(at + 2) << 8) | key.charCodeAt(at + 3))
  );
}
