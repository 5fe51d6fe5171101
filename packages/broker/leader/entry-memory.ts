/**
 * Memory for the entries of large commands, made before they are planned.
 *
 * The job: a turn copies what its commands bring into one entry. Memory that nothing was written to
 * yet has no pages, and the system finds them one by one in the middle of the copy: of the 110 ms
 * that 60 MB took, 80 went there, and the collector, whom so large a buffer wakes, came on top. The
 * turn is a single stretch of the loop. So the memory is made and written to beforehand, a few MiB
 * in a turn of the loop, and the command waits for it.
 *
 * What must hold:
 * - It is only memory. A turn that needs more, or comes when there is none, makes its own.
 * - A buffer is in one place: being made, ready, or given away for good. An entry in it is read by
 *   the log and by apply, and whoever wrote to it again would damage both.
 * - One buffer is being made at a time, and what is ready has a bound: the oldest goes when there
 *   is no room. So commands that are never planned (repetitions) leave nothing that grows.
 * - A command that waits here is known, as in `encrypt-ahead.ts`, and in the order of arrival.
 *
 * Rejected: buffers that are used again. The log, readers at its tail and what is on its way to
 * followers keep an entry for longer than anybody can tell.
 */
import { type Command, growingBytes, type RequestOrigin } from '@svc/engine';
import type { Cancel, Clock } from '../system/clock.js';

/** Below it the pages are found in 3 ms. */
const PREPARED_BYTES_MIN = 2 << 20;
/** Written to in one turn of the loop: 3 ms. */
const PART_BYTES = 2 << 20;
/** Buffers that are ready: one of the largest size, or some of 4 MiB for turns that follow. */
const READY_BYTES_MAX = 64 << 20;
/** For the effects beside the payloads, and small commands of the same turn. */
const ROOM_BYTES = 1 << 20;

interface Waiting {
  readonly bytes: number;
  readonly origin: RequestOrigin | null;
  readonly done: () => void;
}

export class EntryMemory {
  readonly #clock: Clock;
  /** The memory of the first one is being made. */
  #line: Waiting[] = [];
  /** Oldest first. */
  #ready: Uint8Array[] = [];
  #cancelPart: Cancel | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get idle(): boolean {
    return this.#line.length === 0;
  }

  /** A command of this id waits for its memory. */
  knows({ session, sequence }: RequestOrigin): boolean {
    return this.#line.some(
      ({ origin }) => origin?.sequence === sequence && origin.session === session,
    );
  }

  /** True: `done` runs later, and the command is to be planned then. False: it can be now. */
  takes(command: Command, origin: RequestOrigin | null, done: () => void): boolean {
    const bytes = growingBytes(command);
    if (bytes < PREPARED_BYTES_MIN) return false;
    this.#line.push({ bytes: bytes + ROOM_BYTES, origin, done });
    if (this.#line.length === 1) this.#begin();
    return true;
  }

  /** For an entry of so many bytes. */
  take(bytes: number): Uint8Array {
    const at = this.#ready.findIndex((memory) => isFit(memory, bytes));
    const [memory] = at < 0 ? [] : this.#ready.splice(at, 1);
    return memory === undefined ? new Uint8Array(bytes) : memory.subarray(0, bytes);
  }

  /** Nothing is handed on any more. */
  stop(): void {
    this.#cancelPart?.();
    this.#cancelPart = null;
    this.#line = [];
    this.#ready = [];
  }

  #begin(): void {
    const [first] = this.#line;
    if (first === undefined) return;
    let readyBytes = this.#ready.reduce((sum, { length }) => sum + length, 0);
    while (readyBytes > 0 && readyBytes + first.bytes > READY_BYTES_MAX) {
      readyBytes -= this.#ready.shift()?.length ?? 0;
    }
    this.#write(new Uint8Array(first.bytes), 0);
  }

  #write(memory: Uint8Array, from: number): void {
    this.#cancelPart = this.#clock.soon(() => {
      this.#cancelPart = null;
      const to = Math.min(from + PART_BYTES, memory.length);
      memory.fill(0, from, to);
      if (to < memory.length) {
        this.#write(memory, to);
        return;
      }
      this.#ready.push(memory);
      this.#line.shift()?.done();
      this.#begin();
    });
  }
}

/** It holds so many bytes, and keeps no more than as much again in memory with them. */
function isFit(memory: Uint8Array, bytes: number): boolean {
  return bytes <= memory.length && bytes >= memory.length / 2;
}
