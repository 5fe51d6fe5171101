import type { LogIndex } from './identifiers.js';

/**
 * The batches handed out for apply that the host has not reported applied. Bounds what a slow apply
 * can pile up. Invariant: `bytes` is the sum over the batches; ends ascend.
 */
export class ApplyWindow {
  readonly #bytesMax: number;
  readonly #batches: { readonly end: LogIndex; readonly bytes: number }[] = [];
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Above 0 when another batch may be handed out; a batch may overshoot by its first entry. */
  get roomBytes(): number {
    return this.#bytesMax - this.#bytes;
  }

  add(end: LogIndex, bytes: number): void {
    this.#batches.push({ end, bytes });
    this.#bytes += bytes;
  }

  settle(applied: LogIndex): void {
    for (;;) {
      const oldest = this.#batches[0];
      if (oldest === undefined || oldest.end > applied) return;
      this.#batches.shift();
      this.#bytes -= oldest.bytes;
    }
  }

  clear(): void {
    this.#batches.length = 0;
    this.#bytes = 0;
  }
}
