// A contender: a library that a program of Node pushes and consumes with, and its server.

export interface Contender {
  readonly name: string;
  /** The processes of its server. */
  readonly pids: readonly number[];
  /** Pushes batches of 100 until told to stop; resolves to the messages that are acknowledged. */
  readonly push: (isOver: () => boolean) => Promise<number>;
  /** So many messages are stored, and nothing else. */
  readonly fill: (messages: number) => Promise<void>;
  /** Takes what `fill` stored, a handler a message; resolves when all of it is acknowledged. */
  readonly consume: (messages: number) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface ContenderPlan {
  readonly producers: number;
  readonly concurrency: number;
  /** JSON texts, one for each message of a batch. */
  readonly payloads: readonly string[];
}

export const BATCH = 100;
