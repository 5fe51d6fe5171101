/** The identity of a data directory, and the one that a fresh directory is given. */
import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DamageError, type Disk, type Identity, readIdentity, writeIdentity } from '@svc/storage';
import type { Config } from '../config/config.js';
import { drawIncarnation } from '../config/member-id.js';
import type { FormingRecord } from '../consensus/forming-record.js';

export interface IdentityOptions {
  readonly config: Config;
  /** What the directory became when it asked the others; null: it asked nobody. */
  readonly formed: FormingRecord | null;
  /** Without it: who founds has incarnation 0, as its fellows expect; who joins draws one. */
  readonly founding: 'found' | 'join';
  /** In [0, 1). */
  readonly fraction: () => number;
}

/** A fresh directory gets an identity; an existing one must belong to this node. */
export function identify(disk: Disk, directory: string, options: IdentityOptions): Identity {
  const { config, founding, formed, fraction } = options;
  const id = config.nodeId;
  const known = readIdentity(disk, directory);
  if (known === null) {
    refuseLostIdentity(disk, directory);
    const life = formed?.outcome == null ? null : formed;
    const fresh: Identity = {
      nodeId: id,
      clusterId: life?.outcome?.clusterId ?? clusterIdOf(config),
      directoryId: randomUUID(),
      incarnation: life?.incarnation ?? (founding === 'found' ? 0 : drawIncarnation(fraction)),
    };
    writeIdentity(disk, directory, fresh);
    return fresh;
  }
  if (known.nodeId !== id) {
    throw new DamageError(
      'foreign_directory',
      directory,
      0,
      `this directory belongs to node ${known.nodeId}, and this is node ${id}`,
      'Set SVC_RAFT_NODE_ID to the node it belongs to, or name another SVC_RAFT_DIR. A copy ' +
        'comes back as another node by SVC_RAFT_FORCE_RECOVER alone',
    );
  }
  return known;
}

/** Members of one group must agree on it without a word: the same list gives the same id. */
function clusterIdOf({ peers }: Config): string {
  if (peers.length === 0) return randomUUID();
  const hash = createHash('sha256');
  for (const { id, raftAddress } of [...peers].sort((one, other) => one.id - other.id)) {
    hash.update(`${id}=${raftAddress},`);
  }
  const hex = hash.digest('hex');
  const time = `${hex.slice(0, 8)}-${hex.slice(8, 12)}`;
  return `${time}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The identity is the first file of a directory: others without it mean that it was lost. */
export function refuseLostIdentity(disk: Disk, directory: string): void {
  if (!disk.existsSync(join(directory, 'log'))) return;
  throw new DamageError(
    'identity_missing',
    join(directory, 'identity.json'),
    0,
    'the file is missing, but the directory holds a log',
    'Nothing was changed. Put the file back from a copy, or name an empty SVC_RAFT_DIR',
  );
}
