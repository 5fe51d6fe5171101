/**
 * Planning a redrive: the dead letters of a queue are replayed, oldest first, a slice in each call.
 *
 * The job: a queue may have a million dead letters, and several clients may bring them back at
 * once, while everybody else goes on.
 *
 * What must hold:
 * - A call is one entry, so it has happened whole or not at all, and its record answers a request
 *   that comes again. The client goes on from where the answer says (`next`).
 * - Each dead letter goes as `replayLetter` has one go: message and row in one entry, under a
 *   transaction id that is made of its own. So nothing comes twice, whatever calls overlap or are
 *   sent again.
 * - Ids stand in the order of filing, and what one entry places in a partition stands there in the
 *   order of placing: the order within a partition is that of filing.
 * - A redrive ends, however fast its messages fail again: what is filed after its first call is not
 *   its own.
 * - A turn has one of them at most. Its price is a whole turn (features.ts), so all calls of this
 *   kind go round with everyone's wide commands, and small commands go first.
 *
 * Rejected: a job of the leader that goes on through many entries, as a drop does. It would need
 * shares among calls, a bound on time, and a record that moves; a client has to show progress
 * anyway, and a call that ends early has something to say.
 */
import type {
  RedriveCommand,
  RedrivenOutcome,
  RedrivePlace,
} from '../base/commands/dead-letters.js';
import { deadLetterId } from '../base/dead-letter-id.js';
import { deadLetterKey } from '../base/keys.js';
import type { QueueRow } from '../base/rows.js';
import type { Key } from '../base/state.js';
import { PRICES } from '../base/work-prices.js';
import type { Draft } from '../draft/draft.js';
import { findQueue } from '../state/catalog.js';
import { deadLetterIdInKey, deadLetters } from '../state/dead-letters/tables.js';
import type { PushPlan } from './push.js';
import { type PlacedReplay, replayLetter } from './replay.js';

/** Rows that one call passes, those of other groups with it: 4,096 * 1 us. */
const LOOKS_MAX = 4096;
const ROWS_PER_READ = 256;
/** Payloads of one call, unless the first alone is longer: 1 ms to copy and to check. */
export const REDRIVE_BYTES = 1024 * 1024;

export interface PlacedRedrive {
  outcome(): RedrivenOutcome;
}

export function planRedrive(
  draft: Draft,
  command: RedriveCommand,
  pushes: PushPlan,
): PlacedRedrive {
  const queue = findQueue(draft.state, command.tenant, command.queue);
  const counts = { moved: 0, duplicates: 0, refused: 0 };
  const next = queue === undefined ? null : redriveSlice(draft, queue, command, pushes, counts);
  return { outcome: () => ({ kind: 'redriven', ...counts, next }) };
}

function redriveSlice(
  draft: Draft,
  queue: QueueRow,
  { tenant, group, fromUs, place, limit }: RedriveCommand,
  pushes: PushPlan,
  counts: { moved: number; duplicates: number; refused: number },
): RedrivePlace | null {
  const { number } = queue;
  const home = { tenant, queue: null, partition: null };
  const endUs = Math.min(place?.endUs ?? Number.POSITIVE_INFINITY, draft.nowUs + 1);
  const to = deadLetterKey(number, deadLetterId(endUs, 0, number));
  let from = deadLetterKey(number, deadLetterId(Math.min(fromUs, endUs), 0, number));
  let after = place?.after ?? '';
  let [looks, tried, bytes] = [0, 0, 0];
  while (looks < LOOKS_MAX) {
    const behind = `${deadLetterKey(number, after)}\0` as Key;
    if (from < behind) from = behind;
    const rows = from < to ? draft.state.range(deadLetters, from, to, ROWS_PER_READ) : [];
    for (const { key, row: head } of rows) {
      const isWanted = group === null || head.group === group;
      const isOver = tried > 0 && bytes + head.payloadBytes > REDRIVE_BYTES;
      if (isWanted && (tried === limit || isOver)) return { after, endUs };
      after = deadLetterIdInKey(key);
      if (!isWanted) continue;
      tried++;
      bytes += head.payloadBytes;
      draft.spend(PRICES.deadLetter);
      counts[countOf(replayLetter(draft, { id: after, queue, head }, home, pushes))]++;
    }
    if (rows.length < ROWS_PER_READ) return null;
    looks += rows.length;
  }
  return { after, endUs };
}

function countOf({ result }: PlacedReplay): 'moved' | 'duplicates' | 'refused' {
  if (result === 'moved') return result;
  return result === 'duplicate' ? 'duplicates' : 'refused';
}
