/** Effects on streaming queries and their state (streams/apply.ts). */
import { type ChoiceOf, kind } from '../../base/fields/choice.js';
import { count, key, list, ROWS_MAX, u32, uuid } from '../../base/fields/field.js';
import { rest } from '../../base/fields/record.js';
import type { State } from '../../base/state.js';
import { changeStreamState, dropStreamQuery, putStreamQuery, streamChange } from './apply.js';
import { sweepStreams } from './doomed.js';
import { streamQueryRow } from './tables.js';

export const streamEffects = {
  /** Creates the query or replaces its row. */
  'stream-query': kind(28, { row: rest(streamQueryRow) }),
  'drop-stream-query': kind(29, { id: uuid }),
  'stream-state': kind(30, {
    store: u32,
    partition: u32,
    changes: list(streamChange, ROWS_MAX),
  }),
  'sweep-streams': kind(31, { from: key, rowsMax: count }),
};
export type StreamEffect = ChoiceOf<'kind', typeof streamEffects>;

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
