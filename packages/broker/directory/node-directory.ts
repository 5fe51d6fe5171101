/**
 * Opening a data directory, from the bottom up: identity, log, a snapshot that is to be installed,
 * term and vote, state. It stops at the first thing that cannot be trusted, with a fault that says
 * which file, where and what to do.
 *
 * A node with peers opens a log in spite of damage: what it lost, others may have. A node alone
 * refuses.
 */
import { join } from 'node:path';
import { buildNameIndex, membershipAt, refuseNewerVersion, TABLES } from '@svc/engine';
import type { NodeId } from '@svc/raft';
import {
  type Backing,
  Checkpoint,
  DamageError,
  type Disk,
  HardStateFile,
  type Identity,
  identityBytes,
  Log,
  type WriteTiming,
} from '@svc/storage';
import type { Meters } from '@svc/wire';
import type { Config } from '../config/config.js';
import { memberId } from '../config/member-id.js';
import { type FormingRecord, readForming } from '../consensus/forming-record.js';
import {
  foundersOf,
  foundingEntry,
  type KnownMembers,
  knownMembers,
} from '../consensus/group-founding.js';
import type { Clock } from '../system/clock.js';
import type { CrashSetting } from '../system/crash-points.js';
import { CrashPointsBacking, CrashPointsDisk } from '../system/crash-points-disk.js';
import type { Logger } from '../system/logging.js';
import type { RandomSource } from '../system/random.js';
import { writeTiming } from '../system/write-timing.js';
import { identify } from './node-identity.js';
import { RecoveringMarker } from './recovering-marker.js';
import { finishInstall, type Install, readInstall } from './snapshot-install.js';
import type { StateStore } from './state-store.js';
import { openState } from './state-store-recovery.js';

export interface DirectoryOptions {
  readonly config: Config;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly crash: Exclude<CrashSetting, { readonly kind: 'refused' }>;
  /** What a fresh directory does; 'found' unless given. A joining one waits to be added. */
  readonly founding?: 'found' | 'join';
  /** Where others are to be reached; none unless given. */
  readonly peers?: object | null;
  readonly onFatal: (error: Error) => void;
  /** What the process counts; an object of its own without it. */
  readonly meters?: Meters;
  /** The newest effect catalogue that is read, in a test of builds that differ. */
  readonly readVersion?: number;
}

export interface OpenDirectory {
  readonly directory: string;
  readonly disk: Disk;
  readonly identity: Identity;
  /** How it came to be; null where that was not recorded. */
  readonly formed: FormingRecord | null;
  /** The member that this node is to consensus. */
  readonly self: NodeId;
  readonly log: Log;
  readonly hardState: HardStateFile;
  readonly marker: RecoveringMarker;
  readonly store: StateStore;
  readonly backing: Backing;
  readonly state: Checkpoint;
  /** The state was lost, and the log does not reach back: it has to come from another node. */
  readonly stateless: boolean;
  /** A snapshot was installed, and the log has not caught up with it yet. */
  readonly install: Install | null;
  /** As of an entry up to which the state is complete; the log must be whole. */
  readonly members: (index: number) => KnownMembers;
}

/** `done` runs before this returns unless a snapshot has to be installed first. */
export function openDirectory(
  options: DirectoryOptions,
  store: StateStore,
  done: (parts: OpenDirectory) => void,
): void {
  const { config, onFatal, founding = 'found', peers = null } = options;
  const directory = config.dataDirectory;
  const disk = crashableDisk(options);
  disk.makeDirectorySync(directory);
  const fraction = () => options.random.fraction();
  const formed = readForming(disk, directory);
  const identity = identify(disk, directory, { config, formed, founding, fraction });
  const install = readInstall(disk, directory);
  const log = Log.open({
    disk,
    directory: join(directory, 'log'),
    identity: identityBytes(identity),
    segmentBytes: config.segmentBytes,
    recentBytesMax: config.logCacheBytes,
    timing: timingOf(options),
    damage: peers === null ? 'refuse' : 'keep',
    onFailure: onFatal,
  });
  const rest = (standing: Install | null) =>
    done(openAbove(options, { directory, disk, identity, formed, log, store, install: standing }));
  if (install?.phase !== 'installing') {
    rest(install);
    return;
  }
  options.logger.info('boot', `installing the snapshot at entry ${install.appliedIndex}`);
  const swapState = () => void store.install();
  const resetLog = (index: number, term: number, then: () => void) => log.reset(index, term, then);
  finishInstall(install, { disk, directory, swapState, resetLog }, rest);
}

/** The end of a directory in which nothing runs: all files are closed. */
export async function closeDirectory({
  log,
  hardState,
  state,
  store,
}: OpenDirectory): Promise<void> {
  await new Promise<void>((resolve) => log.close(resolve));
  hardState.close();
  await state.close();
  await new Promise<void>((resolve) => store.close(resolve));
}

type Below = Pick<
  OpenDirectory,
  'directory' | 'disk' | 'identity' | 'formed' | 'log' | 'store' | 'install'
>;

function openAbove(options: DirectoryOptions, below: Below): OpenDirectory {
  const { config, logger, onFatal, peers = null } = options;
  const { directory, disk, identity, formed, log, store, install } = below;
  refuseLostHardState(log, disk, directory);
  const stamp = identityBytes(identity);
  const raftDirectory = join(directory, 'raft');
  const hardState = HardStateFile.open({
    disk,
    directory: raftDirectory,
    identity: stamp,
    onFailure: onFatal,
  });
  const { backing, recovery } = openState(store, {
    identity: stamp,
    firstIndex: log.firstIndex,
    lastIndex: log.lastIndex,
    hasPeers: peers !== null,
    warn: (text) => logger.warn('boot', text),
  });
  const state = new Checkpoint({
    backing: crashableBacking(options, backing),
    tables: TABLES,
    onFailure: onFatal,
    timing: timingOf(options),
    defer: (run) => void options.clock.soon(run),
  });
  refuseNewerVersion(state, options.readVersion);
  buildNameIndex(state);
  logger.info('boot', describeRecovery(log, state));
  const marker = new RecoveringMarker(disk, raftDirectory);
  const stateless = recovery === 'from-snapshot';
  if (!stateless) refuseHole(log, state, directory);
  if (peers === null) {
    refuseTruncatedLog(log, state, directory);
    refuseUnreadable(log, state);
  }
  const self = memberId(identity.nodeId, identity.incarnation);
  const outcome = formed?.outcome ?? null;
  const joined = outcome === null ? identity.incarnation > 0 : outcome.founding === null;
  refuseLostLog(log, hardState, directory, joined || marker.stands);
  // Consensus begins when the founding entry is durable; a crash before that founds once more.
  const unfounded = log.isWhole && log.lastIndex === 0 && state.appliedIndex === 0;
  if (unfounded && !joined && hardState.state === null)
    log.append([foundingEntry(outcome?.founding ?? foundersOf(identity.nodeId, config))], () => {});
  const members = (index: number) => knownMembers(membershipAt(state, index), log, self, joined);
  return { ...below, self, install, marker, stateless, hardState, backing, state, members };
}

function timingOf({ meters, clock }: DirectoryOptions): WriteTiming | null {
  return meters === undefined ? null : writeTiming(meters.pipeline, clock);
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

/** The log must hold every entry after the checkpoint. */
function refuseHole(log: Log, state: Checkpoint, directory: string): void {
  if (log.firstIndex <= state.appliedIndex + 1) return;
  throw new DamageError(
    'missing_log',
    join(directory, 'log'),
    0,
    `acknowledged records are missing: the log begins at entry ${log.firstIndex}, ` +
      `but the checkpoint ends at entry ${state.appliedIndex}`,
    'Restore the missing log files, or restore the whole directory from one copy',
  );
}

/** A founder saves a term only after its first entry is durable. */
function refuseLostLog(
  log: Log,
  hardState: HardStateFile,
  directory: string,
  isExplained: boolean,
): void {
  if (isExplained || !log.isWhole || log.lastIndex > 0 || hardState.state === null) return;
  throw new DamageError(
    'missing_log',
    join(directory, 'log'),
    0,
    `the log is empty, but this node took part in term ${hardState.state.term}`,
    'Restore the log files, or restore the whole directory from one copy',
  );
}

/** A log that ends before the state has lost entries, unless something says why it may. */
export function refuseTruncatedLog(log: Log, state: Checkpoint, directory: string): void {
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

/** Before anything is written: what is replayed must not turn out damaged halfway. */
function refuseUnreadable(log: Log, state: Checkpoint): void {
  if (log.lastIndex === state.appliedIndex) return;
  const damage = log.examine(state.appliedIndex + 1);
  const slot = damage.find(({ lastIndex }) => lastIndex > state.appliedIndex);
  if (slot === undefined) return;
  throw new DamageError(
    'log_record_damaged',
    slot.file,
    slot.offset,
    `record ${slot.index} is not what was written, and the checkpoint does not hold it`,
    'Nothing was changed. Put the file back from a copy of this directory',
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
