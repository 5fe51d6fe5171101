/**
 * A contract table is data that a reader can hold against the contract document line by line: the
 * document's row, what is done, what is expected. Every row runs against one node, and against
 * three, where each of its requests goes to the next node in turn, so that every route is seen to
 * work on any of them.
 */
import type { Environment } from '../process/node-under-test.js';
import type { BrokerUnderTest } from './broker-under-test.js';
import type { SectionName } from './sections.js';

export interface ContractTable {
  readonly section: SectionName;
  readonly rows: readonly ContractRow[];
  /**
   * Settings without which the rows cannot be shown. Such a table gets a node of its own, alone,
   * and its rows run one after the other. Absent: the shared node and the shared cluster.
   */
  readonly environment?: Environment;
  /** The rows are of a standby, and its source stands beside it: one node each, for them alone. */
  readonly pair?: true;
  /** Headers with which such a node shows the description of its API; absent: none are needed. */
  readonly reader?: () => Readonly<Record<string, string>>;
}

export type ContractRow = RowText & (RowExchange | RowScenario);

interface RowText {
  /** The row's name in `sections.ts`; a row of the document may have several tests. */
  readonly row: string;
  /** The requests of the row and the answers that they must have. */
  readonly does: string;
}

/** One request and its answer. */
export interface RowExchange {
  /** Brings about what the request presupposes. */
  readonly before?: (broker: BrokerUnderTest) => Promise<void>;
  /** `METHOD /path?query`; `{queue}` stands for the row's own queue, here and in a body's text. */
  readonly send: string;
  /** A string goes as it is; anything else as its JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answer: ExpectedAnswer;
}

export interface ExpectedAnswer {
  readonly status: number;
  /** The whole body, byte for byte; `{queue}` as in the request. */
  readonly text?: string;
  /** What the parsed body must contain, as `toMatchObject` reads it; `{queue}` in strings. */
  readonly body?: unknown;
  /** A part of the body's `error`. */
  readonly error?: string;
  /** The body's `code`. */
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Whatever takes more than one request; it throws when something is not as the row says. */
export interface RowScenario {
  readonly run: (broker: BrokerUnderTest) => Promise<void>;
}
