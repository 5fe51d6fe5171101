/** Effects on streaming queries and their state, and their binary form (streams/apply.ts). */
import type { ByteReader, ByteWriter } from '../../base/bytes.js';
import type { Key, State } from '../../base/state.js';
import { changeStreamState, dropStreamQuery, putStreamQuery, type StreamChange } from './apply.js';
import { sweepStreams } from './doomed.js';
import {
  readQuery,
  readWindowEnd,
  type StreamQueryRow,
  writeQuery,
  writeWindowEnd,
} from './tables.js';

export type StreamEffect =
  /** Creates the query or replaces its row. */
  | { readonly kind: 'stream-query'; readonly row: StreamQueryRow }
  | { readonly kind: 'drop-stream-query'; readonly id: string }
  | {
      readonly kind: 'stream-state';
      readonly store: number;
      readonly partition: number;
      readonly changes: readonly StreamChange[];
    }
  | { readonly kind: 'sweep-streams'; readonly from: Key; readonly rowsMax: number };

export function applyStreamEffect(state: State, effect: StreamEffect, stampUs: number): void {
  switch (effect.kind) {
    case 'stream-query':
      putStreamQuery(state, effect.row);
      break;
    case 'drop-stream-query':
      dropStreamQuery(state, effect.id);
      break;
    case 'stream-state':
      changeStreamState(state, effect.store, effect.partition, effect.changes, stampUs);
      break;
    case 'sweep-streams':
      sweepStreams(state, effect.from, effect.rowsMax);
      break;
  }
}

export function writeStreamEffect(w: ByteWriter, effect: StreamEffect): void {
  switch (effect.kind) {
    case 'stream-query':
      writeQuery(w, effect.row);
      break;
    case 'drop-stream-query':
      w.uuid(effect.id);
      break;
    case 'stream-state':
      w.u32(effect.store);
      w.u32(effect.partition);
      w.varint(effect.changes.length);
      for (const change of effect.changes) writeChange(w, change);
      break;
    case 'sweep-streams':
      w.latin1(effect.from);
      w.varint(effect.rowsMax);
      break;
  }
}

function writeChange(w: ByteWriter, change: StreamChange): void {
  const { key, value, windowEnd, replacedBytes } = change;
  w.text(key);
  w.flag(replacedBytes !== null);
  if (replacedBytes !== null) w.varint(replacedBytes);
  w.flag(value !== null);
  if (value === null) return;
  w.blob(value);
  writeWindowEnd(w, windowEnd);
}

export function readStreamEffect(kind: StreamEffect['kind'], r: ByteReader): StreamEffect {
  switch (kind) {
    case 'stream-query':
      return { kind, row: readQuery(r) };
    case 'drop-stream-query':
      return { kind, id: r.uuid() };
    case 'stream-state': {
      const [store, partition] = [r.u32(), r.u32()];
      const changes: StreamChange[] = [];
      for (let left = r.varint(); left > 0; left--) changes.push(readChange(r));
      return { kind, store, partition, changes };
    }
    case 'sweep-streams':
      return { kind, from: r.latin1() as Key, rowsMax: r.varint() };
  }
}

function readChange(r: ByteReader): StreamChange {
  const key = r.text();
  const replacedBytes = r.flag() ? r.varint() : null;
  if (!r.flag()) return { key, value: null, windowEnd: null, replacedBytes };
  const value = r.blob();
  return { key, value, windowEnd: readWindowEnd(r), replacedBytes };
}
