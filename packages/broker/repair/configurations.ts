/**
 * Which configurations may have been in force when an entry was committed, as far as a node can
 * know that has lost the log from this entry on (repair/decision.ts says why these are enough).
 */
import { type Membership, membershipAt, type State } from '@svc/engine';
import { type Configuration, decodeConfiguration, type NodeId } from '@svc/raft';
import { DamageError, type LogEntry } from '@svc/storage';
import { CONFIGURATION } from '../consensus/consensus-storage.js';

/** Entries read at a time. */
const READ_BYTES = 1 << 20;

export interface ConfigurationsInForce {
  readonly configurations: readonly Configuration[];
  /** Voters of the configuration before the oldest of these. */
  readonly formerVoters: readonly NodeId[];
  /** False: entries in between cannot be read, and one of them may be another configuration. */
  readonly complete: boolean;
}

const NONE: ConfigurationsInForce = { configurations: [], formerVoters: [], complete: false };

interface ReadableLog {
  readonly firstIndex: number;
  entries(from: number, to: number, bytesMax: number): readonly LogEntry[];
}

/** The configuration as of the checkpoint, and each that the log holds between it and `index`. */
export function configurationsInForce(
  state: State,
  appliedIndex: number,
  log: ReadableLog,
  index: number,
): ConfigurationsInForce {
  const known = Math.min(appliedIndex, index - 1);
  const base = membershipAt(state, known);
  // What a state that was lost would have said of the members is not known.
  if (base === undefined && log.firstIndex > 1) return NONE;
  const configurations: Configuration[] = base === undefined ? [] : [configurationOf(base)];
  const complete = readBetween(log, Math.max(known + 1, log.firstIndex), index, (entry) => {
    if (entry.type === CONFIGURATION) configurations.push(configurationOf(entry));
  });
  const former = base === undefined ? undefined : membershipAt(state, base.index - 1);
  const formerVoters = former === undefined ? [] : votersOf(configurationOf(former));
  return { configurations, formerVoters, complete };
}

export function configurationsIn(entries: readonly LogEntry[]): readonly Configuration[] {
  return entries.filter(({ type }) => type === CONFIGURATION).map(configurationOf);
}

/** False when it comes to an entry that is damaged. */
function readBetween(
  log: ReadableLog,
  from: number,
  to: number,
  onEntry: (entry: LogEntry) => void,
): boolean {
  try {
    for (let next = from; next < to; ) {
      for (const entry of log.entries(next, to, READ_BYTES)) {
        next = entry.index + 1;
        onEntry(entry);
      }
    }
    return true;
  } catch (error) {
    if (error instanceof DamageError) return false;
    throw error;
  }
}

function configurationOf({ data }: Pick<Membership, 'data'>): Configuration {
  return decodeConfiguration(data).configuration;
}

function votersOf({ voters, outgoing }: Configuration): readonly NodeId[] {
  return [...voters, ...outgoing];
}
