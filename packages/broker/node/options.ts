/** What a node is given when it is opened. */
import type { TimerClock, TransactionIndex } from '@svc/engine';
import type { LoopShare } from '@svc/http';
import type { NodeSeries } from '../analytics/node-series.js';
import type { Peer } from '../config/peers.js';
import type { DirectoryOptions } from '../directory/node-directory.js';
import type { LogSpaceSettings } from '../log/space.js';
import type { AskCandidate } from '../membership/candidate.js';
import type { PeerCalls } from '../peers/calls.js';
import type { PeerPort } from '../peers/port.js';
import type { SourcePort } from '../standby/source-port.js';

export interface NodeOptions extends DirectoryOptions {
  /** For tests; the index knows best. */
  readonly transactionIndex?: Parameters<typeof TransactionIndex.load>[1];
  /** The way to the other nodes; null or absent when there are none. */
  readonly peers?: PeerPort | null;
  /** Questions to other nodes and theirs to this one; null or absent when there are none. */
  readonly calls?: PeerCalls | null;
  /** What the way to the others did not take or not send, by reason. */
  readonly peerCounters?: () => Readonly<Record<string, number>>;
  /** Asks a node that need not be a member; without it nobody can be added. */
  readonly askCandidate?: AskCandidate | null;
  /** Entries between two comparisons of the nodes' states; DIGEST_EVERY unless given. */
  readonly digestEvery?: number;
  /** Rows that may have changed since the last freeze; CHANGED_ROWS_MAX unless given. */
  readonly changedRowsMax?: number;
  /** Instead of what the configuration says; for tests. */
  readonly logSpace?: Partial<LogSpaceSettings>;
  /** The clock of the process, which may open its node several times; absent: one of its own. */
  readonly timerClock?: TimerClock;
  /** Rows that changes of groups look at in one turn; for tests. */
  readonly groupChangeRowsMax?: number;
  /** Where the members are to be reached, at the start and whenever it changes. */
  readonly onMembers?: (members: readonly Peer[]) => void;
  /** The way to the nodes of a source; null or absent when none is named. */
  readonly source?: SourcePort | null;
  /** The share of the loop that the node runs on; one of its own without it. */
  readonly loop?: LoopShare;
  /** What the process keeps of its past; nothing without it. */
  readonly series?: NodeSeries | null;
  /** The node is to be stopped and opened again: it has received a snapshot. */
  readonly onReopen?: () => void;
}
