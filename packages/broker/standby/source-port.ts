/**
 * The way from a standby to the nodes of its source, as the follower's driver sees it: a request
 * goes out, the bytes of an answer come in. HTTP stands behind it in a process
 * (`source-client.ts`), a seeded network in the simulator.
 */
import type { READ_PATH, SEED_PATH } from '@svc/standby';

/** What becomes of one request. Nothing of it is called before `ask` has returned. */
export interface AnswerListener {
  /** A part of the answer, of any size. */
  onBytes(bytes: Uint8Array): void;
  /** The node says that the answer is complete. Nothing follows. */
  onEnd(): void;
  /** There is no answer, or no more of it. Nothing follows. */
  onFailure(error: string): void;
}

export interface SourceCall {
  /** Stops reading; what was read already may still be told. */
  pause(): void;
  resume(): void;
  /** Nothing is told any more. */
  close(): void;
}

export type SourcePath = typeof READ_PATH | typeof SEED_PATH;

export interface SourcePort {
  /** Asks the node at `host:port`; `body` is the JSON of a read, or of a request for rows. */
  ask(address: string, path: SourcePath, body: string, listener: AnswerListener): SourceCall;
  close(): void;
}

/** How texts name a node of the source. */
export const urlOf = (address: string) => `http://${address}`;
