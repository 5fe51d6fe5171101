/**
 * Buffered pushes of one queue: small pushes of a program leave as large ones.
 *
 * What must hold:
 * - Messages are stored in the order in which they were pushed. So one batch is on its way at a
 *   time, and one that failed goes back to the front before anything else is sent.
 * - Nothing is lost: an item leaves the buffer when the broker stored it, or when the broker will
 *   never store it (a 4xx); then it is reported, and by `close` too.
 * - Memory is bounded: at `maxSize` a push waits for room. Pushes that wait are let in in order.
 *
 * Batches of one buffer are sent one after the other, also where their partitions differ: a second
 * batch on its way would have to be taken back when the first one fails.
 */
import { refuseUnknown, whole } from '../base/checks.js';
import { type Duration, durationMs } from '../base/durations.js';
import { ClientError } from '../base/errors.js';
import { onAbort } from '../base/on-abort.js';
import { sleep } from '../base/platform.js';
import type { Transport } from '../transport/transport.js';
import { type PushItem, type ReadyItem, sendItems } from './push-items.js';

export interface BufferOptions {
  /** Messages of a batch: 100. */
  readonly messageCount?: number;
  /** A batch goes out so long after its first message: 1 s. */
  readonly timeMillis?: Duration;
  /** Messages that the buffer holds at most: four batches. */
  readonly maxSize?: number;
  /** Before a batch that failed is tried again: 250 ms. */
  readonly retryDelayMillis?: Duration;
  /** Gets what the broker will never store. It is logged without. */
  readonly onError?: (items: readonly PushItem[], error: ClientError) => void;
}

export interface BufferStats {
  readonly queue: string;
  readonly messages: number;
  /** Pushes that wait for room. */
  readonly waiting: number;
  /** Messages that the broker will never store. */
  readonly refused: number;
}

/** What could not be sent, and why. */
export interface Unsent {
  readonly queue: string;
  readonly items: readonly PushItem[];
  readonly error: unknown;
}

/** A batch of so many characters, of three bytes each, is still a request that the broker takes. */
const CHARACTERS_MAX = 16 * 1024 * 1024;
const TOO_LARGE = 'larger than an entry of the log';

export interface BufferLimits {
  readonly messageCount: number;
  readonly timeMs: number;
  readonly maxSize: number;
  readonly retryDelayMs: number;
  readonly onError: BufferOptions['onError'];
}

export function bufferLimits(options: BufferOptions): BufferLimits {
  refuseUnknown(options, 'messageCount timeMillis maxSize retryDelayMillis onError', 'buffer');
  const messageCount = whole(options.messageCount ?? 100, 'buffer.messageCount', 1, 100_000);
  const maxSize = whole(options.maxSize ?? 4 * messageCount, 'buffer.maxSize');
  if (maxSize < messageCount) {
    const text = `buffer.maxSize is ${maxSize}, less than a batch`;
    throw new TypeError(`${text}: write at least messageCount, which is ${messageCount}`);
  }
  const timeMs = durationMs(options.timeMillis ?? 1000, 'buffer.timeMillis', 1);
  const retryDelayMs = durationMs(options.retryDelayMillis ?? 250, 'buffer.retryDelayMillis', 1);
  return { messageCount, timeMs, maxSize, retryDelayMs, onError: options.onError };
}

export class Buffer {
  readonly queue: string;
  readonly #transport: Transport;
  readonly #limits: BufferLimits;
  #items: ReadyItem[] = [];
  /** Pushes enter one after the other. */
  #entering: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** Called when there is room again. */
  #onRoom: (() => void) | null = null;
  #cancelTimer: (() => void) | null = null;
  #sending: Promise<void> | null = null;
  /** Messages of the next batch: fewer while one that the broker does not take is looked for. */
  #most: number;
  /** Messages that left, stored or refused. */
  #gone = 0;
  /** The last failure of a batch that is still to be sent. */
  #failure: unknown = null;
  /** Nothing more comes in: pushes that wait for room reject. */
  #isEnded = false;
  readonly #refused: Unsent[] = [];
  #refusedCount = 0;

  constructor(transport: Transport, queue: string, limits: BufferLimits) {
    this.#transport = transport;
    this.queue = queue;
    this.#limits = limits;
    this.#most = limits.messageCount;
  }

  /**
   * Takes all items in at once where there is room for them, and gives their number; otherwise a
   * promise of that. Items that a schema still looks at keep the place of their push.
   */
  add(items: readonly ReadyItem[] | Promise<readonly ReadyItem[]>): number | Promise<number> {
    if (!(items instanceof Promise) && this.#waiting === 0 && !this.#isEnded) {
      if (this.#items.length + items.length <= this.#limits.maxSize) {
        for (const item of items) this.#items.push(item);
        this.#schedule();
        return items.length;
      }
    }
    this.#waiting++;
    const entered = this.#entering.then(async () => this.#enter(await items));
    const left = () => {
      this.#waiting--;
    };
    this.#entering = entered.then(left, left);
    return Promise.all([items, entered]).then(([{ length }]) => length);
  }

  /**
   * Sends what was pushed by now, also what still waits for room; rejects when a batch failed,
   * which is kept at the front.
   */
  async flush(): Promise<void> {
    let until = Number.POSITIVE_INFINITY;
    const entered = () => {
      until = this.#gone + this.#items.length;
    };
    const entering = this.#waiting === 0 ? entered() : this.#entering.then(entered);
    while (this.#gone < until) {
      await (this.#items.length === 0 ? entering : this.#send());
      if (this.#failure !== null) throw this.#failure;
    }
  }

  /** Tries until all is sent or the signal is aborted; gives what was not. */
  async drain(signal: AbortSignal): Promise<readonly Unsent[]> {
    const ended = aborted(signal);
    await Promise.race([this.#entering, ended]);
    while (this.#items.length > 0 && !signal.aborted) {
      await Promise.race([this.#send(), ended]);
      if (this.#failure === null || signal.aborted) continue;
      await sleep(this.#transport.platform, this.#limits.retryDelayMs, signal).catch(() => null);
    }
    this.#isEnded = true;
    this.#onRoom?.();
    this.#cancelTimer?.();
    const items = this.#items.map(({ given }) => given);
    const left = items.length > 0 ? [{ queue: this.queue, items, error: this.#failure }] : [];
    return [...this.#refused, ...left];
  }

  stats(): BufferStats {
    const { queue } = this;
    const messages = this.#items.length;
    return { queue, messages, waiting: this.#waiting, refused: this.#refusedCount };
  }

  async #enter(items: readonly ReadyItem[]): Promise<void> {
    for (const [i, item] of items.entries()) {
      while (!this.#isEnded && this.#items.length >= this.#limits.maxSize) {
        await new Promise<void>((resolve) => {
          this.#onRoom = resolve;
        });
      }
      if (this.#isEnded) {
        const text = `${items.length - i} of ${items.length} messages found no room before close()`;
        throw new ClientError(text, { code: 'closed' });
      }
      this.#items.push(item);
      this.#schedule();
    }
  }

  /** A full batch goes at once, a part of one when its time has come. */
  #schedule(): void {
    if (this.#isEnded || this.#sending !== null || this.#items.length === 0) return;
    const isFull = this.#items.length >= this.#limits.messageCount;
    if ((isFull || this.#most < this.#limits.messageCount) && this.#failure === null) {
      void this.#send();
      return;
    }
    const { timeMs, retryDelayMs } = this.#limits;
    const ms = this.#failure === null ? timeMs : retryDelayMs;
    this.#cancelTimer ??= this.#transport.platform.after(ms, () => void this.#send());
  }

  /** One batch; those who come while it is on its way wait for the same. */
  #send(): Promise<void> {
    this.#sending ??= this.#sendBatch().finally(() => {
      this.#sending = null;
      this.#onRoom?.();
      this.#onRoom = null;
      this.#schedule();
    });
    return this.#sending;
  }

  async #sendBatch(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const batch = this.#nextBatch();
    try {
      const results = await sendItems(this.#transport, batch);
      const lost = batch.filter((_, i) => results[i]?.status === 'error');
      this.#settle(batch, lost, new ClientError(TOO_LARGE));
    } catch (error) {
      if (isFinal(error as ClientError)) return this.#settle(batch, batch, error);
      this.#failure = error;
      const facts = { queue: this.queue, messages: batch.length, error: String(error) };
      this.#transport.settings.logger.warn('a batch failed and is kept', facts);
    }
  }

  #nextBatch(): readonly ReadyItem[] {
    let [count, characters] = [0, 0];
    for (const { text } of this.#items) {
      characters += text.length;
      if (count === this.#most || (count > 0 && characters > CHARACTERS_MAX)) break;
      count++;
    }
    return this.#items.slice(0, count);
  }

  /**
   * One message can be why its whole batch is refused, and why those behind it in its partition
   * are. So what was refused goes out again in halves, until a message is refused that is alone;
   * then the batches grow again.
   */
  #settle(batch: readonly ReadyItem[], refused: readonly ReadyItem[], error: unknown): void {
    this.#failure = null;
    const isFound = batch.length === 1;
    const kept = isFound ? [] : refused;
    if (kept.length > 0) this.#most = Math.ceil(batch.length / 2);
    else if (!isFound || refused.length === 0) {
      this.#most = Math.min(this.#most * 2, this.#limits.messageCount);
    }
    if (kept.length === 0) this.#items.splice(0, batch.length);
    else this.#items = [...kept, ...this.#items.slice(batch.length)];
    this.#gone += batch.length - kept.length;
    if (isFound && refused.length > 0) this.#refuse(refused, error);
  }

  #refuse(items: readonly ReadyItem[], error: unknown): void {
    const given = items.map((item) => item.given);
    // As much is kept for the report of `close` as the buffer may hold.
    if (this.#refusedCount < this.#limits.maxSize) {
      this.#refused.push({ queue: this.queue, items: given, error });
    }
    this.#refusedCount += given.length;
    const { logger } = this.#transport.settings;
    const { onError } = this.#limits;
    const facts = { queue: this.queue, messages: given.length, error: String(error) };
    if (onError === undefined) {
      logger.error('the broker does not take a message', facts);
      return;
    }
    // In a step of its own: what the program throws is no failure of the buffer.
    Promise.resolve()
      .then(() => onError(given, error as ClientError))
      .catch(() => logger.error('onError of a buffer threw', facts));
  }
}

/**
 * It is about the messages, and the same ones would be refused again. Any other 4xx is about the
 * credential, the address or what stands between: that may change.
 */
function isFinal({ status }: ClientError): boolean {
  return status === 400 || status === 413;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    onAbort(signal, resolve);
  });
}
