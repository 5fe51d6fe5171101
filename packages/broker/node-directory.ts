/**
 * Opening a data directory, from the bottom up: identity, log, term and vote, checkpoint. It stops
 * at the first thing that cannot be trusted, with a fault that says which file, where and what to
 * do.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { TABLES } from '@svc/engine';
import {
  type Backing,
  Checkpoint,
  DamageError,
  type Disk,
  HardStateFile,
  type Identity,
  identityBytes,
  Log,
  readIdentity,
  writeIdentity,
} from '@svc/storage';
import type { Config } from './config.js';
import type { CrashSetting } from './crash-points.js';
import { CrashPointsBacking, CrashPointsDisk } from './crash-points-disk.js';
import type { Logger } from './logging.js';

export interface DirectoryOptions {
  readonly config: Config;
  readonly disk: Disk;
  readonly logger: Logger;
  readonly crash: Exclude<CrashSetting, { readonly kind: 'refused' }>;
  readonly onFatal: (error: Error) => void;
}

export interface OpenDirectory {
  readonly identity: Identity;
  readonly log: Log;
  readonly hardState: HardStateFile;
  readonly backing: Backing;
  readonly state: Checkpoint;
}

/** `openBacking` opens the state store that carries `identity`. */
export function openDirectory(
  options: DirectoryOptions,
  openBacking: (identity: Uint8Array) => Backing,
): OpenDirectory {
  const { config, logger, onFatal } = options;
  const directory = config.dataDirectory;
  const disk = crashableDisk(options);
  disk.makeDirectorySync(directory);
  const identity = identify(disk, directory, config.nodeId);
  const stamp = identityBytes(identity);
  const log = Log.open({
    disk,
    directory: join(directory, 'log'),
    identity: stamp,
    segmentBytes: config.segmentBytes,
    recentBytesMax: config.logCacheBytes,
    onFailure: onFatal,
  });
  refuseLostHardState(log, disk, directory);
  const hardState = HardStateFile.open({
    disk,
    directory: join(directory, 'raft'),
    identity: stamp,
    onFailure: onFatal,
  });
  const backing = openBacking(stamp);
  const state = new Checkpoint({
    backing: crashableBacking(options, backing),
    tables: TABLES,
    onFailure: onFatal,
  });
  logger.info('boot', describeRecovery(log, state));
  refuseUnfitLog(log, state, directory);
  return { identity, log, hardState, backing, state };
}

function crashableDisk({ config, disk, crash }: DirectoryOptions): Disk {
  if (crash.kind === 'unarmed') return disk;
  return new CrashPointsDisk(disk, crash.reach, {
    log: join(config.dataDirectory, 'log'),
    hardState: join(config.dataDirectory, 'raft'),
  });
}

function crashableBacking({ crash }: DirectoryOptions, backing: Backing): Backing {
  return crash.kind === 'unarmed' ? backing : new CrashPointsBacking(backing, crash.reach);
}

/** A fresh directory gets an identity; an existing one must belong to this node. */
function identify(disk: Disk, directory: string, id: number): Identity {
  const known = readIdentity(disk, directory);
  if (known === null) {
    refuseLostIdentity(disk, directory);
    const fresh = { nodeId: id, clusterId: randomUUID(), directoryId: randomUUID() };
    writeIdentity(disk, directory, fresh);
    return fresh;
  }
  if (known.nodeId !== id) {
    throw new DamageError(
      'foreign_directory',
      directory,
      0,
      `this directory belongs to node ${known.nodeId}, and this is node ${id}`,
      'Set SVC_RAFT_NODE_ID to the node it belongs to, or name another SVC_RAFT_DIR',
    );
  }
  return known;
}

/** The identity is the first file of a directory: others without it mean that it was lost. */
function refuseLostIdentity(disk: Disk, directory: string): void {
  if (!disk.existsSync(join(directory, 'log'))) return;
  throw new DamageError(
    'identity_missing',
    join(directory, 'identity.json'),
    0,
    'the file is missing, but the directory holds a log',
    'Nothing was changed. Put the file back from a copy, or name an empty SVC_RAFT_DIR',
  );
}

/** Entries of a term are written only when this node's part in electing its leader is durable. */
function refuseLostHardState(log: Log, disk: Disk, directory: string): void {
  const file = join(directory, 'raft', 'hard-state');
  if (log.lastIndex === 0 || disk.existsSync(file)) return;
  throw new DamageError(
    'missing_hard_state',
    file,
    0,
    `term and vote are missing, but the log holds entries up to ${log.lastIndex}`,
    'Put the file back from a copy of this data directory',
  );
}

/** The log must hold every entry after the checkpoint, and not end before it. */
function refuseUnfitLog(log: Log, state: Checkpoint, directory: string): void {
  if (log.firstIndex > state.appliedIndex + 1) {
    throw new DamageError(
      'missing_log',
      join(directory, 'log'),
      0,
      `acknowledged records are missing: the log begins at entry ${log.firstIndex}, ` +
        `but the checkpoint ends at entry ${state.appliedIndex}`,
      'Restore the missing log files, or restore the whole directory from one copy',
    );
  }
  if (state.appliedIndex <= log.lastIndex) return;
  throw new DamageError(
    'truncated_log',
    join(directory, 'log'),
    0,
    `acknowledged records are missing (a truncated log): it ends at entry ${log.lastIndex}, ` +
      `but the checkpoint holds the state of entry ${state.appliedIndex}`,
    'Restore the missing log files, or restore the whole directory from one copy',
  );
}

function describeRecovery(log: Log, state: Checkpoint): string {
  const { segments, lastIndex, recordsScanned, tornTail } = log.recovery;
  const torn =
    tornTail === null
      ? ''
      : `; cut ${tornTail.bytes} bytes of a write that power or a kill interrupted ` +
        `(${tornTail.file} at byte ${tornTail.offset})`;
  return (
    `log up to entry ${lastIndex} (segments: ${segments}, records scanned: ${recordsScanned})` +
    `${torn}; checkpoint at entry ${state.appliedIndex}`
  );
}
