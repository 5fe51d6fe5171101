/**
 * Says in the log what becomes of this node's part in its group: its role, who leads, and whether
 * anybody does. One line for each transition, with its cause, at whatever pace they come.
 *
 * The job: consensus tells what is, not why, and while nobody leads a node may campaign every
 * second. An operator wants to read once that it happened, why, and how long it took.
 *
 * What must hold:
 * - A transition is told once: `role changed`, `leader changed`, `quorum lost`, `quorum regained`.
 * - While nobody leads, a node that campaigns again and again is told of once.
 * - A cause is what this node knows at that moment, and no guess of what happened elsewhere.
 */
import { isVoter, NO_NODE, type NodeId, type SoftState, type Status } from '@svc/raft';
import { nodeNumber } from '../config/member-id.js';
import type { Clock } from '../system/clock.js';
import type { LogFields, Logger } from '../system/logging.js';

export interface RoleLogOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly self: NodeId;
  readonly electionMs: number;
  readonly status: () => Status | null;
  /** How long the leader had not been heard when that was looked at last. */
  readonly leaderSilenceMs: () => number;
}

type LoggedRole = 'leader' | 'candidate' | 'follower' | 'learner' | 'stopped';

export class RoleLog {
  readonly #options: RoleLogOptions;
  /** As it was told last. */
  #role: LoggedRole = 'follower';
  #soft: SoftState | null = null;
  #leader: NodeId = NO_NODE;
  #term = 0;
  /** When the last leader was lost; null while one leads, and before the first. */
  #leaderlessSinceMs: number | null = null;
  /** That this node campaigns has been told since then. */
  #hasCampaigned = false;

  constructor(options: RoleLogOptions) {
    this.#options = options;
  }

  /** The members are others than before. */
  look(): void {
    if (this.#soft !== null && this.#role !== 'stopped') this.follow(this.#soft);
  }

  follow(soft: SoftState): void {
    this.#soft = soft;
    const status = this.#options.status();
    if (status === null) return;
    const role = this.#roleOf(soft, status);
    // A leader counts once it has applied an entry of its term; until then nobody leads here.
    const leader = soft.leader === this.#options.self && !soft.leading ? NO_NODE : soft.leader;
    const cause = this.#causeOf(role, leader, status);
    this.#tellRole(role, leader, status, cause);
    this.#tellLeader(role, leader, status, cause);
    this.#leader = leader;
    this.#term = status.term;
  }

  /** This node takes no part any more. */
  halted(cause: string): void {
    const { logger } = this.#options;
    const from = this.#role;
    if (from === 'stopped') return;
    this.#role = 'stopped';
    logger.error('raft', 'role changed', { from, to: 'stopped', term: this.#term, cause });
  }

  #roleOf(soft: SoftState, { configuration }: Status): LoggedRole {
    if (soft.leading) return 'leader';
    if (soft.role !== 'follower') return 'candidate';
    return isVoter(configuration, this.#options.self) ? 'follower' : 'learner';
  }

  #tellRole(role: LoggedRole, leader: NodeId, status: Status, cause: string): void {
    const from = this.#role;
    if (role === from) return;
    if (leader !== NO_NODE) this.#hasCampaigned = false;
    else if (from !== 'leader') {
      // Between campaigns a node is a follower of nobody: that is no news.
      if (this.#hasCampaigned) return;
      this.#hasCampaigned = role === 'candidate';
    }
    this.#role = role;
    const { logger } = this.#options;
    const fields = { from, to: role, term: status.term, leader: shown(leader), cause };
    if (from === 'leader') logger.warn('raft', 'role changed', fields);
    else logger.info('raft', 'role changed', fields);
  }

  #tellLeader(role: LoggedRole, leader: NodeId, { term }: Status, cause: string): void {
    if (leader === this.#leader) return;
    const { logger, clock } = this.#options;
    const before = this.#leader;
    if (leader === NO_NODE) {
      this.#leaderlessSinceMs = clock.nowMs();
      logger.warn('raft', 'quorum lost', { leader: shown(before), term, cause });
      return;
    }
    const sinceMs = this.#leaderlessSinceMs;
    this.#leaderlessSinceMs = null;
    const fields: LogFields = { leader: shown(leader), term };
    if (sinceMs !== null) {
      const afterMs = Math.round(clock.nowMs() - sinceMs);
      logger.info('raft', 'quorum regained', { ...fields, after_ms: afterMs, cause });
    } else if (role !== 'leader') {
      logger.info('raft', 'leader changed', { ...fields, from: shown(before), cause });
    }
  }

  #causeOf(role: LoggedRole, leader: NodeId, status: Status): string {
    const { self, electionMs, leaderSilenceMs } = this.#options;
    const { term, configuration } = status;
    const voters = configuration.voters.length;
    if (role === 'leader') {
      return voters === 1 ? 'this node is the only voter' : `elected by voters of term ${term}`;
    }
    if (leader !== NO_NODE) return `node ${nodeNumber(leader)} leads term ${term}`;
    if (this.#role === 'leader') {
      if (!isVoter(configuration, self)) return 'this node is no voter any more';
      if (status.appendStuck || status.appendFailed) return 'its log does not take what it writes';
      if (term > this.#term) return `another node campaigns in term ${term}`;
      return 'no majority of the voters was heard within an election timeout';
    }
    const before = this.#leader === NO_NODE ? 'the leader' : `node ${nodeNumber(this.#leader)}`;
    const silenceMs = Math.round(leaderSilenceMs());
    if (this.#leader === NO_NODE) return 'no leader is known';
    if (silenceMs >= electionMs) return `${before} was not heard for ${silenceMs} ms`;
    if (role === 'candidate') return `${before} hands leadership over`;
    return term > this.#term ? `another node campaigns in term ${term}` : `${before} stepped down`;
  }
}

/** Its number, as an operator knows it; null for none. */
function shown(node: NodeId): number | null {
  return node === NO_NODE ? null : nodeNumber(node);
}
