/**
 * The member's name for consensus: a number that is unique for all time, made of the operator's
 * number of the node and the incarnation of its data directory.
 *
 * Every directory of a process draws its incarnation at random and keeps it, so a node that comes
 * back with an empty directory is another member: it can neither vote nor acknowledge in the name
 * of its former life, whose term, vote and log it has forgotten. Incarnation 0 is that of founders
 * who agreed on each other without a word, as earlier builds and simulated ones do.
 */
import { type NodeId, nodeId } from '@svc/raft';

const INCARNATIONS = 0x1_0000_0000;
/** With it the largest member id is still a safe integer: (2^21 - 1) * 2^32 + 2^32 - 1 < 2^53. */
export const NODE_NUMBER_MAX = 0x1f_ffff;

/** `number` is what the operator calls the node (SVC_RAFT_NODE_ID), 1..NODE_NUMBER_MAX. */
export function memberId(number: number, incarnation: number): NodeId {
  return nodeId(number * INCARNATIONS + incarnation);
}

/** 0 for nobody. */
export function nodeNumber(member: NodeId): number {
  return Math.floor(member / INCARNATIONS);
}

export function incarnationOf(member: NodeId): number {
  return member % INCARNATIONS;
}

/** 1..2^32-1, for a fresh directory; `fraction` returns numbers in [0, 1). */
export function drawIncarnation(fraction: () => number): number {
  return 1 + Math.floor(fraction() * (INCARNATIONS - 1));
}
