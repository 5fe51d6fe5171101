/**
 * Voters, learners, and the two steps by which they change.
 *
 * One node at a time may be added or removed directly, because any majority before and any majority
 * after share a node. Several at once go through a joint configuration, in which every decision
 * needs a majority of `voters` AND one of `outgoing`; leaving it drops `outgoing`.
 *
 * A configuration entry carries the resulting configuration, not the change: nothing is left for a
 * later version to interpret differently, and apply cannot fail.
 */
import { assert } from './assert.js';
import type { NodeId } from './identifiers.js';

/** All lists ascending, without repeats. `voters` and `learners` are disjoint. */
export interface Configuration {
  readonly voters: readonly NodeId[];
  /** The voters being left behind; empty unless the configuration is joint. */
  readonly outgoing: readonly NodeId[];
  readonly learners: readonly NodeId[];
  /** Voters of `outgoing` that become learners when the joint configuration is left. */
  readonly learnersNext: readonly NodeId[];
  /** Learners that a leader makes voters by itself once they have caught up. */
  readonly promoting: readonly NodeId[];
  /** The leader leaves the joint configuration by itself as soon as it is applied. */
  readonly autoLeave: boolean;
}

export interface NodeChange {
  readonly type: 'add-voter' | 'add-learner' | 'remove';
  readonly node: NodeId;
  /** The learner becomes a voter by itself once it has caught up. */
  readonly promote?: boolean;
}

export interface ConfigurationChange {
  /** Empty: leave the joint configuration. */
  readonly changes: readonly NodeChange[];
  /**
   * `auto`: joint when there is more than one change, left by itself. `joint`: always joint, left
   * by itself. `joint-manual`: always joint, left by a change without changes.
   */
  readonly transition: 'auto' | 'joint' | 'joint-manual';
  /** Carried in the entry for the host, such as the addresses of the nodes. */
  readonly context: Uint8Array;
}

export function configuration(
  voters: readonly NodeId[],
  learners: readonly NodeId[] = [],
): Configuration {
  return {
    voters: ascending(voters),
    outgoing: [],
    learners: ascending(learners),
    learnersNext: [],
    promoting: [],
    autoLeave: false,
  };
}

export function isJoint(config: Configuration): boolean {
  return config.outgoing.length > 0;
}

export function isVoter(config: Configuration, id: NodeId): boolean {
  return config.voters.includes(id) || config.outgoing.includes(id);
}

/** Every node that the leader replicates to, ascending. */
export function members(config: Configuration): readonly NodeId[] {
  return ascending([...config.voters, ...config.outgoing, ...config.learners]);
}

/** The configuration after `change`; its list of voters may be empty, which nobody may propose. */
export function changed(config: Configuration, change: ConfigurationChange): Configuration {
  const leaving = change.changes.length === 0;
  assert(isJoint(config) === leaving, `${change.changes.length} changes of ${config.outgoing}`);
  if (leaving) return withoutOutgoing(config);
  const joint = change.transition !== 'auto' || change.changes.length > 1;
  const start: Configuration = joint
    ? { ...config, outgoing: config.voters, autoLeave: change.transition !== 'joint-manual' }
    : config;
  return change.changes.reduce(withChange, start);
}

export function withoutOutgoing(config: Configuration): Configuration {
  return {
    voters: config.voters,
    outgoing: [],
    learners: ascending([...config.learners, ...config.learnersNext]),
    learnersNext: [],
    promoting: config.promoting,
    autoLeave: false,
  };
}

/** Lists ascending and without repeats, nobody in two roles, at least one voter. */
export function isPossible(config: Configuration): boolean {
  const { voters, outgoing, learners, learnersNext, promoting } = config;
  return (
    voters.length > 0 &&
    [voters, outgoing, learners, learnersNext, promoting].every(isAscending) &&
    learners.every((id) => !voters.includes(id) && !outgoing.includes(id)) &&
    learnersNext.every((id) => outgoing.includes(id) && !voters.includes(id)) &&
    promoting.every((id) => learners.includes(id))
  );
}

function isAscending(ids: readonly NodeId[]): boolean {
  return ids.every((id, place) => Number.isSafeInteger(id) && id > (ids[place - 1] ?? 0));
}

function withChange(config: Configuration, change: NodeChange): Configuration {
  const { node } = change;
  const voters = config.voters.filter((id) => id !== node);
  const learners = config.learners.filter((id) => id !== node);
  const learnersNext = config.learnersNext.filter((id) => id !== node);
  const promoting = config.promoting.filter((id) => id !== node);
  const without = { ...config, voters, learners, learnersNext, promoting };
  switch (change.type) {
    case 'add-voter':
      return { ...without, voters: ascending([...voters, node]) };
    case 'add-learner':
      // A node that still votes in `outgoing` cannot listen only: it turns learner on leaving.
      if (config.outgoing.includes(node)) {
        return { ...without, learnersNext: ascending([...learnersNext, node]) };
      }
      return {
        ...without,
        learners: ascending([...learners, node]),
        promoting: change.promote === true ? ascending([...promoting, node]) : promoting,
      };
    case 'remove':
      return without;
  }
}

function ascending(ids: readonly NodeId[]): readonly NodeId[] {
  return [...new Set(ids)].sort((one, other) => one - other);
}
