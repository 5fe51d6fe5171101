/**
 * Bytes that survive. In teaching order: the disk and what can go wrong; who a directory belongs
 * to; term and vote; the log, which is also the message store; the checkpoint of the state above
 * LMDB.
 *
 * A node's data directory: `identity.json` and the lock's socket in the directory itself, the log
 * in `log/`, term and vote in `raft/`, the checkpoint in `state/`. Opened in this order: lock,
 * identity, log, hard state, checkpoint; then the entries after `Checkpoint.appliedIndex` are
 * applied again. The caller compares `Log.firstIndex` with it: a log that begins later than the
 * entry after it cannot be applied.
 */

export type {
  DirectoryLock,
  Disk,
  DiskDone,
  DiskFile,
  DiskSpace,
  OpenMode,
} from './disk/disk.js';
export { readFileSync, replaceFileSync } from './disk/disk.js';
export { DamageError, DiskError, LockedError, StateFullError, StorageBug } from './disk/faults.js';
export { lastingCrc, noteNewHead } from './disk/lasting-crc.js';
export { RealDisk } from './disk/real.js';
export type { WriteTiming } from './disk/write-timing.js';
export type {
  DamagedSlot,
  EntryAnswer,
  EntryQuestion,
  RepairOutcome,
  RepairState,
} from './log/damage.js';
export type { BodySlice, LogEntry, LogRecovery, LogSegmentSummary } from './log/entry.js';
export { type HardState, HardStateFile, type HardStateOptions } from './log/hard-state.js';
export { type Identity, identityBytes, readIdentity, writeIdentity } from './log/identity.js';
export { Log, type LogOptions, type ReadDone } from './log/log.js';
export {
  type Applied,
  type Backing,
  type BackingFigures,
  type BackingRow,
  type BackingTransaction,
  type BackingView,
  type LogPosition,
  NOTHING_APPLIED,
  type ViewPortion,
} from './state/backing.js';
export { Checkpoint, type CheckpointOptions, type MemoryRows } from './state/checkpoint.js';
export { type LmdbOptions, openLmdb } from './state/lmdb/lmdb.js';
export { CommitError } from './state/lmdb/writer.js';
export { checksummedRow, openRow } from './state/row.js';
