/**
 * Term and vote. A node that forgets a vote may vote twice in a term, so each state is durable
 * before its callback runs and stands in two checksummed slots, far enough apart that one torn
 * write cannot reach both.
 *
 * A save writes the first slot, syncs, writes the second, syncs, and only then reports. So at any
 * moment at least one slot is whole, and everything that was reported stands in both: a bit that
 * flips in one of them costs nothing. An open takes the newest valid slot and stores it in both
 * again. Both damaged is refused; that takes two faults, such as a flipped bit in one slot and,
 * before the next open, a power loss within the write of the other.
 *
 * Reporting after the first sync would save one of two in an election, but a vote would stand on
 * one slot until the second is written: a flipped bit then lets an older vote, or none, come back.
 *
 *     slot := magic version identity(16) sequence(8) term(8) vote(8) crc(4), little-endian
 */
import { crc32 } from 'node:zlib';
import { type Disk, type DiskFile, readFileSync, replaceFileSync } from '../disk/disk.js';
import { assert, DamageError, type DiskError, StorageBug } from '../disk/faults.js';
import { FORMAT_VERSION, getU64, IDENTITY_BYTES, putU64, sameBytes, viewOf } from './format.js';

const HARD_STATE_NAME = 'hard-state';
const HARD_STATE_MAGIC = 0x5648_4353;
const SLOT_BYTES = 64;
/** A page apart: no device tears across it. */
const SLOT_POSITIONS = [0, 4096] as const;
const FILE_BYTES = 8192;

const ADVICE =
  'Without it this node may vote twice. Nothing was changed. Put the file back from a copy of ' +
  'this directory';

export interface HardState {
  readonly term: number;
  /** The node that got this node's vote in `term`; 0 for none. */
  readonly vote: number;
}

export interface HardStateOptions {
  readonly disk: Disk;
  readonly directory: string;
  /** 16 bytes: the directory id. */
  readonly identity: Uint8Array;
  /** Called once, at the first failed write or sync. The process has to end. */
  readonly onFailure: (error: DiskError) => void;
}

interface Slot {
  readonly sequence: number;
  readonly state: HardState;
}

const EMPTY: Slot = { sequence: 0, state: { term: 0, vote: 0 } };

export class HardStateFile {
  readonly #file: DiskFile;
  readonly #options: HardStateOptions;
  #sequence: number;
  #stored: HardState | null;
  #wanted: HardState | null = null;
  #waiting: (() => void)[] = [];
  #busy = false;
  #failed = false;

  /** Throws DamageError, and DiskError. */
  static open(options: HardStateOptions): HardStateFile {
    return new HardStateFile(options);
  }

  private constructor(options: HardStateOptions) {
    const { disk, directory, identity } = options;
    const path = `${directory}/${HARD_STATE_NAME}`;
    disk.makeDirectorySync(directory);
    if (!disk.existsSync(path)) {
      const bytes = new Uint8Array(FILE_BYTES);
      for (const position of SLOT_POSITIONS) bytes.set(encodeSlot(identity, EMPTY), position);
      replaceFileSync(disk, directory, HARD_STATE_NAME, bytes);
    }
    const newest = newestSlot(readFileSync(disk, path), identity, path);
    this.#options = options;
    this.#sequence = newest.sequence;
    this.#stored = newest.sequence === 0 ? null : newest.state;
    this.#file = disk.openSync(path, 'write');
    // What was read may be in the page cache alone, or in one slot: both are stored anew, the one
    // that may be damaged first.
    const bytes = encodeSlot(identity, newest);
    for (const position of [...SLOT_POSITIONS].reverse()) {
      this.#file.writeSync(bytes, position);
      this.#file.syncSync();
    }
  }

  /** The newest durable state; null when none was ever saved. */
  get state(): HardState | null {
    return this.#stored;
  }

  /**
   * `done` runs once the state, or a newer one asked for meanwhile, is durable. Terms never go
   * down, and a vote given in a term is never changed.
   */
  save(state: HardState, done: () => void): void {
    if (this.#failed) throw new StorageBug('the hard state failed before and takes nothing more');
    const last = this.#wanted ?? this.#stored ?? EMPTY.state;
    const isVoteKept = last.vote === 0 || last.vote === state.vote;
    assert(
      state.term > last.term || (state.term === last.term && isVoteKept),
      `(${state.term}, ${state.vote}) cannot follow (${last.term}, ${last.vote})`,
    );
    this.#wanted = state;
    this.#waiting.push(done);
    this.#pump();
  }

  close(): void {
    this.#failed = true;
    this.#file.closeSync();
  }

  #pump(): void {
    const state = this.#wanted;
    if (this.#busy || state === null) return;
    this.#busy = true;
    this.#wanted = null;
    const waiting = this.#waiting;
    this.#waiting = [];
    const slot = { sequence: ++this.#sequence, state };
    this.#store(slot, SLOT_POSITIONS[0], () => {
      this.#store(slot, SLOT_POSITIONS[1], () => {
        this.#stored = state;
        this.#busy = false;
        this.#pump();
        for (const done of waiting) done();
      });
    });
  }

  #store(slot: Slot, position: number, done: () => void): void {
    if (this.#failed) return;
    const bytes = encodeSlot(this.#options.identity, slot);
    this.#file.writeSynced([bytes], position, (error) => {
      if (this.#failed) return;
      if (error !== null) this.#fail(error);
      else done();
    });
  }

  #fail(error: DiskError): void {
    this.#failed = true;
    this.#options.onFailure(error);
  }
}

function encodeSlot(identity: Uint8Array, slot: Slot): Uint8Array {
  const bytes = new Uint8Array(SLOT_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, HARD_STATE_MAGIC, true);
  view.setUint32(4, FORMAT_VERSION, true);
  bytes.set(identity, 8);
  putU64(view, 24, slot.sequence);
  putU64(view, 32, slot.state.term);
  putU64(view, 40, slot.state.vote);
  view.setUint32(60, crc32(bytes.subarray(0, 60)), true);
  return bytes;
}

function newestSlot(bytes: Uint8Array, identity: Uint8Array, path: string): Slot {
  let newest: Slot | null = null;
  for (const position of SLOT_POSITIONS) {
    const slot = decodeSlot(bytes.subarray(position, position + SLOT_BYTES), identity, path);
    if (slot !== null && slot.sequence >= (newest?.sequence ?? 0)) newest = slot;
  }
  if (newest !== null) return newest;
  throw new DamageError('hard_state_damaged', path, 0, 'neither slot holds a valid state', ADVICE);
}

/** null when the bytes are no whole slot. */
function decodeSlot(bytes: Uint8Array, identity: Uint8Array, path: string): Slot | null {
  if (bytes.length < SLOT_BYTES) return null;
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== HARD_STATE_MAGIC) return null;
  if (crc32(bytes.subarray(0, 60)) !== view.getUint32(60, true)) return null;
  const version = view.getUint32(4, true);
  if (version !== FORMAT_VERSION) {
    const what = `format version ${version} is not one this program reads`;
    throw new DamageError('hard_state_format_version', path, 4, what, ADVICE);
  }
  if (!sameBytes(bytes.subarray(8, 8 + IDENTITY_BYTES), identity)) {
    const what = 'it belongs to another data directory';
    throw new DamageError('hard_state_foreign', path, 8, what, ADVICE);
  }
  const state = { term: getU64(view, 32), vote: getU64(view, 40) };
  return { sequence: getU64(view, 24), state };
}
