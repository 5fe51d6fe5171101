/**
 * The last step of taking over a snapshot: what was received becomes this node's state, and its log
 * begins anew where the leader's does. It happens while the directory is opened, before consensus
 * exists, and each step may be interrupted and is done again.
 *
 *     marker `installing` durable      the rows received are complete and verified
 *       the stores change places       again: the store knows how far it is
 *       the log is reset to F - 1      again: to the same place, nothing was appended since;
 *                                      left alone if only the state was lost (`resetsLog`)
 *     marker `catching-up` durable     the state is at A, the log ends at F - 1 <= A
 *       entries F.. come from the leader; those up to A are not applied again
 *     marker gone                      a checkpoint of this node at or after A is durable
 *
 * What must hold:
 * - The reset drops only entries that conflict with what is committed, or that the rows contain.
 *   So the marker is written in the same turn in which consensus was asked whether it still needs
 *   the snapshot, and consensus is told nothing more after that turn.
 * - A log that ends before the state is a lost log, except while the marker says why.
 * - Crash before the marker: the old state and log are untouched, and the rows received are gone
 *   on with. Crash after it: the new ones come, whatever was half done.
 */
import { crc32 } from 'node:zlib';
import { DamageError, type Disk, readFileSync, replaceFileSync } from '@svc/storage';

const MARKER = 'snapshot-install.json';
const FORMAT = 1;

const ADVICE =
  'Nothing was changed. Start this node with an empty directory and add it to its cluster again';

export interface Install {
  readonly phase: 'installing' | 'catching-up';
  /** False when this node's log is in order and its state alone is replaced. */
  readonly resetsLog: boolean;
  /** Where the log ends after the reset: the entry before the leader's first, F - 1. */
  readonly logIndex: number;
  readonly logTerm: number;
  /** A: what the rows contain. logIndex <= appliedIndex. */
  readonly appliedIndex: number;
  /** The member that offered the snapshot. */
  readonly offeredBy: number;
}

/** null when none is under way. Throws DamageError when the marker is not what was written. */
export function readInstall(disk: Disk, directory: string): Install | null {
  const path = `${directory}/${MARKER}`;
  if (!disk.existsSync(path)) return null;
  const install = parse(Buffer.from(readFileSync(disk, path)).toString('utf8'));
  if (install !== null) return install;
  const what = 'it is not the marker that was written when a snapshot was received';
  throw new DamageError('snapshot_marker_damaged', path, 0, what, ADVICE);
}

/** Durable when it returns. */
export function writeInstall(disk: Disk, directory: string, install: Install): void {
  const fields = { format: FORMAT, ...install, crc: checksum(install) };
  const bytes = new Uint8Array(Buffer.from(`${JSON.stringify(fields, null, 2)}\n`));
  replaceFileSync(disk, directory, MARKER, bytes);
}

/** Durable when it returns. */
export function removeInstall(disk: Disk, directory: string): void {
  disk.removeSync(`${directory}/${MARKER}`);
  disk.syncDirectorySync(directory);
}

export interface InstallSteps {
  readonly disk: Disk;
  readonly directory: string;
  /** Brings what was received into its place; durable when it returns, and may be called again. */
  readonly swapState: () => void;
  readonly resetLog: (index: number, term: number, done: () => void) => void;
}

/**
 * To be called at open, with the state store closed and the log open, when the marker says
 * `installing`; `done` gets the marker that stands afterwards.
 */
export function finishInstall(
  install: Install,
  steps: InstallSteps,
  done: (next: Install) => void,
): void {
  steps.swapState();
  const advance = () => {
    const next: Install = { ...install, phase: 'catching-up' };
    writeInstall(steps.disk, steps.directory, next);
    done(next);
  };
  if (install.resetsLog) steps.resetLog(install.logIndex, install.logTerm, advance);
  else advance();
}

function parse(text: string): Install | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (typeof value !== 'object' || value === null) return null;
  const fields: { readonly [field: string]: unknown } = { ...value };
  const { format, phase, resetsLog, logIndex, logTerm, appliedIndex, offeredBy, crc } = fields;
  if (format !== FORMAT || (phase !== 'installing' && phase !== 'catching-up')) return null;
  if (typeof resetsLog !== 'boolean') return null;
  if (typeof logIndex !== 'number' || typeof logTerm !== 'number') return null;
  if (typeof appliedIndex !== 'number' || typeof offeredBy !== 'number') return null;
  const install: Install = { phase, resetsLog, logIndex, logTerm, appliedIndex, offeredBy };
  return crc === checksum(install) ? install : null;
}

function checksum(install: Install): number {
  const { phase, resetsLog, logIndex, logTerm, appliedIndex, offeredBy } = install;
  return crc32([FORMAT, phase, resetsLog, logIndex, logTerm, appliedIndex, offeredBy].join(' '));
}
