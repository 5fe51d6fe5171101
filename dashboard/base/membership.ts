/** What a change of the members will do, said before it is done. */
import { counted } from './format.js';

export interface Seat {
  readonly nodeId: number;
  readonly isVoter: boolean;
  readonly isLeader: boolean;
  readonly isReachable: boolean;
}

interface Told {
  readonly nodeId: number;
  readonly role?: string | null;
  readonly state?: string | null;
  readonly reachable?: boolean | null;
}

/** The membership tells which nodes vote, also of one that does not answer. */
export function seatsOf(members: readonly Told[], leaderId: number | null): Seat[] {
  return members.map(({ nodeId, role, reachable }) => ({
    nodeId,
    isVoter: role === 'voter',
    isLeader: nodeId === leaderId,
    isReachable: reachable === true,
  }));
}

export type MemberChange = 'transfer' | 'promote' | 'remove';

/** Sentences. */
export function toldOf(change: MemberChange, node: Seat, seats: readonly Seat[]): string[] {
  const voters = seats.filter(({ isVoter }) => isVoter);
  const live = voters.filter(({ isReachable }) => isReachable).length;
  if (change === 'transfer') {
    return [
      `Node ${node.nodeId} leads from then on, once it has every entry. Nothing is lost: what is ` +
        'asked meanwhile waits for it.',
    ];
  }
  if (change === 'promote') {
    const own = node.isReachable ? 1 : 0;
    return [
      `Node ${node.nodeId} votes from then on. ${afterwards(voters.length + 1, live + own)}`,
      ...(voters.length % 2 === 1 ? [EVEN] : []),
    ];
  }
  if (!node.isVoter) {
    return [
      `Node ${node.nodeId} gets no entries from then on. It has no vote: nothing else changes.`,
    ];
  }
  const own = node.isReachable ? 1 : 0;
  return [
    `Node ${node.nodeId} leaves the cluster for good. Its directory is of no use afterwards: to ` +
      'come back it joins anew with an empty one.',
    ...(node.isLeader ? ['It leads: another node is elected first.'] : []),
    afterwards(voters.length - 1, live - own),
  ];
}

const EVEN = 'With an even number no more nodes may fail than with one less.';

function afterwards(voters: number, live: number): string {
  const majority = Math.floor(voters / 2) + 1;
  if (voters === 0) return 'It is the last that votes, and cannot be removed.';
  const bears = Math.max(0, live - majority);
  const all = counted(voters, 'node votes', 'nodes vote');
  if (live < majority) {
    const some = counted(live, 'answers', 'answer');
    return `Then ${all}, of which ${some}: no majority, so nothing is stored any more.`;
  }
  return bears === 0
    ? `Then ${all}, and none that answers may fail.`
    : `Then ${all}, and ${bears} of them may fail.`;
}
