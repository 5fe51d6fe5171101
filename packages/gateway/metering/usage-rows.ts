/**
 * Rows of usage in the store (gateway 2 and 10).
 *
 *     px.usage.min   #cluster/minute_us/op_class/node   one writer's count of a minute
 *     px.usage.day   #cluster/YYYY-MM-DD/op_class       all of a day, or that it has to be summed
 *
 * The node of a minute's row is a *writer*: one process of one node, and a number more for each
 * time that its clock was set back over the end of a minute. No two writers share a row, so each
 * row is written as a whole number, never added to, and written again it says the same.
 */
import type { Json } from '../store/kv.js';
import { OP_CLASSES, type OpClass } from './samples.js';

export const MINUTES = 'px.usage.min';
export const DAYS = 'px.usage.day';

/** The counts, with the names that rows and answers have. */
export interface Usage {
  readonly msgs: number;
  readonly reqs: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
}

export interface MinuteRow extends Usage {
  readonly clusterId: string;
  readonly minuteUs: number;
  readonly op: OpClass;
  readonly writer: string;
}

export const NO_USAGE: Usage = { msgs: 0, reqs: 0, bytes_in: 0, bytes_out: 0 };

/** In place of a day's sum: minutes of it came after it was summed. */
export const OPEN_DAY = { open: true } as const;

export function minuteKey({ clusterId, minuteUs, op, writer }: MinuteRow): string {
  return `#${clusterId}/${minuteUs}/${op}/${writer}`;
}

export function dayKey(clusterId: string, day: string, op: OpClass): string {
  return `#${clusterId}/${day}/${op}`;
}

/** Null: the key is none of a minute, or of an operation that this build does not know. */
export function minuteOfKey(key: string): Pick<MinuteRow, 'minuteUs' | 'op'> | null {
  const [, minute = '', op] = key.split('/');
  const known = opOf(op);
  return known === null || !/^\d+$/.test(minute) ? null : { minuteUs: Number(minute), op: known };
}

export function dayOfKey(key: string): { readonly day: string; readonly op: OpClass } | null {
  const [, day = '', op] = key.split('/');
  const known = opOf(op);
  return known === null ? null : { day, op: known };
}

export function opOf(text: unknown): OpClass | null {
  return OP_CLASSES.find((op) => op === text) ?? null;
}

/** Null: an open day, or no usage at all. */
export function usageOf(value: Json): Usage | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const counts = value as { readonly [name: string]: Json };
  const [msgs, reqs] = [countOf(counts.msgs), countOf(counts.reqs)];
  const [bytesIn, bytesOut] = [countOf(counts.bytes_in), countOf(counts.bytes_out)];
  if (msgs === null || reqs === null || bytesIn === null || bytesOut === null) return null;
  return { msgs, reqs, bytes_in: bytesIn, bytes_out: bytesOut };
}

export function usageIn({ msgs, reqs, bytes_in, bytes_out }: Usage): {
  [Name in keyof Usage]: number;
} {
  return { msgs, reqs, bytes_in, bytes_out };
}

export function sum(one: Usage, other: Usage): Usage {
  return {
    msgs: one.msgs + other.msgs,
    reqs: one.reqs + other.reqs,
    bytes_in: one.bytes_in + other.bytes_in,
    bytes_out: one.bytes_out + other.bytes_out,
  };
}

/** The later of two states of one writer's row: its counts only rise. */
export function later(one: Usage, other: Usage): Usage {
  return {
    msgs: Math.max(one.msgs, other.msgs),
    reqs: Math.max(one.reqs, other.reqs),
    bytes_in: Math.max(one.bytes_in, other.bytes_in),
    bytes_out: Math.max(one.bytes_out, other.bytes_out),
  };
}

function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
