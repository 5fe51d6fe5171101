/**
 * The one survivor of a cluster goes on alone, because its operator says that the others are gone
 * (SVC_RAFT_FORCE_RECOVER). What its log holds counts as committed, and after
 * it stands a configuration that names nobody else, in a term of its own:
 *
 *     opened -> marker durable -> two equal configurations durable -> new identity -> marker done
 *
 * Two, because of every configuration in a log but the newest it is known that it was committed
 * (`provenCommit`): the second one is what makes the first count at the next start, and at every
 * one after it. A crash on the way leaves the marker open, and the next start does it once more.
 * What cannot be opened by a node alone is refused, and nothing has been changed.
 *
 * The node goes on as another member, with an incarnation of its own, of a cluster with an id of
 * its own. So members of the former life that are found after all cannot be heard by it, nor hear
 * it: they are emptied and join. For the same reason a copy of a directory can come back under
 * another node id this way, and under no other: what was one member's is never that of two at once.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { configuration, encodeConfiguration } from '@svc/raft';
import {
  DamageError,
  type Disk,
  readFileSync,
  readIdentity,
  replaceFileSync,
  writeIdentity,
} from '@svc/storage';
import type { Config } from '../config/config.js';
import { drawIncarnation, memberId } from '../config/member-id.js';
import type { Peer } from '../config/peers.js';
import { CONFIGURATION } from '../consensus/consensus-storage.js';
import { encodeAddresses } from '../consensus/group-addresses.js';
import {
  closeDirectory,
  type DirectoryOptions,
  type OpenDirectory,
  openDirectory,
} from '../directory/node-directory.js';
import { readInstall } from '../directory/snapshot-install.js';
import { type StatePlace, StateStore } from '../directory/state-store.js';
import { BootRefusedError } from '../system/node-refusal.js';

const MARKER = 'force_recovered.json';

interface Marker {
  readonly node: number;
  readonly incarnation: number;
  readonly clusterId: string;
  /** The configurations are durable. */
  readonly done: boolean;
}

/** Does what is asked for, or what was begun; nothing otherwise. @throws BootRefusedError */
export async function recoverByForce(options: DirectoryOptions, place: StatePlace): Promise<void> {
  const { config, disk, logger } = options;
  const raftDirectory = join(config.dataDirectory, 'raft');
  const known = readMarker(disk, raftDirectory);
  const isDone = known?.done !== false;
  if (isDone && config.forceRecover === null) return;
  if (isDone && known?.node === config.nodeId) {
    throw new BootRefusedError(
      'already_recovered',
      `SVC_RAFT_FORCE_RECOVER=${config.forceRecover} is still set, but this node already ` +
        `recovered: unset it (to recover once more, remove ${raftDirectory}/${MARKER} first)`,
    );
  }
  const { forceRecover } = config;
  const { self, before } = refuseUnfit(disk, config);
  const parts = await new Promise<OpenDirectory>((resolve) =>
    // No other node is asked: damage that only others could mend is refused.
    openDirectory({ ...options, config: before, peers: null }, new StateStore(place), resolve),
  );
  if (parts.hardState.state === null) throw nothingToRecover(config);
  const isBegun = !isDone && known?.node === config.nodeId;
  const marker = isBegun ? known : newMarker(options);
  writeMarker(disk, raftDirectory, marker);
  const index = await appendConfigurations(parts, marker, self);
  parts.marker.clear();
  await closeDirectory(parts);
  const { incarnation, clusterId } = marker;
  const { nodeId } = config;
  writeIdentity(disk, config.dataDirectory, { ...parts.identity, nodeId, incarnation, clusterId });
  writeMarker(disk, raftDirectory, { ...marker, done: true });
  const unset = forceRecover === null ? '' : 'unset SVC_RAFT_FORCE_RECOVER, ';
  logger.warn(
    'boot',
    `node ${nodeId} is the only voter from entry ${index} on: ${unset}empty the directories of ` +
      'the other nodes, start them and add them',
  );
}

/** `before` is what the directory, which may be another node's, is opened with. */
function refuseUnfit(disk: Disk, config: Config): { self: Peer; before: Config } {
  const { dataDirectory, self } = config;
  const what = `SVC_RAFT_FORCE_RECOVER=${config.forceRecover ?? config.nodeId}`;
  if (self === null) {
    throw new BootRefusedError('no_own_address', `${what} needs this node in SVC_RAFT_PEERS`);
  }
  const identity = readIdentity(disk, dataDirectory);
  if (identity === null) throw nothingToRecover(config);
  if (readInstall(disk, dataDirectory) !== null) {
    throw new BootRefusedError(
      'snapshot_unfinished',
      `${what}, but ${dataDirectory} had not caught up with the snapshot that it was sent: ` +
        'recover another node',
    );
  }
  return { self, before: { ...config, nodeId: identity.nodeId } };
}

function nothingToRecover({ forceRecover, nodeId, dataDirectory }: Config): BootRefusedError {
  const what = `SVC_RAFT_FORCE_RECOVER=${forceRecover ?? nodeId}`;
  const text = `${what}, but ${dataDirectory} holds nothing to recover`;
  return new BootRefusedError('nothing_to_recover', text);
}

function newMarker({ config, random }: DirectoryOptions): Marker {
  const incarnation = drawIncarnation(() => random.fraction());
  return { node: config.nodeId, incarnation, clusterId: randomUUID(), done: false };
}

/** The index of the first. */
async function appendConfigurations(
  { log, hardState }: OpenDirectory,
  { node, incarnation }: Marker,
  self: Peer,
): Promise<number> {
  const first = log.lastIndex + 1;
  const term = Math.max(hardState.state?.term ?? 0, log.term(log.lastIndex) ?? 0) + 1;
  const alone = configuration([memberId(node, incarnation)]);
  const data = encodeConfiguration(alone, encodeAddresses([self]));
  const entries = [first, first + 1].map((index) => ({ index, term, type: CONFIGURATION, data }));
  await new Promise<void>((resolve) => log.append(entries, resolve));
  return first;
}

function writeMarker(disk: Disk, directory: string, marker: Marker): void {
  const bytes = new Uint8Array(Buffer.from(`${JSON.stringify(marker, null, 2)}\n`));
  replaceFileSync(disk, directory, MARKER, bytes);
}

/** null when there is none. */
function readMarker(disk: Disk, directory: string): Marker | null {
  const path = join(directory, MARKER);
  if (!disk.existsSync(path)) return null;
  const marker = parse(Buffer.from(readFileSync(disk, path)).toString('utf8'));
  if (marker !== null) return marker;
  const advice = 'It says that this node went on alone; if it need not again, remove it';
  throw new DamageError('recovery_marker_damaged', path, 0, 'it does not parse', advice);
}

function parse(text: string): Marker | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { node, incarnation, clusterId, done } = value as { readonly [field: string]: unknown };
  if (typeof node !== 'number' || typeof incarnation !== 'number') return null;
  if (typeof clusterId !== 'string' || typeof done !== 'boolean') return null;
  return { node, incarnation, clusterId, done };
}
