/**
 * What a node says of itself when another one asks (`PeerCalls`, kind `ask`): which directory it
 * runs on, whether that belongs to a cluster, and to which. The question carries the card of the
 * one who asks. As bytes it is JSON: few are sent, and a capture of them can be read.
 *
 * Decoding never throws: a card is taken whole or it is none.
 */
import { createHash } from 'node:crypto';
import type { NodeId } from '@svc/raft';
import type { Config } from '../config/config.js';
import { NODE_NUMBER_MAX } from '../config/member-id.js';
import type { Peer } from '../config/peers.js';
import type { Founding } from '../consensus/forming-record.js';

/**
 * `fresh`: it belongs to no cluster and may become a founder. `joining`: it waits to be added; its
 * cluster id is "" while it does not know any. `member`: it is one, as far as it knows.
 */
export type CardState = 'fresh' | 'joining' | 'member';
const STATES: readonly CardState[] = ['fresh', 'joining', 'member'];

export interface Card {
  readonly node: number;
  readonly incarnation: number;
  readonly state: CardState;
  /** A lower-case UUID; "" when it knows none. */
  readonly clusterId: string;
  /** As `FormingRecord.pledge`. */
  readonly pledge: NodeId | null;
  /** The first entry of its cluster, where it stands in its directory. */
  readonly founding: Founding | null;
  /** Members of the newest configuration that it has applied; empty when it knows none. */
  readonly members: readonly NodeId[];
  /** Where those are to be reached, as far as it knows. */
  readonly addresses: readonly Peer[];
  /** The highest cluster version that its build reads. */
  readonly readableVersion: number;
  /** The digest of its SVC_RAFT_PEERS. */
  readonly listDigest: string;
}

/** What a node says that is nothing yet, and asks who the others are. */
export function cardOfNobody(config: Config, readableVersion: number): Card {
  return {
    node: config.nodeId,
    incarnation: 0,
    state: 'joining',
    clusterId: '',
    pledge: null,
    founding: null,
    members: [],
    addresses: [],
    readableVersion,
    listDigest: digestOfList(config.peers),
  };
}

const FORMAT = 1;
/** A card of 1,000 members with addresses of 100 bytes. */
const CARD_BYTES_MAX = 256 * 1024;
const MEMBERS_MAX = 1000;
const INCARNATION_MAX = 2 ** 32 - 1;
const CLUSTER_ID = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?$/;

export function encodeCard(card: Card): Uint8Array {
  return new Uint8Array(Buffer.from(JSON.stringify({ format: FORMAT, ...card })));
}

/** null: no card that this build reads. */
export function decodeCard(bytes: Uint8Array): Card | null {
  if (bytes.length > CARD_BYTES_MAX) return null;
  const fields = fieldsOf(bytes);
  if (fields === null || fields.format !== FORMAT) return null;
  const { node, incarnation, state, clusterId, pledge, readableVersion, listDigest } = fields;
  const founding = fields.founding === null ? null : foundingOf(fields.founding);
  const members = membersOf(fields.members);
  const addresses = peersOf(fields.addresses);
  if (!isWithin(node, 1, NODE_NUMBER_MAX)) return null;
  if (!isWithin(incarnation, 0, INCARNATION_MAX)) return null;
  if (pledge !== null && !isMember(pledge)) return null;
  if (!isWithin(readableVersion, 0, INCARNATION_MAX) || typeof listDigest !== 'string') return null;
  if (typeof clusterId !== 'string' || !CLUSTER_ID.test(clusterId)) return null;
  const known = STATES.find((one) => one === state);
  if (known === undefined || founding === undefined) return null;
  if (members === null || addresses === null) return null;
  return {
    node,
    incarnation,
    state: known,
    clusterId,
    pledge,
    founding,
    members,
    addresses,
    readableVersion,
    listDigest,
  };
}

/** Equal lists have equal digests, in whatever order they name the nodes. */
export function digestOfList(peers: readonly Peer[]): string {
  const hash = createHash('sha256');
  for (const { id, raftAddress, httpAddress } of [...peers].sort((a, b) => a.id - b.id)) {
    hash.update(`${id}=${raftAddress}/${httpAddress},`);
  }
  return hash.digest('hex').slice(0, 16);
}

function fieldsOf(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** undefined: not one. */
function foundingOf(value: unknown): Founding | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { founders, peers } = value as { readonly founders?: unknown; readonly peers?: unknown };
  const members = membersOf(founders);
  const known = peersOf(peers);
  if (members === null || members.length === 0 || known === null) return undefined;
  return { founders: members, peers: known };
}

/** null: not a list of them. */
function peersOf(value: unknown): readonly Peer[] | null {
  if (!Array.isArray(value) || value.length > MEMBERS_MAX) return null;
  const known = value.map(peerOf).filter((peer) => peer !== null);
  return known.length === value.length ? known : null;
}

function peerOf(value: unknown): Peer | null {
  if (typeof value !== 'object' || value === null) return null;
  const { id, raftAddress, httpAddress } = value as { readonly [field: string]: unknown };
  if (!isWithin(id, 1, NODE_NUMBER_MAX)) return null;
  if (typeof raftAddress !== 'string' || typeof httpAddress !== 'string') return null;
  return { id, raftAddress, httpAddress };
}

/** Ascending, each once; null: not a list of members. */
function membersOf(value: unknown): readonly NodeId[] | null {
  if (!Array.isArray(value) || value.length > MEMBERS_MAX) return null;
  if (!value.every(isMember)) return null;
  const ordered = value.every((id, at) => at === 0 || id > (value[at - 1] ?? 0));
  return ordered ? value : null;
}

function isMember(id: unknown): id is NodeId {
  return isWithin(id, 1, Number.MAX_SAFE_INTEGER);
}

function isWithin(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}
