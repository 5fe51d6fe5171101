/**
 * What a data directory remembers of how it came to be, from before it belongs to a cluster: a
 * small JSON file with a checksum and a copy, as the identity has them.
 *
 *     incarnation   drawn at random at the very first start, durable before anybody is told
 *     pledge        the life of the lowest numbered node that this directory lets found
 *     outcome       the one thing it became; what is decided is never decided again
 */
import { crc32 } from 'node:zlib';
import type { NodeId } from '@svc/raft';
import { DamageError, type Disk, readFileSync, replaceFileSync } from '@svc/storage';
import type { Peer } from '../config/peers.js';

const NAMES = ['forming.json', 'forming.json.copy'] as const;
const FORMAT = 1;
const ADVICE = 'Nothing was changed. Put the file back from a copy of this directory';

/** The first entry of a cluster's log: who founds it, and where they are to be reached. */
export interface Founding {
  /** Ascending. The lowest is the one that wrote it. */
  readonly founders: readonly NodeId[];
  readonly peers: readonly Peer[];
}

export interface FormingOutcome {
  readonly clusterId: string;
  /** null: this directory is none of the founders, and waits to be added. */
  readonly founding: Founding | null;
}

export interface FormingRecord {
  readonly node: number;
  /** 1..2^32 - 1. */
  readonly incarnation: number;
  /** The member that the lowest numbered node is in this life of it; null before the first. */
  readonly pledge: NodeId | null;
  /** null while it is open. */
  readonly outcome: FormingOutcome | null;
}

/** As `readForming`; afterwards both copies say it. */
export function restoreForming(disk: Disk, directory: string): FormingRecord | null {
  const record = readForming(disk, directory);
  if (record === null) return null;
  const bytes = encode(record);
  const isWhole = NAMES.every((name) => {
    const path = `${directory}/${name}`;
    return disk.existsSync(path) && Buffer.compare(readFileSync(disk, path), bytes) === 0;
  });
  if (!isWhole) writeForming(disk, directory, record);
  return record;
}

/** null when there is none. Throws DamageError when neither copy can be read. */
export function readForming(disk: Disk, directory: string): FormingRecord | null {
  const paths = NAMES.map((name) => `${directory}/${name}`).filter((path) => disk.existsSync(path));
  for (const path of paths) {
    const record = parse(readFileSync(disk, path));
    if (record !== null) return record;
  }
  const [first] = paths;
  if (first === undefined) return null;
  throw new DamageError('forming_damaged', first, 0, 'it is not what was written', ADVICE);
}

/** Durable when it returns; a crash leaves the old one or the new one. */
export function writeForming(disk: Disk, directory: string, record: FormingRecord): void {
  disk.makeDirectorySync(directory);
  const bytes = encode(record);
  for (const name of NAMES) replaceFileSync(disk, directory, name, bytes);
}

function encode(record: FormingRecord): Uint8Array {
  const text = JSON.stringify({ format: FORMAT, ...record, crc: checksum(record) }, null, 2);
  return new Uint8Array(Buffer.from(`${text}\n`));
}

/** null: it is not what was written. What matches its checksum was written by this program. */
function parse(bytes: Uint8Array): FormingRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (typeof value !== 'object' || value === null || !('crc' in value)) return null;
  const { format, crc, ...record } = value as FormingRecord & { format: number; crc: number };
  return format === FORMAT && crc === checksum(record) ? record : null;
}

function checksum({ node, incarnation, pledge, outcome }: FormingRecord): number {
  return crc32(JSON.stringify([FORMAT, node, incarnation, pledge, outcome]));
}
