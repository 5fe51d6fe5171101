/**
 * What carries a request to the front and its answer back. There are two: a socket of the native
 * layer (`uws.ts`) and a call in memory (`memory-call.ts`). An exchange, the reader of a body and
 * all that stands behind them know these interfaces and not which of the two it is, so that a
 * request has one way through the front whichever way it came.
 */

/** Names and values. */
export type Headers = readonly (readonly [string, string])[];

/** A chunk is lent for the call: whoever keeps bytes copies them. */
export type OnBodyData = (chunk: ArrayBuffer | Uint8Array, isLast: boolean) => void;

export function bytesOfChunk(chunk: ArrayBuffer | Uint8Array): Uint8Array {
  return chunk instanceof ArrayBuffer ? new Uint8Array(chunk) : chunk;
}

/** Where a body's bytes come from. */
export interface BodySource {
  onData(handler: OnBodyData): unknown;
}

/** Only readable until the request handler returns. */
export interface TransportRequest {
  /** Undefined when the URL has no `?`. */
  getQuery(): string | undefined;
  getUrl(): string;
  getCaseSensitiveMethod(): string;
  /** Every header in the order they came, names in small letters; calls back in this turn. */
  forEach(visit: (lowerCaseName: string, value: string) => void): void;
}

export interface TransportResponse extends BodySource {
  /** What follows the version in the first line; headers may follow it, each behind a line end. */
  writeStatus(status: string | ArrayBuffer): TransportResponse;
  writeHeader(name: string, value: string): TransportResponse;
  end(body?: string | Uint8Array, closeConnection?: boolean): TransportResponse;
  /**
   * Writes no Content-Length. Its parameters are left out on purpose: with a length the response of
   * the native layer never completes, and `undefined` for one is written as 2^63.
   */
  endWithoutBody(): TransportResponse;
  /** [all of it was taken or queued, the response is complete] */
  tryEnd(bodyOrRest: Uint8Array, totalSize: number): [boolean, boolean];
  /** Bytes of the body that were taken so far. */
  getWriteOffset(): number;
  onWritable(handler: (offset: number) => boolean): TransportResponse;
  onAborted(handler: () => void): TransportResponse;
  onData(handler: OnBodyData): TransportResponse;
  /**
   * Nothing is read, and no time limit runs, until `resume`. Called from within `onData`'s handler
   * it counts once the socket holds nothing more, which may be the whole body later. Called from
   * within the handler of the request it does not keep the idle limit from beginning behind that
   * handler. `resume` begins the idle limit anew, the last byte of a body ends it.
   */
  pause(): TransportResponse;
  resume(): TransportResponse;
  /** Runs the abort handler. */
  close(): TransportResponse;
  /** 4 or 16 bytes; none when the connection is reset or closed. */
  getRemoteAddress(): ArrayBuffer;
  cork(write: () => void): TransportResponse;
}
