/**
 * Where the members are to be reached: a part of the membership, and so carried in every
 * configuration entry beside the members themselves.
 */
import { membershipAt, type State } from '@svc/engine';
import { decodeConfiguration, members as membersOf } from '@svc/raft';
import { nodeNumber } from '../config/member-id.js';
import type { Peer } from '../config/peers.js';

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

/**
 * Addresses after a change: new nodes are added. Those of members that leave stay, for
 * until a joint configuration is left they have to be reached; `MemberAddresses` shows only
 * those of members.
 */
export function addressesAfter(known: readonly Peer[], added: readonly Peer[]): readonly Peer[] {
  return [...known.filter(({ id }) => !added.some((peer) => peer.id === id)), ...added];
}

/** Where the members are, as the newest configuration says that is applied here. */
export class MemberAddresses {
  readonly #state: State;
  readonly #replica: { readonly appliedIndex: number };
  /** The peer list of this node's own configuration, which counts until one is applied. */
  readonly #listed: readonly Peer[];
  #known: { readonly index: number; readonly peers: readonly Peer[] } | null = null;

  constructor(state: State, replica: { readonly appliedIndex: number }, listed: readonly Peer[]) {
    this.#state = state;
    this.#replica = replica;
    this.#listed = listed;
  }

  get(): readonly Peer[] {
    const newest = membershipAt(this.#state, this.#replica.appliedIndex);
    if (newest === undefined) return this.#listed;
    if (this.#known?.index !== newest.index) {
      const { configuration, context } = decodeConfiguration(newest.data);
      const numbers = membersOf(configuration).map(nodeNumber);
      const peers = decodeAddresses(context).filter(({ id }) => numbers.includes(id));
      this.#known = { index: newest.index, peers };
    }
    return this.#known.peers;
  }
}
