/**
 * One end of the way between the core thread and a front thread: frames both ways, in turns of the
 * loop.
 *
 * The job: a message is a few microseconds of work, and to wake a loop that waits for its sockets
 * costs as much (4 us of processor on each side, by a port and by `Atomics.waitAsync`). So
 * what a turn of the loop sends is published when the turn ends, and the other side is woken only
 * when it sleeps. A side that was given something looks once more in its next turn before it
 * sleeps: under load nobody sleeps, and nobody is woken.
 *
 * What must hold:
 * - A turn takes TURN_BYTES_MAX at most, and frames for TURN_MS at most, so that sockets, timers
 *   and other threads have their turns. Most frames take microseconds, but one may bring a read of
 *   some tenths of a millisecond, and hundreds of clients may ask for it at once. Time is looked at
 *   between frames, every few of them.
 * - What finds no room in the ring goes on when the other side has made room, and wakes this one.
 *   The ring bounds what is between the threads; bodies and answers that wait before it are counted
 *   where they were admitted. A request whose client goes while all of its frame waits is dropped
 *   with its body: nothing of it has been asked.
 * - A closed end sends nothing and hears nothing.
 */
import { FrameReceiver, FrameSender, type OnFrame } from './frames.js';
import { RingReader, RingWriter } from './ring.js';

export interface ChannelOptions {
  readonly outward: SharedArrayBuffer;
  readonly inward: SharedArrayBuffer;
  /** Wakes the loop of the other side, which then calls `woken`. */
  readonly wake: () => void;
  /** Runs what it is given in the next turn of the loop. */
  readonly soon: (work: () => void) => unknown;
  readonly onFrame: OnFrame;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Called before what was sent in a turn is published: the last moment to send more. */
  readonly beforePublish?: () => void;
}

/** Taken in one turn: a millisecond of copying and decoding. */
const TURN_BYTES_MAX = 1024 * 1024;
const TURN_MS = 2;

export class Channel {
  readonly #options: ChannelOptions;
  readonly #writer: RingWriter;
  readonly #reader: RingReader;
  readonly #sender: FrameSender;
  readonly #receiver: FrameReceiver;
  #isArmed = false;
  #hasSent = false;
  #isClosed = false;
  /** The end of the time for this turn's frames; null: the clock was not looked at. */
  #untilMs: number | null = null;
  readonly #turn = () => this.#run();

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#writer = new RingWriter(options.outward);
    this.#reader = new RingReader(options.inward);
    this.#sender = new FrameSender(this.#writer);
    const onFrame: OnFrame = (kind, id, content) => {
      if (!this.#isClosed) options.onFrame(kind, id, content);
    };
    this.#receiver = new FrameReceiver(this.#reader, onFrame, () => this.#hasTime());
  }

  /** Looks for what has come, and from then on is woken. */
  open(): void {
    this.#arm();
  }

  /**
   * The first part is lent, the others are taken by reference until the other side has them. True:
   * some of it waits for room in the ring, and `drop` may take it back.
   */
  send(kind: number, id: number, parts: readonly Uint8Array[]): boolean {
    if (this.#isClosed) return false;
    const waits = this.#sender.send(kind, id, parts);
    this.#hasSent = true;
    this.#arm();
    return waits;
  }

  /** True: the frame with this id was not sent, and will not be. */
  drop(id: number): boolean {
    return this.#sender.drop(id);
  }

  /** Bytes of frames that find no room in the ring. */
  get waitingBytes(): number {
    return this.#sender.waitingBytes;
  }

  /** Everything that was sent stands in the ring or was taken. */
  get idle(): boolean {
    return this.#sender.idle;
  }

  /** The other side has something for this one, or has made room. */
  woken(): void {
    if (this.#isClosed || this.#isArmed) return;
    this.#reader.wake();
    this.#run();
  }

  close(): void {
    this.#isClosed = true;
  }

  #arm(): void {
    if (this.#isArmed || this.#isClosed) return;
    this.#isArmed = true;
    this.#options.soon(this.#turn);
  }

  /** The time begins with the first look, so a turn of few frames reads no clock. */
  #hasTime(): boolean {
    const nowMs = this.#options.nowMs();
    this.#untilMs ??= nowMs + TURN_MS;
    return nowMs < this.#untilMs;
  }

  #run(): void {
    this.#isArmed = false;
    if (this.#isClosed) return;
    this.#untilMs = null;
    const received = this.#receiver.receive(TURN_BYTES_MAX);
    const isAwaited = received > 0 && this.#reader.release();
    const isAsleep = this.#publish();
    if (isAwaited || isAsleep) this.#options.wake();
    if (received > 0) this.#arm();
    else if (!this.#reader.sleep()) this.#arm();
  }

  /** True: the other side sleeps. */
  #publish(): boolean {
    if (!this.#hasSent && this.#sender.idle) return false;
    this.#options.beforePublish?.();
    this.#hasSent = false;
    this.#sender.go();
    let isAsleep = this.#writer.publish();
    // Room may have been made between the writing and the waiting.
    while (!this.#sender.idle && !this.#writer.awaitRoom()) {
      this.#sender.go();
      isAsleep = this.#writer.publish() || isAsleep;
    }
    return isAsleep;
  }
}
