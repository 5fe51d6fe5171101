/**
 * The numbers of consensus, branded so that a term is never compared with an index. All are
 * non-negative safe integers. The functions below only cast: the values come from checked sources
 * (the log, the wire decoder) and are cast on the hottest path.
 */
declare const brand: unique symbol;

/** A member of the group, from 1. `NO_NODE` (0) stands for "nobody": no leader, no vote. */
export type NodeId = number & { readonly [brand]: 'NodeId' };
/** The number of an election; at most one leader exists per term. 0 before the first. */
export type Term = number & { readonly [brand]: 'Term' };
/** The place of an entry in the log, from 1. 0 = before the first entry. */
export type LogIndex = number & { readonly [brand]: 'LogIndex' };

export const nodeId = (value: number): NodeId => value as NodeId;
export const term = (value: number): Term => value as Term;
export const logIndex = (value: number): LogIndex => value as LogIndex;

/** Whether a node can have this number: it survives a float of 64 bits, and is not `NO_NODE`. */
export function isNodeId(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

export const NO_NODE: NodeId = nodeId(0);
