/**
 * How many connections of clients a port may take: what the process's limit of open files leaves
 * when the node has those that it needs itself. At the bound the log still begins a file, the store
 * still writes a checkpoint, and the other nodes still connect.
 *
 * A gateway with a port of its own halves it: each of the two ports takes as many as are set, and
 * no more than half of what is left. So whoever fills the gateway's port, which is open to
 * strangers, leaves probes and operators theirs. Rejected: one bound over both, with which the
 * strangers' connections would be refused at the plain port; and a smaller part for the plain port,
 * because requests of the gateway's port are calls of the plain front, which takes as many at once
 * as its port takes connections.
 *
 * Files that are not clients', at most:
 *
 *     log         64 sealed segments open for reads (`log/segments.ts`), the last one twice
 *                 (reads and synced writes), the next one, index and witness, a repair:        72
 *     store       the file of rows in the node and in its writer, a state being received:       8
 *     small files term and vote, lock, reserve, series, directories that are synced, one copy: 16
 *     runtime     standard streams, the loop, and six files for the loop of each thread:       40
 *     tokens      the fetch of a key set:                                                       4
 *                                                                                             ----
 *     any node                                                                                140
 *     a member    its port, 64 handshakes (`peers/listener.ts`), and for each of the others
 *                 four channels each way; at least four others are counted:             65 + 8 * n
 *     a gateway   its port, usage that is written and read, eight calls of providers:           11
 *
 * Each front thread has a loop of its own and two listening sockets: 9 more.
 *
 * A connection that is refused is a file for the moment of its answer: one more.
 *
 * The soft limit is the hard one: Node raises it when it starts. What sets the hard one is the
 * service manager (LimitNOFILE), the container (ulimits), or `ulimit -Hn` of the shell.
 */
import { readFileSync } from 'node:fs';
import { BlockList, isIPv6 } from 'node:net';
import { type ConnectionBounds, isMachineRefusal } from '@svc/http';
import type { Config } from '../config/config.js';
import { isFronted } from '../gateway/settings.js';

const OWN_FILES = 140;
const PEER_PORT_FILES = 65;
const MEMBER_FILES = 8;
const OTHERS_MIN = 4;
const REFUSED_FILES = 1;
const THREAD_FILES = 9;
const GATEWAY_FILES = 11;
/** So many a node takes whatever its limit is; with less it would be a node for nobody. */
const CONNECTIONS_MIN = 16;
/** Where the platform does not tell the limit. */
const FILES_ASSUMED = 1024;
const FILES_ADVISED = 4096;
/** 500 bytes of kernel and node memory each before a request is made: half a gigabyte. */
const CONNECTIONS_LIMIT = 1_000_000;

export interface BoundsFound {
  readonly bounds: ConnectionBounds;
  /** What the operator should hear; null: nothing. */
  readonly warning: string | null;
}

export function ownFiles({ raftAddress, peers }: Pick<Config, 'raftAddress' | 'peers'>): number {
  const own = OWN_FILES + REFUSED_FILES;
  if (raftAddress === null) return own;
  return own + PEER_PORT_FILES + MEMBER_FILES * Math.max(OTHERS_MIN, peers.length - 1);
}

export function connectionBounds(
  config: Config,
  files: number | null,
  frontThreads = 0,
): BoundsFound {
  const limit = files ?? FILES_ASSUMED;
  const { connectionsMax, connectionsPerAddressMax, gatewayEmbedded } = config;
  const ports = gatewayEmbedded && !isFronted(config) ? 2 : 1;
  const own =
    ownFiles(config) + THREAD_FILES * frontThreads + (gatewayEmbedded ? GATEWAY_FILES : 0);
  const part = Math.floor((limit - own) / ports);
  const left = Math.max(CONNECTIONS_MIN, Math.min(part, CONNECTIONS_LIMIT));
  return {
    bounds: {
      max: Math.min(connectionsMax ?? left, left),
      perAddressMax: connectionsPerAddressMax,
      isTrustedProxy: trustedProxiesOf(config),
    },
    warning: warningOf(connectionsMax, left, limit, ports === 2 ? ' at each of its ports' : ''),
  };
}

/**
 * The part of one front thread, which no other thread can take: the kernel spreads connections, and
 * nobody moves them afterwards. Parts of the whole add up to it (less than a connection for each
 * thread is no bound). Those of an address are rounded up: it may have one more for each thread.
 */
export function partOfBounds(
  { max, perAddressMax }: Pick<ConnectionBounds, 'max' | 'perAddressMax'>,
  threads: number,
  place: number,
): Pick<ConnectionBounds, 'max' | 'perAddressMax'> {
  const more = place < max % threads ? 1 : 0;
  return {
    max: Math.max(1, Math.floor(max / threads) + more),
    perAddressMax: perAddressMax === null ? null : Math.ceil(perAddressMax / threads),
  };
}

/** Whether an address stands for many clients. */
export function trustedProxiesOf({ trustedProxies }: Config): ConnectionBounds['isTrustedProxy'] {
  const proxies = blockListOf(trustedProxies);
  return (address) => proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

function warningOf(
  wanted: number | null,
  left: number,
  limit: number,
  where: string,
): string | null {
  const raise = 'raise the hard limit (LimitNOFILE, ulimits of the container, or `ulimit -Hn`)';
  if (wanted !== null && wanted > left) {
    return (
      `SVC_MAX_CONNECTIONS=${wanted} does not fit into the limit of ${limit} open files: ` +
      `${left} connections are taken${where}. Lower it, or ${raise}`
    );
  }
  if (wanted !== null || limit >= FILES_ADVISED) return null;
  return `the limit of ${limit} open files leaves room for ${left} connections${where}: ${raise}`;
}

/** null: the platform does not tell. */
export function readFileLimit(): number | null {
  try {
    const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(limitsText()) ?? [];
    if (soft === undefined) return null;
    return soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft);
  } catch (error) {
    if (!isMachineRefusal(error)) throw error;
    return null;
  }
}

function limitsText(): string {
  return readFileSync('/proc/self/limits', 'latin1');
}

/** Each entry was checked when it was read: an address, a network, or a word for some. */
function blockListOf(entries: readonly string[]): BlockList {
  const found = new BlockList();
  for (const entry of entries.flatMap((one) => NETWORKS_OF_WORDS.get(one) ?? [one])) {
    const [address = '', prefix] = entry.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) found.addAddress(address, family);
    else found.addSubnet(address, Number(prefix), family);
  }
  return found;
}

const NETWORKS_OF_WORDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
]);
