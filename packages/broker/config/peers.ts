/** Reads which node this is and which the others are. */
import { hostAndPortOf } from './addresses.js';
import { NODE_NUMBER_MAX } from './member-id.js';
import {
  accepted,
  type Environment,
  integerOf,
  type Kind,
  positive,
  refused,
  TIMER_MS_MAX,
} from './values.js';

export interface Peer {
  readonly id: number;
  readonly raftAddress: string;
  readonly httpAddress: string;
}

/**
 * From 1, or `ordinal`: the trailing number of HOSTNAME plus 1, as stateful pods are numbered from
 * 0.
 */
export const nodeIdKind: Kind<number> = {
  label: 'node id',
  defaultText: '1',
  minimum: null,
  parse: (given, name, environment) => {
    const trimmed = (given ?? '1').trim();
    if (trimmed.toLowerCase() === 'ordinal') return ordinal(trimmed, name, environment);
    const id = integerOf(trimmed);
    return id === null || id < 1 || id > NODE_NUMBER_MAX
      ? refused(`${name}=${given}: expected a node id from 1, or \`ordinal\``)
      : accepted(id);
  },
  show: String,
};

function ordinal(given: string, name: string, environment: Environment) {
  const host = environment.HOSTNAME ?? '';
  const id = integerOf(/\d+$/.exec(host)?.[0]);
  return id === null || id >= NODE_NUMBER_MAX
    ? refused(`${name}=${given}: HOSTNAME \`${host}\` has no trailing number`)
    : accepted(id + 1);
}

/** `id=raft_host:port/http_host:port,...`; blank = none named. */
export const peersKind: Kind<readonly Peer[]> = {
  label: 'peer list',
  defaultText: '',
  minimum: null,
  parse: (given, name) => {
    const peers: Peer[] = [];
    if (given === undefined || given.trim() === '') return accepted(peers);
    for (const part of given.split(',')) {
      const peer = parsePeer(part.trim());
      if (typeof peer === 'string') return refused(`${name}=${given}: ${peer}`);
      if (peers.some((other) => other.id === peer.id)) {
        return refused(`${name}=${given}: node ${peer.id} is listed twice`);
      }
      peers.push(peer);
    }
    return accepted(peers);
  },
  show: (peers) =>
    peers.length === 0
      ? '<unset>'
      : peers.map((peer) => `${peer.id}=${peer.raftAddress}/${peer.httpAddress}`).join(','),
};

/** The fault of the part, as text. */
function parsePeer(part: string): Peer | string {
  const equals = part.indexOf('=');
  if (equals === -1) return `\`${part}\` is not \`id=raft_addr/http_addr\``;
  const idText = part.slice(0, equals).trim();
  const id = integerOf(idText);
  if (id === null || id > NODE_NUMBER_MAX) return `\`${idText}\` is not a node id`;
  if (id < 1) return 'node ids start at 1';
  const addresses = part.slice(equals + 1).split('/');
  const [raftAddress, httpAddress] = addresses.map((address) => address.trim());
  if (addresses.length !== 2 || raftAddress === undefined || httpAddress === undefined) {
    return `node ${id} needs \`raft_addr/http_addr\``;
  }
  if (raftAddress === '' || httpAddress === '') return `node ${id} has an empty address`;
  if (hostAndPortOf(raftAddress) === null)
    return `raft address \`${raftAddress}\` is not host:port`;
  return { id, raftAddress, httpAddress };
}

/**
 * `local` and the names of the cluster kind. A directory is the same under both; `local` has no
 * raft port, so it runs a node that is alone.
 */
export const replicatorKind: Kind<'local' | 'raft'> = {
  label: '`local`, `openraft` or `raft`',
  defaultText: 'local',
  minimum: null,
  parse: (given, name) => {
    const word = (given ?? 'local').trim().toLowerCase();
    if (word === 'local') return accepted('local');
    if (word === 'openraft' || word === 'raft') return accepted('raft');
    return refused(`${name}=${given}: expected \`local\` or \`openraft\``);
  },
  show: String,
};

/** The node that is to go on alone, by its id; null when unset. */
export const forceRecoverKind: Kind<number | null> = {
  label: 'node id',
  defaultText: '',
  minimum: null,
  parse: (given, name) => {
    if (given === undefined || given.trim() === '') return accepted(null);
    const id = integerOf(given);
    return id === null || id < 1 || id > NODE_NUMBER_MAX
      ? refused(`${name}=${given}: expected the id of the node to recover, a number from 1`)
      : accepted(id);
  },
  show: (value) => (value === null ? '<unset>' : String(value)),
};

/**
 * A time of consensus: over a network everything takes longer than alone. A cluster of one voter is
 * a cluster, because others may join it while it runs.
 */
export function timing(aloneMs: number, clusterMs: number): Kind<number> {
  const bounds = { min: 1, max: TIMER_MS_MAX };
  const [alone, cluster] = [positive(aloneMs, bounds), positive(clusterMs, bounds)];
  return {
    ...alone,
    defaultText: `${clusterMs} in a cluster, ${aloneMs} alone`,
    parse: (given, name, environment) => {
      const { SVC_RAFT_REPLICATOR } = environment;
      const replicator = replicatorKind.parse(SVC_RAFT_REPLICATOR, '', environment);
      const kind = replicator.ok && replicator.value === 'raft' ? cluster : alone;
      return kind.parse(given, name, environment);
    },
  };
}
