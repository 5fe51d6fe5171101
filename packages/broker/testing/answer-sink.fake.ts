/** A standby at the other end of a read, as far as it takes the answer in. */
import { crc32 } from 'node:zlib';
import { AnswerReader, type SourceEntry } from '@svc/standby';
import type { AnswerSink } from '../standby/source-reads.js';

const ENTRY_BYTES_MAX = 64 * 1024 * 1024;

export class FakeSink implements AnswerSink {
  readonly entries: SourceEntry[] = [];
  state: 'open' | 'ended' | 'cut' = 'open';
  kind = '';
  clusterId = '';
  upto = -1;
  endTerm = -1;
  term: number | null = null;
  /** Written and not taken yet. */
  heldBytes = 0;
  roomBytes = Number.POSITIVE_INFINITY;
  readonly #reader: AnswerReader;

  constructor(after: number) {
    this.#reader = new AnswerReader(
      { after, entryBytesMax: ENTRY_BYTES_MAX },
      {
        onHead: ({ kind, clusterId, term }) => {
          this.clusterId = clusterId;
          this.kind = kind;
          this.term = term;
        },
        onEntry: (entry) => this.entries.push(entry),
        onEnd: ({ upto, term }) => {
          this.upto = upto;
          this.endTerm = term;
        },
      },
      crc32,
    );
  }

  write(parts: readonly Uint8Array[]): boolean {
    this.#mustBeOpen();
    for (const part of parts) {
      this.heldBytes += part.length;
      const fault = this.#reader.push(part);
      if (fault !== null) throw new Error(fault);
    }
    return this.heldBytes <= this.roomBytes;
  }

  end(): void {
    this.#mustBeOpen();
    if (!this.#reader.isWhole) throw new Error('an answer ended before its end');
    this.state = 'ended';
  }

  cut(): void {
    this.#mustBeOpen();
    this.state = 'cut';
  }

  get indexes(): number[] {
    return this.entries.map(({ index }) => index);
  }

  #mustBeOpen(): void {
    if (this.state !== 'open') throw new Error(`the answer is ${this.state}`);
  }
}
