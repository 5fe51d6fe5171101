/**
 * Acknowledgements of one batch, sent while its handler works on: one call at a time, each with all
 * that was settled meanwhile. So a handler does not wait for the network between two messages, and
 * a worker that dies repeats little. The first call waits for a moment: a batch whose handler is
 * quick is acknowledged in one call.
 */
import { type AckStatus, ack } from '../messages/acks.js';
import type { Message } from '../messages/message.js';
import type { Transport } from '../transport/transport.js';

/** In the broker's answer for a message. */
const LEASE_OVER = 'expired lease';
/** A handler that is slower than this has its messages acknowledged before its batch ends. */
const SETTLED_MS = 10;

interface Settled {
  readonly message: Message;
  readonly status: AckStatus;
  readonly error: string | undefined;
}

export class Settlement {
  readonly #transport: Transport;
  readonly #onLost: (partitionId: string) => void;
  #settled: Settled[] = [];
  #sending: Promise<void> | null = null;
  #cancelTimer: (() => void) | null = null;

  /** `onLost`: another consumer has the partition, or will. */
  constructor(transport: Transport, onLost: (partitionId: string) => void = () => undefined) {
    this.#transport = transport;
    this.#onLost = onLost;
  }

  settle(messages: readonly Message[], status: AckStatus, error?: string): void {
    for (const message of messages) this.#settled.push({ message, status, error });
    if (this.#sending !== null || this.#settled.length === 0) return;
    this.#cancelTimer ??= this.#transport.platform.after(SETTLED_MS, () => this.#begin());
  }

  /** Resolves when all is sent. It never rejects: what could not be settled is delivered again. */
  async done(): Promise<void> {
    this.#begin();
    while (this.#sending !== null) await this.#sending;
  }

  #begin(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#settled.length > 0) this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    while (this.#settled.length > 0) {
      const settled = this.#settled;
      this.#settled = [];
      await this.#sendOne(settled);
    }
    this.#sending = null;
  }

  async #sendOne(settled: readonly Settled[]): Promise<void> {
    const { logger } = this.#transport.settings;
    const items = settled.map(({ message, status, error }) => {
      const { transactionId, partitionId, leaseId, consumerGroup } = message;
      const _status = status === true ? 'completed' : status === false ? 'failed' : status;
      const names = { transactionId, partitionId, leaseId, consumerGroup, _status };
      return error === undefined ? names : { ...names, _error: error };
    });
    try {
      const results = await ack(this.#transport, items, true, {});
      results.forEach(({ success, error, transactionId }, i) => {
        if (success) return;
        logger.warn('an ack was refused; the message is delivered again', { transactionId, error });
        if (error?.includes(LEASE_OVER)) this.#onLost(items[i]?.partitionId ?? '');
      });
    } catch (error) {
      logger.warn('an ack failed; its messages are delivered again when their lease ends', {
        messages: items.length,
        error: String(error),
      });
    }
  }
}

/** The text that a dead letter keeps. A program may throw what has no text. */
export function errorText(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return 'what was thrown has no text';
  }
}
