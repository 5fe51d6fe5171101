/** The buffers of a client, one for each queue. */
import { ClientError } from '../base/errors.js';
import type { Transport } from '../transport/transport.js';
import { Buffer, type BufferLimits, type BufferStats, type Unsent } from './buffer.js';

export class Buffers {
  readonly #transport: Transport;
  readonly #buffers = new Map<string, Buffer>();
  #isClosed = false;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The limits of a queue's buffer are those of the push that was first. */
  of(queue: string, limits: BufferLimits): Buffer {
    if (this.#isClosed) {
      throw new ClientError('a push after close(): make a new Client', { code: 'closed' });
    }
    const found = this.#buffers.get(queue);
    if (found !== undefined) return found;
    const buffer = new Buffer(this.#transport, queue, limits);
    this.#buffers.set(queue, buffer);
    return buffer;
  }

  async flush(queue: string): Promise<void> {
    await this.#buffers.get(queue)?.flush();
  }

  /** Rejects with the first failure, after all were tried. */
  async flushAll(): Promise<void> {
    const flushed = await Promise.allSettled([...this.#buffers.values()].map((one) => one.flush()));
    const failed = flushed.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /** Takes nothing more in; tries to send what is there until the signal is aborted. */
  async close(signal: AbortSignal): Promise<Unsent[]> {
    this.#isClosed = true;
    const left = await Promise.all([...this.#buffers.values()].map((one) => one.drain(signal)));
    return left.flat();
  }

  stats(): BufferStats[] {
    return [...this.#buffers.values()].map((buffer) => buffer.stats());
  }
}
