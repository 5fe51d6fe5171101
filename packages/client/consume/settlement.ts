/**
 * Acknowledgements of one batch, sent while its handler works on: one call at a time, each with all
 * that was settled meanwhile. So a handler does not wait for the network between two messages, and
 * a worker that dies repeats little. The first call waits for a moment: a batch whose handler is
 * quick is acknowledged in one call, that of the next pop (`owed-acks.ts`).
 */
import type { AckStatus } from '../messages/acks.js';
import type { Message } from '../messages/message.js';
import type { Transport } from '../transport/transport.js';
import { type OwedAcks, type Settled, sendSettled } from './owed-acks.js';

/** A handler that is slower than this has its messages acknowledged before its batch ends. */
const SETTLED_MS = 10;

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

  /**
   * Resolves when all that was begun to be sent is; the rest is owed, and goes with the next pop.
   */
  async leave(owed: OwedAcks): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    while (this.#sending !== null) await this.#sending;
    owed.add(this.#settled);
    this.#settled = [];
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
      await sendSettled(this.#transport, settled, { onLost: this.#onLost });
    }
    this.#sending = null;
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
