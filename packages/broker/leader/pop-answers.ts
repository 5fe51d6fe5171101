/**
 * Room for the answers of this node's own pops, as the leader's turns see it (`pop-room.ts` of the
 * engine): a pop claims into room that its client's answer has reserved, and one that finds none
 * stands in line for it, parked and without a claim.
 *
 * What must hold: room that was given to a parked pop is either claimed into by the next turn, or
 * given back at its end. So nothing is held for a pop that waits.
 *
 * Pops of other nodes are not counted here: their answers are made where their clients are, and
 * that node reserves before it reads a message (`pop-delivery.ts`).
 */
import type { PopRoom } from '@svc/engine';
import type { AnswerRoom } from '@svc/http';

interface Answered {
  readonly room?: AnswerRoom | undefined;
}

export class PopAnswers implements PopRoom {
  /** A pop that stood in line has room: it is to be tried again. null: nobody plans any more. */
  onRoom: ((ticket: object) => void) | null = null;
  /** Parked pops that were given room since the last turn. */
  readonly #given = new Set<AnswerRoom>();

  bytesFor(ticket: object): number {
    const { room } = ticket as Answered;
    return room === undefined ? Number.POSITIVE_INFINITY : room.freeBytes;
  }

  claimed(ticket: object, bytes: number): void {
    const { room } = ticket as Answered;
    if (room === undefined) return;
    room.reserve(Math.ceil(bytes));
    if (this.#given.size > 0) this.#given.delete(room);
  }

  starved(ticket: object, bytes: number): void {
    const { room } = ticket as Answered;
    room?.wait(bytes, Number.POSITIVE_INFINITY, (hasRoom) => {
      if (!hasRoom) return;
      if (this.onRoom === null) room.reserve(0);
      else {
        this.#given.add(room);
        this.onRoom(ticket);
      }
    });
  }

  /** The turn is planned: what was given and not claimed into is free again. */
  turned(): void {
    if (this.#given.size === 0) return;
    for (const room of this.#given) room.reserve(0);
    this.#given.clear();
  }

  stop(): void {
    this.onRoom = null;
    this.turned();
  }
}
