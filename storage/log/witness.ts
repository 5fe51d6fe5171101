/**
 * The second witness: one sector in a file of its own that names the newest record known to be
 * durable. A segment by itself cannot tell that its tail or a whole last segment is gone; the
 * witness can. It also pins the last records of the log when their own headers are damaged.
 *
 * It is written a few times a second when something is new, after the group it names is durable,
 * and synced. It may lag, and then it only says less. It must never say too much: before records
 * are cut on purpose, it is lowered and synced. A witness that cannot be read says nothing.
 *
 * An orderly stop says so in it (`isLast`): then nothing follows the record it names. Before the
 * next group is written that word is taken back.
 *
 * Why not a ring of headers that is written with every group. The log is such a ring already: each
 * group proves all groups before it, with chain, index and CRC, so only the last one is in doubt. A
 * ring that is not synced says nothing after a loss of power about just that group, so it is worth
 * no more than this file. A ring that is synced is a second sync for every group, behind the
 * first: with one append at a time it left a quarter to a half of the appends, on a busy machine. A
 * sync four times a second is few beside thousands of groups.
 *
 * What remains in doubt. The last group is taken for a torn write only when it is not valid and has
 * the shape of one: a whole sector of zeros in a record, or zeros to the end (log/torn.ts). A
 * flipped bit has not, so it is told from a torn write without any witness. So a durable group is
 * lost unnoticed only when (a) power was lost, (b) within the time that the witness lags, a quarter
 * of a second or less, (c) after that group no other was written, and (d) the disk gave back zeros
 * for sectors of it that it had reported stored, or a bit flipped in a record that has a sector of
 * zeros by itself. Nodes with peers ask them even then (`LogRecovery.tornTail`).
 */
import { crc32 } from 'node:zlib';
import { type Disk, type DiskDone, type DiskFile, readFileSync } from '../disk/disk.js';
import type { DiskError } from '../disk/faults.js';
import { FORMAT_VERSION, getU64, IDENTITY_BYTES, putU64, sameBytes, viewOf } from './format.js';

const WITNESS_MAGIC = 0x4957_4353;
const WITNESS_BYTES = 64;
const WITNESS_NAME = 'witness';
const FLAG_IS_LAST = 1;

export interface Witness {
  /** Sequence of the segment that holds the record; 0 when no record is named. */
  readonly sequence: number;
  readonly index: number;
  readonly term: number;
  readonly headerCrc: number;
  /** The log was closed: nothing is written after the record until another witness is. */
  readonly isLast: boolean;
}

export const NO_WITNESS: Witness = {
  sequence: 0,
  index: 0,
  term: 0,
  headerCrc: 0,
  isLast: false,
};

/** NO_WITNESS when the file is missing, foreign or damaged. */
export function readWitness(disk: Disk, directory: string, identity: Uint8Array): Witness {
  const path = `${directory}/${WITNESS_NAME}`;
  if (!disk.existsSync(path)) return NO_WITNESS;
  const bytes = readFileSync(disk, path);
  if (bytes.length !== WITNESS_BYTES) return NO_WITNESS;
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== WITNESS_MAGIC) return NO_WITNESS;
  if (view.getUint32(4, true) !== FORMAT_VERSION) return NO_WITNESS;
  if (!sameBytes(bytes.subarray(8, 8 + IDENTITY_BYTES), identity)) return NO_WITNESS;
  if (crc32(bytes.subarray(0, 60)) !== view.getUint32(60, true)) return NO_WITNESS;
  return {
    sequence: getU64(view, 24),
    index: getU64(view, 32),
    term: getU64(view, 40),
    headerCrc: view.getUint32(48, true),
    isLast: view.getUint32(52, true) === FLAG_IS_LAST,
  };
}

export class WitnessFile {
  readonly #file: DiskFile;
  readonly #identity: Uint8Array;
  #writing = false;
  /** Runs when the write under way ends; a lowering waits in it. */
  #next: (() => void) | null = null;

  constructor(disk: Disk, directory: string, identity: Uint8Array) {
    const path = `${directory}/${WITNESS_NAME}`;
    this.#identity = identity;
    if (disk.existsSync(path)) {
      this.#file = disk.openSync(path, 'write');
    } else {
      this.#file = disk.openSync(path, 'create');
      disk.syncDirectorySync(directory);
    }
  }

  /** Names `witness` durably; false, and nothing is done, while another write is under way. */
  note(witness: Witness, done: DiskDone): boolean {
    if (this.#writing) return false;
    this.#write(witness, done);
    return true;
  }

  /** As `note`, but waits for its turn; for use before records above it are cut. */
  lower(witness: Witness, done: DiskDone): void {
    if (this.#writing) {
      this.#next = () => this.lower(witness, done);
      return;
    }
    this.#write(witness, done);
  }

  #write(witness: Witness, done: DiskDone): void {
    this.#writing = true;
    const finish = (error: DiskError | null) => {
      this.#writing = false;
      const next = this.#next;
      this.#next = null;
      done(error);
      if (next !== null) next();
    };
    this.#file.writeSynced([encode(this.#identity, witness)], 0, finish);
  }

  closeSync(): void {
    this.#file.closeSync();
  }
}

function encode(identity: Uint8Array, witness: Witness): Uint8Array {
  const bytes = new Uint8Array(WITNESS_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, WITNESS_MAGIC, true);
  view.setUint32(4, FORMAT_VERSION, true);
  bytes.set(identity, 8);
  putU64(view, 24, witness.sequence);
  putU64(view, 32, witness.index);
  putU64(view, 40, witness.term);
  view.setUint32(48, witness.headerCrc, true);
  view.setUint32(52, witness.isLast ? FLAG_IS_LAST : 0, true);
  view.setUint32(60, crc32(bytes.subarray(0, 60)), true);
  return bytes;
}
