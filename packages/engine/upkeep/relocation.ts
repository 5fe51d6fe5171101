/**
 * Moving appends to the end of the log, so that what stands before them can be given up.
 *
 * Whoever leads finds live appends in the oldest part of the log, reads them beside the loop, and
 * hands them to the planner, which writes them into an entry once more. What must hold:
 * - An append is moved only if its row, as it will be, still names the place that it was read from.
 *   Between the reading and the turn it may have been trimmed, swept, or moved already.
 * - Offsets, stamps, ids and bytes stay what they are, checksum included, so readers of the old
 *   place and of the new one read the same.
 */
import { AppendDamage, type Checksum, verifyAppend } from '../base/append.js';
import type { AppendLocation } from '../base/commands/commands.js';
import { appendKey } from '../base/keys.js';
import type { State } from '../base/state.js';
import { appends } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import type { Job, TurnRoom } from '../features/job.js';
import type { FoundAppend } from '../state/log-contents.js';

/** An append as it was read from its place. */
export interface Relocation extends FoundAppend {
  /** Owned by the relocation, and verified. */
  readonly bytes: Uint8Array;
}

/** The row of this append names this very place. */
export function isLiveAt(state: State, found: FoundAppend): boolean {
  const row = state.get(appends, appendKey(found.partition, found.baseOffset));
  return (
    row !== undefined &&
    row.index === found.index &&
    row.position === found.position &&
    row.length === found.length
  );
}

/** Null: these are not the bytes that were written. */
export function relocationOf(
  found: FoundAppend,
  bytes: Uint8Array,
  checksum: Checksum,
): Relocation | null {
  try {
    verifyAppend(bytes, checksum, whereOf(found));
  } catch (error) {
    if (error instanceof AppendDamage) return null;
    throw error;
  }
  return { ...found, bytes };
}

/** Bytes that one turn moves, or one append if that is larger. */
const MOVED_BYTES_MAX = 1024 * 1024;
/** Moves that a turn looks at: 5 us each to plan and 1 us to apply, 6 ms together. */
const MOVES_MAX = 1000;

export class Relocations implements Job {
  #moves: readonly Relocation[] = [];

  /** Moves are left that no turn has looked at. */
  get busy(): boolean {
    return this.#moves.length > 0;
  }

  /**
   * Moves for the next turns. They replace those that are left: the giver looks again.
   */
  relocate(moves: readonly Relocation[]): void {
    this.#moves = moves;
  }

  /**
   * Writes the moves that still make sense, also into an entry that the commands of its turn have
   * filled: while producers are faster than the disk every entry is full, and that is when space is
   * needed most.
   */
  turn(draft: Draft, { entryBytesMax }: TurnRoom): void {
    let looked = 0;
    let bytes = 0;
    for (const move of this.#moves) {
      if (looked === MOVES_MAX) break;
      if (bytes > 0 && bytes + move.length > MOVED_BYTES_MAX) break;
      if (draft.length + move.length > entryBytesMax) break;
      looked++;
      if (!isLiveAt(draft.state, move)) continue;
      draft.relocate(move.bytes);
      bytes += move.length;
    }
    if (looked > 0) this.#moves = this.#moves.slice(looked);
  }
}

function whereOf({ index, position }: AppendLocation): string {
  return `entry ${index}, byte ${position}`;
}
