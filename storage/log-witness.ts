/**
 * The second witness: one sector in a file of its own that names the newest record known to be
 * durable. A segment by itself cannot tell a torn last group from a damaged one, nor that its tail
 * or a whole last segment is gone; the witness can.
 *
 * It is written a few times a second, after the group it names is durable, and is not synced: it
 * may lag or, after a power loss, be older than what was durable, and then it only says less. It
 * must never say too much: before records are cut on purpose, it is lowered and synced. A witness
 * that cannot be read says nothing.
 */
import { crc32 } from 'node:zlib';
import { type Disk, type DiskDone, type DiskFile, readFileSync } from './disk.js';
import { FORMAT_VERSION, getU64, IDENTITY_BYTES, putU64, sameBytes, viewOf } from './log-format.js';

const WITNESS_MAGIC = 0x4957_4353;
const WITNESS_BYTES = 64;
const WITNESS_NAME = 'witness';

export interface Witness {
  /** Of the segment that holds the record; 0 when no record is named. */
  readonly sequence: number;
  readonly index: number;
  readonly term: number;
  readonly headerCrc: number;
}

export const NO_WITNESS: Witness = { sequence: 0, index: 0, term: 0, headerCrc: 0 };

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

  /** Names `witness`; false, and nothing is done, while another write is under way. */
  note(witness: Witness, done: DiskDone): boolean {
    if (this.#writing) return false;
    this.#write(witness, done);
    return true;
  }

  /** Names `witness` durably; for use before records above it are cut. */
  lower(witness: Witness, done: DiskDone): void {
    if (this.#writing) {
      this.#next = () => this.lower(witness, done);
      return;
    }
    this.#write(witness, (error) => {
      if (error !== null) done(error);
      else this.#file.sync(done);
    });
  }

  #write(witness: Witness, done: DiskDone): void {
    this.#writing = true;
    this.#file.write([encode(this.#identity, witness)], 0, (error) => {
      this.#writing = false;
      const next = this.#next;
      this.#next = null;
      done(error);
      if (next !== null) next();
    });
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
  view.setUint32(60, crc32(bytes.subarray(0, 60)), true);
  return bytes;
}
