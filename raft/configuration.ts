/**
 * Who votes, who only listens, and the two steps by which that changes.
 *
 * One node at a time may be added or removed directly, because any majority before and any majority
 * after share a node. Several at once go through a joint configuration, in which every decision
 * needs a majority of `voters` AND one of `outgoing`; leaving it drops `outgoing`.
 *
 * A configuration entry carries the resulting configuration, not the change: nothing is left for a
 * later version to interpret differently, and apply cannot fail.
 */
import type { NodeId } from './identifiers.js';

/** All lists ascending, without repeats. `voters` and `learners` are disjoint. */
export interface Configuration {
  readonly voters: readonly NodeId[];
  /** The voters being left behind; empty unless the configuration is joint. */
  readonly outgoing: readonly NodeId[];
  readonly learners: readonly NodeId[];
  /** Voters of `outgoing` that become learners when the joint configuration is left. */
  readonly learnersNext: readonly NodeId[];
  /** The leader leaves the joint configuration by itself as soon as it is applied. */
  readonly autoLeave: boolean;
}

export interface NodeChange {
  readonly type: 'add-voter' | 'add-learner' | 'remove';
  readonly node: NodeId;
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

/** The configuration after `change`, or undefined when the change is not possible from here. */
export function changed(
  config: Configuration,
  change: ConfigurationChange,
): Configuration | undefined {
  if (change.changes.length === 0) return isJoint(config) ? withoutOutgoing(config) : undefined;
  if (isJoint(config)) return undefined;
  const joint = change.transition !== 'auto' || change.changes.length > 1;
  const start: Configuration = joint
    ? { ...config, outgoing: config.voters, autoLeave: change.transition !== 'joint-manual' }
    : config;
  const result = change.changes.reduce(withChange, start);
  if (result.voters.length === 0) return undefined;
  return result;
}

export function withoutOutgoing(config: Configuration): Configuration {
  return {
    voters: config.voters,
    outgoing: [],
    learners: ascending([...config.learners, ...config.learnersNext]),
    learnersNext: [],
    autoLeave: false,
  };
}

export function sameConfiguration(one: Configuration, other: Configuration): boolean {
  return (
    one.autoLeave === other.autoLeave &&
    sameNodes(one.voters, other.voters) &&
    sameNodes(one.outgoing, other.outgoing) &&
    sameNodes(one.learners, other.learners) &&
    sameNodes(one.learnersNext, other.learnersNext)
  );
}

function withChange(config: Configuration, change: NodeChange): Configuration {
  const { node } = change;
  const voters = config.voters.filter((id) => id !== node);
  const learners = config.learners.filter((id) => id !== node);
  const learnersNext = config.learnersNext.filter((id) => id !== node);
  switch (change.type) {
    case 'add-voter':
      return { ...config, voters: ascending([...voters, node]), learners, learnersNext };
    case 'add-learner':
      // A node that still votes in `outgoing` cannot listen only: it turns learner on leaving.
      return config.outgoing.includes(node)
        ? { ...config, voters, learners, learnersNext: ascending([...learnersNext, node]) }
        : { ...config, voters, learners: ascending([...learners, node]), learnersNext };
    case 'remove':
      return { ...config, voters, learners, learnersNext };
  }
}

function ascending(ids: readonly NodeId[]): readonly NodeId[] {
  return [...new Set(ids)].sort((one, other) => one - other);
}

function sameNodes(one: readonly NodeId[], other: readonly NodeId[]): boolean {
  return one.length === other.length && one.every((id, position) => id === other[position]);
}
