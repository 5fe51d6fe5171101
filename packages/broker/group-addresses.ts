/**
 * Where the members are to be reached: a part of the membership, and so carried in every
 * configuration entry beside the members themselves.
 */
import type { NodeChange } from '@svc/raft';
import type { Peer } from './config-peers.js';
import { nodeNumber } from './member-id.js';

export function encodeAddresses(peers: readonly Peer[]): Uint8Array {
  const ordered = [...peers].sort((one, other) => one.id - other.id);
  const fields = ordered.map(({ id, raftAddress, httpAddress }) => [id, raftAddress, httpAddress]);
  return new Uint8Array(Buffer.from(JSON.stringify(fields)));
}

/** Empty when nothing was recorded. What stands in the log was written by a member: it parses. */
export function decodeAddresses(context: Uint8Array): readonly Peer[] {
  if (context.length === 0) return [];
  const text = Buffer.from(context.buffer, context.byteOffset, context.byteLength).toString();
  const fields = JSON.parse(text) as readonly (readonly [number, string, string])[];
  return fields.map(([id, raftAddress, httpAddress]) => ({ id, raftAddress, httpAddress }));
}

/** What is known after a change: new nodes with their addresses, removed ones forgotten. */
export function addressesAfter(
  known: readonly Peer[],
  added: readonly Peer[],
  changes: readonly NodeChange[],
): readonly Peer[] {
  const gone = new Set<number>();
  for (const { type, node } of changes) if (type === 'remove') gone.add(nodeNumber(node));
  for (const { id } of added) gone.add(id);
  return [...known.filter(({ id }) => !gone.has(id)), ...added];
}
