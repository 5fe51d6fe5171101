/** Reads streaming state for clients, from the state that is applied here. */
import {
  type RefusedOutcome,
  readStreamState,
  type State,
  type StreamReadRoom,
  type StreamStateFilter,
} from '@svc/engine';
import { type Reply, type StreamService, type StreamStateView, streamRowsText } from '@svc/http';
import { STREAM_STATE_BYTES_MAX } from '@svc/wire';
import type { StateReads } from '../reads/state-reads.js';

/**
 * Texts that reads under way hold, within the room that their answers have reserved: two of the
 * largest answers, 2 * 32 MiB, or the longest row.
 */
const READ_BYTES_MAX = 64 * 1024 * 1024;

export class StreamReads implements StreamService {
  readonly #state: State;
  readonly #reads: StateReads;
  readonly #room: StreamReadRoom = { bytesLeft: READ_BYTES_MAX };

  constructor(state: State, reads: StateReads) {
    this.#state = state;
    this.#reads = reads;
  }

  state(filter: StreamStateFilter, reply: Reply<StreamStateView | RefusedOutcome>): void {
    const walk = () => readStreamState(this.#state, filter, streamRowsText, this.#room);
    const done = (answer: StreamStateView['answer']) =>
      reply.send({ kind: 'stream-state', answer });
    this.#reads.confirmed(null, walk, reply, done, undefined, STREAM_STATE_BYTES_MAX);
  }
}
