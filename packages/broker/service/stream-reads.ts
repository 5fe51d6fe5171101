/** Reads streaming state for clients, from the state that is applied here. */
import { readStreamState, type State, type StreamReadRoom } from '@svc/engine';
import { type StreamService, streamRowsText } from '@svc/http';
import { STREAM_STATE_BYTES_MAX } from '@svc/wire';
import type { StateReads } from '../reads/state-reads.js';

/**
 * Texts that reads under way hold, within the room that their answers have reserved: two of the
 * largest answers, 2 * 32 MiB, or the longest row.
 */
const READ_BYTES_MAX = 64 * 1024 * 1024;

export function streamReads(state: State, reads: StateReads): StreamService {
  const room: StreamReadRoom = { bytesLeft: READ_BYTES_MAX };
  return {
    state(filter, reply) {
      reads.confirmed(
        null,
        () => readStreamState(state, filter, streamRowsText, room),
        reply,
        (answer) => reply.send({ kind: 'stream-state', answer }),
        undefined,
        STREAM_STATE_BYTES_MAX,
      );
    },
  };
}
