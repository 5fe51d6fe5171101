/**
 * Judges whether a node may be added: what it says of itself must fit what the operator said of it,
 * its directory must belong to no other cluster, and it must be able to read what this one writes.
 */
import { clusterVersionOf, type State } from '@svc/engine';
import { memberId } from '../config/member-id.js';
import type { Peer } from '../config/peers.js';
import type { Card } from '../forming/card.js';
import type { AskWho, CandidateAnswer } from './change.js';

/** Asks the node at the peer's raft address, a member or not, for its card; null: no answer. */
export type AskCandidate = (
  peer: Peer,
  timeoutMs: number,
  done: (card: Card | null) => void,
) => void;

/** The answer of a node that was started without a way to others. */
const NO_WAY_TO_OTHERS: CandidateAnswer = {
  kind: 'unfit',
  code: 'bad_request',
  error:
    'this node runs alone: start it with SVC_RAFT_REPLICATOR=openraft and its own addresses in ' +
    'SVC_RAFT_PEERS before others are added',
};

interface JoinedCluster {
  readonly clusterId: string;
  /** What its entries are written in. */
  readonly version: number;
}

/** `ask` null: this node has no way to others. */
export function asking(ask: AskCandidate | null, clusterId: string, state: State): AskWho {
  if (ask === null) return (_peer, _timeoutMs, done) => done(NO_WAY_TO_OTHERS);
  return (peer, timeoutMs, done) =>
    ask(peer, timeoutMs, (card) =>
      done(judgeCandidate(peer, card, { clusterId, version: clusterVersionOf(state) })),
    );
}

function judgeCandidate(peer: Peer, card: Card | null, cluster: JoinedCluster): CandidateAnswer {
  if (card === null) return { kind: 'silent' };
  const { node, incarnation, state, clusterId, readableVersion } = card;
  if (node !== peer.id) {
    return unfit('address_mismatch', `node ${node} answers at ${peer.raftAddress}`, peer);
  }
  if (clusterId !== '' && clusterId !== cluster.clusterId) {
    const text = `it holds data of another cluster (${clusterId}): start it on an empty directory`;
    return unfit('address_mismatch', text, peer);
  }
  if (state === 'member' && clusterId === '') {
    return unfit('address_mismatch', 'it holds data of an unknown cluster', peer);
  }
  if (readableVersion < cluster.version) {
    const { version } = cluster;
    const text = `it reads data version ${readableVersion}, this cluster writes ${version}`;
    return unfit('learner_behind', `${text}: upgrade it first`, peer);
  }
  return { kind: 'fit', member: memberId(node, incarnation) };
}

function unfit(
  code: 'address_mismatch' | 'learner_behind',
  why: string,
  { id }: Peer,
): CandidateAnswer {
  return { kind: 'unfit', code, error: `node ${id} cannot be added: ${why}` };
}
