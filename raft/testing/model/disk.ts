/**
 * The disk of a node in the model: writes wait in a queue until the model says that the oldest is
 * durable, and are lost in a crash unless the model says that they had reached the plate.
 *
 * A commit index alone is not worth a write: it waits for the next one, as the core allows, and is
 * always lost in a crash, which is the harder of the two cases for whoever restarts.
 */
import type { Entry } from '../../entry.js';
import { type LogIndex, logIndex, NO_NODE, type Term, term } from '../../identifiers.js';
import type { Message } from '../../messages.js';
import type { HardState, Ready } from '../../ready.js';
import type { RaftStorage } from '../../storage.js';

/** What survives a crash. */
export interface Plate {
  readonly hardState: HardState;
  /** Entry i stands at `entries[i - 1]`. */
  readonly entries: readonly Entry[];
  /** The end of the log was damaged, and the node has not made up for it. */
  readonly recovering: boolean;
  /** Starts in that condition: each must tell the leader something that no other told. */
  readonly lives: number;
  /** What was lost: others may still count this node as one that holds it. */
  readonly ghosts: readonly Entry[];
}

export interface Write {
  readonly hardState: HardState | undefined;
  readonly entries: readonly Entry[];
  /** What the node wants to say once this write is durable. */
  readonly messages: readonly Message[];
}

export const EMPTY_PLATE: Plate = {
  hardState: { term: term(0), vote: NO_NODE, commit: logIndex(0) },
  entries: [],
  recovering: false,
  lives: 0,
  ghosts: [],
};

export class ModelDisk implements RaftStorage {
  plate: Plate;
  writes: Write[] = [];
  /** A hard state that differs from the last write in the commit index alone. */
  lazy: HardState | undefined;

  constructor(plate: Plate) {
    this.plate = plate;
  }

  firstIndex(): LogIndex {
    return logIndex(1);
  }

  lastIndex(): LogIndex {
    return logIndex(this.plate.entries.length);
  }

  term(index: LogIndex): Term | undefined {
    return index === 0 ? term(0) : this.plate.entries[index - 1]?.term;
  }

  entries(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[] {
    // The model's entries are small and few; one at a time is the other answer that is allowed.
    return this.plate.entries.slice(from - 1, bytesMax > 0 ? to - 1 : from);
  }

  snapshot(): undefined {
    return undefined;
  }

  /** Returns the messages that wait for no write. */
  accept(ready: Ready): readonly Message[] {
    if (ready.hardState !== undefined) this.lazy = ready.hardState;
    if (ready.mustSync) {
      this.writes.push({
        hardState: this.lazy,
        entries: ready.entries,
        messages: ready.afterDurable,
      });
      this.lazy = undefined;
      return [];
    }
    const last = this.writes.pop();
    if (last === undefined) return ready.afterDurable;
    this.writes.push({ ...last, messages: [...last.messages, ...ready.afterDurable] });
    return [];
  }

  /** The oldest write becomes durable; returns what waited for it. */
  sync(): readonly Message[] {
    const write = this.writes.shift();
    if (write === undefined) return [];
    this.plate = written(this.plate, write);
    return write.messages;
  }

  recovered(): void {
    this.plate = { ...this.plate, recovering: false, ghosts: [] };
  }

  /** The log as it stands once all writes are through. */
  accepted(): readonly Entry[] {
    return this.writes.reduce(written, this.plate).entries;
  }
}

/** The plate after the oldest `surviving` of the writes under way, when power is lost. */
export function afterCrash(disk: ModelDisk, surviving: number): Plate {
  const plate = disk.writes.slice(0, surviving).reduce(written, disk.plate);
  return plate.recovering ? { ...plate, lives: plate.lives + 1 } : plate;
}

/** The plate when the power goes and, besides, everything above `keep` cannot be read any more. */
export function afterLoss(disk: ModelDisk, keep: number): Plate {
  const plate = afterCrash(disk, 0);
  return {
    ...plate,
    entries: plate.entries.slice(0, keep),
    recovering: true,
    lives: plate.lives + 1,
    ghosts: [...plate.ghosts, ...plate.entries.slice(keep)],
  };
}

function written(plate: Plate, write: Write): Plate {
  const first = write.entries[0];
  return {
    ...plate,
    hardState: write.hardState ?? plate.hardState,
    entries:
      first === undefined
        ? plate.entries
        : [...plate.entries.slice(0, first.index - 1), ...write.entries],
  };
}
