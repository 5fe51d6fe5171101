/**
 * What the seed of a standby asks of a node of its source: portions of rows, and entries of the
 * log. Each question is a promise, because nothing else runs in that node yet.
 *
 * What must hold: a node that answers nothing, something else or half of it is a `SourceFault` with
 * its address and the reason, and holds one portion or one entry in memory at most.
 */
import {
  type AnswerEnd,
  type AnswerHead,
  AnswerReader,
  encodeReadRequest,
  encodeSeedRequest,
  parseSeedHead,
  READ_PATH,
  type ReadRequest,
  SEED_HEAD_BYTES_MAX,
  SEED_PATH,
  type SeedHead,
  type SeedRequest,
  type SourceEntry,
} from '@svc/standby';
import { lastingCrc } from '@svc/storage';
import { decodeFrame, type SnapshotChunk, type SnapshotRefused } from '../peers/frames.js';
import type { Cancel, Clock } from '../system/clock.js';
import { type SourceCall, type SourcePath, type SourcePort, urlOf } from './source-port.js';

/** The source makes a checkpoint before it has rows; after that each portion comes at once. */
const SILENCE_MS = 60_000;
const LINE_END = 10;
/** A portion of rows, or one row with the longest value that there can be. */
const PORTION_BYTES_MAX = 96 * 1024 * 1024;

export class SourceFault extends Error {
  readonly code = 'source_fault';
}

export interface RowsAnswer {
  readonly head: SeedHead;
  readonly content: SnapshotChunk | SnapshotRefused;
}

export interface EntriesAnswer {
  readonly head: AnswerHead;
  readonly end: AnswerEnd;
}

export class SeedClient {
  readonly #port: SourcePort;
  readonly #clock: Clock;
  readonly #entryBytesMax: number;

  constructor(port: SourcePort, clock: Clock, entryBytesMax: number) {
    this.#port = port;
    this.#clock = clock;
    this.#entryBytesMax = entryBytesMax;
  }

  /** @throws SourceFault */
  async rows(address: string, request: SeedRequest): Promise<RowsAnswer> {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    await this.#ask(address, SEED_PATH, encodeSeedRequest(request), (piece) => {
      bytes += piece.length;
      pieces.push(piece);
      return bytes > PORTION_BYTES_MAX ? `it sends more than ${PORTION_BYTES_MAX} bytes` : null;
    });
    const answer = rowsAnswerOf(Buffer.concat(pieces));
    if (typeof answer === 'string') throw faultOf(address, answer);
    return answer;
  }

  /** `take`: each entry, in order; the next ones wait for it. @throws SourceFault */
  async entries(
    address: string,
    request: ReadRequest,
    take: (entry: SourceEntry) => void,
  ): Promise<EntriesAnswer> {
    let head: AnswerHead | null = null;
    let end: AnswerEnd | null = null;
    const reader = new AnswerReader(
      { after: request.after, entryBytesMax: this.#entryBytesMax },
      {
        onHead: (first) => {
          head = first;
        },
        onEntry: take,
        onEnd: (last) => {
          end = last;
        },
      },
      lastingCrc,
    );
    await this.#ask(address, READ_PATH, encodeReadRequest(request), (piece) => reader.push(piece));
    const fault = reader.finish();
    if (fault !== null || head === null || end === null) {
      throw faultOf(address, fault ?? 'it ends before its end');
    }
    return { head, end };
  }

  close(): void {
    this.#port.close();
  }

  /** `take` returns what is wrong; null: go on. */
  #ask(
    address: string,
    path: SourcePath,
    body: string,
    take: (bytes: Uint8Array) => string | null,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      let cancelSilence: Cancel = () => {};
      let call: SourceCall | null = null;
      const fail = (why: string) => {
        cancelSilence();
        call?.close();
        reject(faultOf(address, why));
      };
      const listen = () => {
        cancelSilence();
        cancelSilence = this.#clock.after(SILENCE_MS, () => {
          fail(`no answer within ${SILENCE_MS / 1000}s`);
        });
      };
      listen();
      call = this.#port.ask(address, path, body, {
        onBytes: (bytes) => {
          listen();
          const wrong = take(bytes);
          if (wrong !== null) fail(wrong);
        },
        onEnd: () => {
          cancelSilence();
          resolve();
        },
        // It names the address itself.
        onFailure: (error) => {
          cancelSilence();
          reject(new SourceFault(error));
        },
      });
    });
  }
}

function faultOf(address: string, why: string): SourceFault {
  return new SourceFault(`${urlOf(address)}: ${why}`);
}

/** A text says what is wrong. */
function rowsAnswerOf(bytes: Uint8Array): RowsAnswer | string {
  const end = bytes.indexOf(LINE_END);
  if (end === -1 || end > SEED_HEAD_BYTES_MAX) return 'it is not the answer of a source';
  const head = parseSeedHead(Buffer.from(bytes.subarray(0, end)).toString('utf8'));
  if (head === null) return 'it is not the answer of a source';
  const frame = decodeFrame(bytes.subarray(end + 1), PORTION_BYTES_MAX);
  if (typeof frame === 'string') return `its rows are not in the form of rows (${frame})`;
  const { content } = frame;
  const isOfRows = content.kind === 'snapshot-chunk' || content.kind === 'snapshot-refused';
  return isOfRows ? { head, content } : 'it answers something else';
}
