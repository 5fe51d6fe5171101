/**
 * The cluster as a whole, whoever answered. Behind a balancer each request may reach another node,
 * so nothing of "this node" is shown as the cluster's: every node's figures come with
 * `raft/members`, which any node gathers from all.
 *
 * The shell asks once for all pages; a page reads it with `useCluster`.
 */
import { createContext } from 'preact';
import { useContext, useRef } from 'preact/hooks';
import { useCapabilities } from './identity.js';
import { NO_POLL, type Poll, usePoll } from './poll.js';
import { callFully, type Success } from './request.js';

export type Health = Success<'GET /health'>;
export type Members = Success<'GET /api/v1/raft/members'>;
export type Member = Members['members'][number];
export type ReachableMember = Extract<Member, { reachable: true }>;
export type Link = NonNullable<Health['raft']['link']>;

export interface Cluster {
  /** The health of the node that answered. */
  readonly health: Poll<Health>;
  /** Without `nodes` nothing is asked. */
  readonly members: Poll<Members>;
  /** What the leader said last, or any node until it did; null: no part in a link. */
  readonly link: Link | null;
}

/** The nodes ask each other for every answer. */
const EVERY_MS = 3_000;
/** A node that hangs is waited for by the one that asks it, which has nothing to do meanwhile. */
const REST_MS_MAX = 6_000;
/** A node that has not told its health by then hangs, and another one may answer. */
const HEALTH_MS_MAX = 5_000;

export const ClusterContext = createContext<Cluster>({
  health: NO_POLL,
  members: NO_POLL,
  link: null,
});

export function useCluster(): Cluster {
  return useContext(ClusterContext);
}

export function isReachable(member: Member): member is ReachableMember {
  return member.reachable === true;
}

/** For the shell. */
export function useClusterPolls(): Cluster {
  const { nodes } = useCapabilities();
  const health = usePoll('health', askHealth, EVERY_MS, { restMsMax: REST_MS_MAX });
  const members = usePoll(
    nodes ? 'members' : null,
    async (signal) => (await callFully('GET /api/v1/raft/members', { signal })).body,
    EVERY_MS,
    { restMsMax: REST_MS_MAX },
  );
  const link = useLeaderLink(health.data, members.data?.leaderId ?? null);
  return { health, members, link };
}

/** A node that is not ready says so with 503 and the same body; all else with 503 is a refusal. */
async function askHealth(signal: AbortSignal): Promise<Health> {
  const input = { signal, accepts: [503], msMax: HEALTH_MS_MAX };
  return (await callFully('GET /health', input)).body;
}

interface Heard {
  readonly link: Link;
  readonly leaderId: number | null;
}

/**
 * Only the leader of a standby follows the source: on the others the follower is idle. What the
 * leader said stays until another node leads, so that the figures do not flip between nodes.
 */
function useLeaderLink(health: Health | null, leaderId: number | null): Link | null {
  const heard = useRef<Heard | null>(null);
  if (health === null) return heard.current?.link ?? null;
  const { link, leader } = health.raft;
  if (link === undefined) heard.current = null;
  else if (leader) heard.current = { link, leaderId };
  else if (heard.current === null || heard.current.leaderId !== leaderId) {
    return link;
  }
  return heard.current?.link ?? null;
}
