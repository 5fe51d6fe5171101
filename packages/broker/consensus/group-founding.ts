/**
 * How a group begins. Every founder writes the same first entry: the configuration that names them
 * all, at index 1 of term 1. It is committed by definition, elections begin with term 2, and who
 * joins later finds the founders where it finds everything else, in the log.
 */

import type { Membership } from '@svc/engine';
import {
  type Configuration,
  configuration,
  decodeConfiguration,
  encodeConfiguration,
  type NodeId,
} from '@svc/raft';
import type { Log, LogEntry } from '@svc/storage';
import type { Config } from '../config/config.js';
import { memberId } from '../config/member-id.js';
import { CONFIGURATION } from './consensus-storage.js';
import type { Founding } from './forming-record.js';
import { encodeAddresses } from './group-addresses.js';

const FOUNDING_INDEX = 1;
const FOUNDING_TERM = 1;
const FOUNDER_INCARNATION = 0;

/** Founders that asked no other: the nodes of the peer list, in their first life; no list: one. */
export function foundersOf(self: number, { peers }: Pick<Config, 'peers'>): Founding {
  const numbers = peers.length === 0 ? [self] : peers.map(({ id }) => id);
  const founders = numbers.map((number) => memberId(number, FOUNDER_INCARNATION));
  return { founders: founders.sort((one, other) => one - other), peers };
}

export function foundingEntry({ founders, peers }: Founding): LogEntry {
  return {
    index: FOUNDING_INDEX,
    term: FOUNDING_TERM,
    type: CONFIGURATION,
    data: encodeConfiguration(configuration(founders), encodeAddresses(peers)),
  };
}

/** The members after the entry that the checkpoint ends with. */
export interface KnownMembers {
  readonly configuration: Configuration;
  /** The entry that brought it; 0 before any. */
  readonly index: number;
}

/**
 * `stored` is what the state says. Without it the log is still to say it; only a directory of an
 * earlier build has a log without a founding entry, and its node was always alone.
 */
export function knownMembers(
  stored: Membership | undefined,
  log: Log,
  self: NodeId,
  joined: boolean,
): KnownMembers {
  if (stored !== undefined) {
    return { configuration: decodeConfiguration(stored.data).configuration, index: stored.index };
  }
  const alone = !joined && beginsWithoutFounding(log);
  return { configuration: configuration(alone ? [self] : []), index: 0 };
}

/** A log that begins later says nothing: its members stood in a state that is lost. */
function beginsWithoutFounding(log: Log): boolean {
  if (log.firstIndex !== FOUNDING_INDEX || log.lastIndex === 0) return false;
  const [first] = log.entries(FOUNDING_INDEX, FOUNDING_INDEX + 1, 0);
  return first?.type !== CONFIGURATION;
}
