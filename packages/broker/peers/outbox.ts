/**
 * What leaves by one connection: frames gather here and go out in one write. Small parts are copied
 * together, because a buffer of its own costs a write more than its copy does; large ones go by
 * reference.
 *
 * The bytes that wait, here and in the socket, are bounded. One frame always fits when nothing
 * waits, or a bound below the largest frame could never send it.
 *
 * The owner of a frame's memory is told when it was sent: by the socket's own word that the last
 * byte of its write was taken, which it gives in the order of the writes, and gives with an error
 * when it cannot know. Then nobody is told anything.
 */
import type { Socket } from 'node:net';
import { LENGTH_BYTES } from './peer-frames.js';

const BLOCK_BYTES = 64 * 1024;
/** Parts up to this are copied; four of them and their lengths fit a block many times over. */
const COPIED_BYTES_MAX = 8 * 1024;
const NO_BLOCK = Buffer.alloc(0);

/**
 * Until when frames gather. `step`: until the code that runs now is done, which is how consensus
 * sends, all at once. `turn`: until everything that the loop found to do is done, because requests
 * of many clients come each by itself, and each would be a write.
 */
export type Gathering = 'step' | 'turn';

export class PeerOutbox {
  readonly #socket: Socket;
  readonly #bytesMax: number;
  readonly #gathering: Gathering;
  /** Filled from the front; what was given to the socket is not written to again. */
  #block: Buffer = NO_BLOCK;
  /** What stands in the block from `#start` to `#end` was not given to the socket yet. */
  #start = 0;
  #end = 0;
  #buffers: Uint8Array[] = [];
  /** Called when everything that has gathered was sent. */
  #waiting: (() => void)[] = [];
  #gatheredBytes = 0;
  #isFlushing = false;
  readonly #flush = () => this.flush();

  constructor(socket: Socket, bytesMax: number, gathering: Gathering) {
    this.#socket = socket;
    this.#bytesMax = bytesMax;
    this.#gathering = gathering;
  }

  get waitingBytes(): number {
    return this.#gatheredBytes + this.#socket.writableLength;
  }

  /** False: dropped, because too much waits, and `sent` will not run. */
  send(parts: readonly Uint8Array[], sent?: () => void): boolean {
    let bytes = 0;
    for (const part of parts) bytes += part.length;
    const waiting = this.waitingBytes;
    if (waiting > 0 && waiting + bytes + LENGTH_BYTES > this.#bytesMax) return false;
    this.#room(LENGTH_BYTES);
    this.#end = this.#block.writeUInt32LE(bytes, this.#end);
    for (const part of parts) {
      if (part.length <= COPIED_BYTES_MAX) this.#copy(part);
      else this.#refer(part);
    }
    this.#gatheredBytes += LENGTH_BYTES + bytes;
    if (sent !== undefined) this.#waiting.push(sent);
    if (!this.#isFlushing) {
      this.#isFlushing = true;
      if (this.#gathering === 'step') process.nextTick(this.#flush);
      else setImmediate(this.#flush);
    }
    return true;
  }

  /** Gives what has gathered to the socket. */
  flush(): void {
    this.#isFlushing = false;
    this.#cutRun();
    const buffers = this.#buffers;
    const last = buffers.pop();
    if (last === undefined) return;
    this.#buffers = [];
    this.#gatheredBytes = 0;
    const done = this.#told();
    if (buffers.length === 0) {
      this.#socket.write(last, done);
      return;
    }
    this.#socket.cork();
    for (const buffer of buffers) this.#socket.write(buffer);
    this.#socket.write(last, done);
    this.#socket.uncork();
  }

  #told(): ((error?: Error | null) => void) | undefined {
    const waiting = this.#waiting;
    if (waiting.length === 0) return undefined;
    this.#waiting = [];
    return (error) => {
      if (error === undefined || error === null) for (const sent of waiting) sent();
    };
  }

  #copy(part: Uint8Array): void {
    this.#room(part.length);
    this.#block.set(part, this.#end);
    this.#end += part.length;
  }

  #refer(part: Uint8Array): void {
    this.#cutRun();
    this.#buffers.push(part);
  }

  #room(bytes: number): void {
    if (this.#block.length - this.#end >= bytes) return;
    this.#cutRun();
    this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#start = 0;
    this.#end = 0;
  }

  #cutRun(): void {
    if (this.#end > this.#start) this.#buffers.push(this.#block.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}
