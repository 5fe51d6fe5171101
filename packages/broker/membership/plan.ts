/**
 * Judges what a change of the members comes to, by the leader's own picture of the moment: steps
 * for consensus, a node to be asked first, nothing, or a refusal.
 *
 * What must hold: a change that is repeated comes to nothing, whatever became of its first time. A
 * change is proposed only if a majority of the voters before it and of those after it lives:
 * otherwise it could not be finished, and nothing else could be either. `force` overrules only the
 * judgement that a learner is too far behind.
 */
import type { MembershipChange, MembershipRefused } from '@svc/http';
import {
  type Configuration,
  isJoint,
  members,
  type NodeChange,
  type NodeId,
  type Status,
} from '@svc/raft';
import type { MembershipErrorCode } from '@svc/wire';
import { NODE_NUMBER_MAX, nodeNumber } from '../config/member-id.js';
import type { Peer } from '../config/peers.js';
import type { MemberChange } from '../consensus/group-membership.js';

export type MembershipPlan =
  | MembershipRefused
  /** The members are as they are to be. */
  | { readonly kind: 'nothing' }
  /** The members become so by themselves. */
  | { readonly kind: 'leaving' }
  /** A node that is to be added: who it is only itself can tell. */
  | { readonly kind: 'ask'; readonly peer: Peer; readonly known: NodeId | null }
  | {
      readonly kind: 'propose';
      readonly change: MemberChange;
      /** Members that are none afterwards. */
      readonly removed: readonly NodeId[];
    }
  /** Leadership goes to node `to`: to none of these other voters. */
  | { readonly kind: 'hand-over'; readonly to: number; readonly others: readonly NodeId[] };

const NOTHING: MembershipPlan = { kind: 'nothing' };

export function refusedChange(code: MembershipErrorCode, error: string): MembershipRefused {
  return { kind: 'membership-refused', code, error };
}

/** The fault of a change, whatever the members are; null: it has none. */
export function malformedChange(change: MembershipChange): MembershipRefused | null {
  const wrong = wrongIn(change);
  return wrong === null ? null : refusedChange('bad_request', wrong);
}

function wrongIn(change: MembershipChange): string | null {
  const nodes = 'nodes' in change ? change.nodes : [change.node];
  for (const node of nodes) {
    if (node < 1) return 'node ids start at 1';
    if (node > NODE_NUMBER_MAX) return `node ids end at ${NODE_NUMBER_MAX}`;
  }
  if (change.kind === 'promote' && nodes.length === 0) return 'ids names no node';
  if (change.kind !== 'add-learner') return null;
  const { raftAddress, httpAddress } = change;
  if (!isHostPort(raftAddress)) return `raft address \`${shown(raftAddress)}\` is not host:port`;
  if (!isHostPort(httpAddress)) return `http address \`${shown(httpAddress)}\` is not host:port`;
  return null;
}

const PORT_MAX = 65_535;
/** The longest name of a host is 253 characters. */
const HOST_PORT = /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9._-]{1,253})):(\d{1,5})$/;

/** An address that is none, in the answer: a caller can send megabytes of it. */
function shown(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
}

function isHostPort(text: string): boolean {
  const port = Number(HOST_PORT.exec(text)?.[3] ?? 0);
  return port >= 1 && port <= PORT_MAX;
}

/** The caller has made sure that this node leads. */
export function planChange(
  change: MembershipChange,
  status: Status,
  addresses: readonly Peer[],
  promoteMaxLag: number,
): MembershipPlan {
  const { configuration } = status;
  if (change.kind === 'transfer') return planTransfer(change.node, status, promoteMaxLag);
  if (isJoint(configuration)) return planInJoint(change, configuration);
  const plan = planSettled(change, status, addresses, promoteMaxLag);
  if (status.changing && plan.kind !== 'nothing') {
    return refusedChange(
      'in_flight',
      'an earlier change of the members is not committed yet; retry once it is',
    );
  }
  return plan;
}

/** Only the last voters themselves finish a joint membership. */
function planInJoint(change: MembershipChange, config: Configuration): MembershipPlan {
  const voters = config.voters.map(nodeNumber);
  if (change.kind !== 'set-voters' || !sameNodes(change.nodes, voters)) {
    const list = voters.join(', ');
    return refusedChange(
      'in_flight',
      `the membership is joint: only PUT voters with ${list} finishes the change that is under way`,
    );
  }
  if (config.autoLeave) return { kind: 'leaving' };
  const outgoing = config.outgoing.filter((id) => !config.voters.includes(id));
  const removed = outgoing.filter((id) => !config.learnersNext.includes(id));
  return { kind: 'propose', change: { changes: [], transition: 'auto', added: [] }, removed };
}

/** The members may be changing meanwhile: who leads has nothing to do with it. */
function planTransfer(node: number, status: Status, promoteMaxLag: number): MembershipPlan {
  const { voters } = status.configuration;
  const target = memberOf(voters, node);
  if (target === null) {
    return refusedChange('not_a_voter', `node ${node} is not a voter: only a voter can lead`);
  }
  if (target === status.id) return NOTHING;
  const behind = behindOf(target, status, promoteMaxLag);
  if (behind !== null) return behind;
  return { kind: 'hand-over', to: node, others: voters.filter((id) => id !== target) };
}

function planSettled(
  change: Exclude<MembershipChange, { readonly kind: 'transfer' }>,
  status: Status,
  addresses: readonly Peer[],
  promoteMaxLag: number,
): MembershipPlan {
  switch (change.kind) {
    case 'add-learner':
      return planLearner(change, status, addresses);
    case 'remove':
      return planRemoval(change.node, status);
    case 'promote':
      return planPromotion(change, status, promoteMaxLag);
    case 'set-voters':
      return planVoters(change, status, promoteMaxLag);
  }
}

function planLearner(
  change: Extract<MembershipChange, { readonly kind: 'add-learner' }>,
  { configuration, peers }: Status,
  addresses: readonly Peer[],
): MembershipPlan {
  const { node: id, raftAddress, httpAddress } = change;
  if (memberOf(configuration.voters, id) !== null) {
    return refusedChange('already_voter', `node ${id} is already a voter`);
  }
  const known = memberOf(configuration.learners, id);
  const peer: Peer = { id, raftAddress, httpAddress };
  const taken = addresses.find((other) => other.id !== id && other.raftAddress === raftAddress);
  if (taken !== undefined) {
    return refusedChange(
      'address_mismatch',
      `the raft address ${raftAddress} belongs to node ${taken.id}`,
    );
  }
  if (known === null) return { kind: 'ask', peer, known };
  const former = addresses.find((other) => other.id === id);
  const moved = former?.raftAddress !== raftAddress || former.httpAddress !== httpAddress;
  if (moved) {
    const { raftAddress: raft, httpAddress: http } = former ?? peer;
    return refusedChange(
      'address_mismatch',
      `node ${id} is a learner at ${raft} and ${http}; remove it before it is added elsewhere`,
    );
  }
  // A learner that acknowledges is the one that was added: a wiped one would be another member.
  const live = peers.some((one) => one.id === known && one.live);
  return live ? NOTHING : { kind: 'ask', peer, known };
}

/** `member` is who the node has said it is; `known` the member of its number until now. */
export function planAnswered(
  { peer, known }: Extract<MembershipPlan, { readonly kind: 'ask' }>,
  member: NodeId,
  status: Status,
): MembershipPlan {
  if (member === known) return NOTHING;
  const added: NodeChange = { type: 'add-learner', node: member };
  if (known === null) return proposal(status, [added], [peer]);
  return proposal(status, [{ type: 'remove', node: known }, added], [peer]);
}

function planRemoval(node: number, status: Status): MembershipPlan {
  const member = memberOf(members(status.configuration), node);
  return member === null ? NOTHING : proposal(status, [{ type: 'remove', node: member }]);
}

function planPromotion(
  { nodes, force }: Extract<MembershipChange, { readonly kind: 'promote' }>,
  status: Status,
  promoteMaxLag: number,
): MembershipPlan {
  const changes: NodeChange[] = [];
  for (const number of new Set(nodes)) {
    if (memberOf(status.configuration.voters, number) !== null) continue;
    const learner = memberOf(status.configuration.learners, number);
    if (learner === null) {
      return refusedChange('not_a_learner', `node ${number} is not a learner: add it as one first`);
    }
    const behind = force ? null : behindOf(learner, status, promoteMaxLag);
    if (behind !== null) return behind;
    changes.push({ type: 'add-voter', node: learner });
  }
  return proposal(status, changes);
}

function planVoters(
  { nodes, force }: Extract<MembershipChange, { readonly kind: 'set-voters' }>,
  status: Status,
  promoteMaxLag: number,
): MembershipPlan {
  const { configuration } = status;
  const changes: NodeChange[] = [];
  for (const number of new Set(nodes)) {
    const member = memberOf(members(configuration), number);
    if (member === null) {
      return refusedChange('not_a_member', `node ${number} is not a member: add it as a learner`);
    }
    if (configuration.voters.includes(member)) continue;
    const behind = force ? null : behindOf(member, status, promoteMaxLag);
    if (behind !== null) return behind;
    changes.push({ type: 'add-voter', node: member });
  }
  for (const node of configuration.voters) {
    if (!nodes.includes(nodeNumber(node))) changes.push({ type: 'remove', node });
  }
  return proposal(status, changes);
}

/** Plans a change of a membership that is not joint. */
function proposal(
  status: Status,
  changes: readonly NodeChange[],
  added: readonly Peer[] = [],
): MembershipPlan {
  if (changes.length === 0) return NOTHING;
  const { voters } = status.configuration;
  const removed = changes.filter(({ type }) => type === 'remove').map(({ node }) => node);
  const promoted = changes.filter(({ type }) => type === 'add-voter').map(({ node }) => node);
  const after = [...voters.filter((id) => !removed.includes(id)), ...promoted];
  if (after.length === 0) {
    return refusedChange('last_voter', 'a cluster needs at least one voter');
  }
  const dead = deadMajority(voters, status) ?? deadMajority(after, status);
  return dead ?? { kind: 'propose', change: { changes, transition: 'auto', added }, removed };
}

function deadMajority(voters: readonly NodeId[], { peers }: Status): MembershipRefused | null {
  const live = voters.filter((id) => peers.some((peer) => peer.id === id && peer.live));
  const needed = Math.floor(voters.length / 2) + 1;
  if (live.length >= needed) return null;
  const list = voters.map(nodeNumber).join(', ');
  return refusedChange(
    'no_quorum',
    `${live.length} of the voters ${list} are alive, and ${needed} are needed`,
  );
}

function behindOf(member: NodeId, status: Status, maxLag: number): MembershipRefused | null {
  const node = nodeNumber(member);
  const peer = status.peers.find(({ id }) => id === member);
  if (peer?.live !== true) {
    return refusedChange('learner_behind', `node ${node} has not answered the leader lately`);
  }
  const lag = status.lastIndex - peer.match;
  return lag <= maxLag
    ? null
    : refusedChange('learner_behind', `node ${node} is ${lag} entries behind (at most ${maxLag})`);
}

function memberOf(list: readonly NodeId[], node: number): NodeId | null {
  return list.find((id) => nodeNumber(id) === node) ?? null;
}

function sameNodes(given: readonly number[], voters: readonly number[]): boolean {
  const wanted = new Set(given);
  return wanted.size === voters.length && voters.every((voter) => wanted.has(voter));
}
