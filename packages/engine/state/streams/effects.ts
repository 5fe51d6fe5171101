/** Effects on streaming queries and their state (streams/apply.ts). */
import { effect } from '../../base/fields/choice.js';
import { count, key, list, ROWS_MAX, u32, uuid } from '../../base/fields/field.js';
import { rest } from '../../base/fields/record.js';
import { changeStreamState, dropStreamQuery, putStreamQuery, streamChange } from './apply.js';
import { sweepStreams } from './doomed.js';
import { streamQueryRow } from './tables.js';

export const streamEffects = {
  /** Creates the query or replaces its row. */
  'stream-query': effect(28, { row: rest(streamQueryRow) }, (state, { row }) => {
    putStreamQuery(state, row);
  }),
  'drop-stream-query': effect(29, { id: uuid }, (state, { id }) => dropStreamQuery(state, id)),
  'stream-state': effect(
    30,
    { store: u32, partition: u32, changes: list(streamChange, ROWS_MAX) },
    (state, { store, partition, changes }, stampUs) => {
      changeStreamState(state, store, partition, changes, stampUs);
    },
  ),
  'sweep-streams': effect(31, { from: key, rowsMax: count }, (state, { from, rowsMax }) => {
    sweepStreams(state, from, rowsMax);
  }),
};
