/**
 * Who a data directory belongs to: a small JSON file that an operator can read, with a checksum
 * over its fields. The directory id is minted once and stands in every other file, so that files of
 * two directories cannot be mixed unnoticed.
 *
 * A second copy stands beside it, so that a flipped bit does not end a node that is otherwise
 * whole. The file is written first, then the copy; reading takes the first of the two that is valid
 * and writes the other anew when it says anything else. Both damaged is refused.
 */
import { crc32 } from 'node:zlib';
import { type Disk, readFileSync, replaceFileSync } from '../disk/disk.js';
import { assert, DamageError } from '../disk/faults.js';

const IDENTITY_NAME = 'identity.json';
const COPY_NAME = 'identity.json.copy';
const IDENTITY_FORMAT = 1;
const INCARNATION_MAX = 2 ** 32 - 1;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const ADVICE =
  'Nothing was changed. Put the file back from a copy of this directory. Emptying the directory ' +
  'loses every message that no other node has';

export interface Identity {
  /** >= 1. */
  readonly nodeId: number;
  /** A lower-case UUID; "" until the node belongs to a cluster. */
  readonly clusterId: string;
  /** A lower-case UUID. */
  readonly directoryId: string;
  /**
   * 1..2^32 - 1, drawn at random for a fresh directory; 0 in directories of founders from before.
   * Node id and incarnation together are never used twice.
   */
  readonly incarnation: number;
}

/**
 * null when the directory has none yet. Throws DamageError when neither copy can be read, and
 * DiskError.
 */
export function readIdentity(disk: Disk, directory: string): Identity | null {
  const names = [IDENTITY_NAME, COPY_NAME].filter((name) =>
    disk.existsSync(`${directory}/${name}`),
  );
  let fault: DamageError | null = null;
  for (const name of names) {
    try {
      const path = `${directory}/${name}`;
      const identity = decode(path, readFileSync(disk, path));
      restore(disk, directory, identity);
      return identity;
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      fault ??= error;
    }
  }
  if (fault !== null) throw fault;
  return null;
}

/** Stores it so that a crash leaves the old one or the new one. */
export function writeIdentity(disk: Disk, directory: string, identity: Identity): void {
  assert(UUID.test(identity.directoryId), `${identity.directoryId} is no lower-case UUID`);
  const { incarnation } = identity;
  assert(
    Number.isInteger(incarnation) && incarnation >= 0 && incarnation <= INCARNATION_MAX,
    `${incarnation} is no incarnation`,
  );
  disk.makeDirectorySync(directory);
  const bytes = encode(identity);
  for (const name of [IDENTITY_NAME, COPY_NAME]) replaceFileSync(disk, directory, name, bytes);
}

/** Both copies say what was read from one of them. */
function restore(disk: Disk, directory: string, identity: Identity): void {
  const bytes = encode(identity);
  for (const name of [IDENTITY_NAME, COPY_NAME]) {
    const path = `${directory}/${name}`;
    const isSame = disk.existsSync(path) && sameIdentity(path, readFileSync(disk, path), identity);
    if (!isSame) replaceFileSync(disk, directory, name, bytes);
  }
}

/** Files of another layout that say the same are left alone. */
function sameIdentity(path: string, bytes: Uint8Array, identity: Identity): boolean {
  try {
    return checksum(decode(path, bytes)) === checksum(identity);
  } catch (error) {
    if (error instanceof DamageError) return false;
    throw error;
  }
}

function encode(identity: Identity): Uint8Array {
  const fields = { format: IDENTITY_FORMAT, ...identity, crc: checksum(identity) };
  return new Uint8Array(Buffer.from(`${JSON.stringify(fields, null, 2)}\n`));
}

function decode(path: string, bytes: Uint8Array): Identity {
  const fields = parse(Buffer.from(bytes).toString('utf8'));
  if (fields === null) throw damage(path, 'it is not the JSON object that was written');
  // Directories from before there were incarnations belong to founders.
  const { format, nodeId, clusterId, directoryId, incarnation = 0, crc } = fields;
  if (typeof format === 'number' && format !== IDENTITY_FORMAT) {
    throw damage(path, `format ${format} is not one this program reads`);
  }
  if (typeof nodeId !== 'number' || typeof clusterId !== 'string') {
    throw damage(path, 'fields are missing');
  }
  if (typeof directoryId !== 'string') throw damage(path, 'fields are missing');
  if (typeof incarnation !== 'number') throw damage(path, 'fields are missing');
  const identity = { nodeId, clusterId, directoryId, incarnation };
  if (crc !== checksum(identity)) throw damage(path, 'its checksum does not match its fields');
  return identity;
}

/** The directory id as the 16 bytes that log, hard state and checkpoint carry. */
export function identityBytes(identity: Identity): Uint8Array {
  return new Uint8Array(Buffer.from(identity.directoryId.replaceAll('-', ''), 'hex'));
}

function parse(text: string): { readonly [field: string]: unknown } | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  return typeof value === 'object' && value !== null ? { ...value } : null;
}

/** That of a founder does not name its incarnation, as before there were any. */
function checksum({ nodeId, clusterId, directoryId, incarnation }: Identity): number {
  const life = incarnation === 0 ? '' : ` ${incarnation}`;
  return crc32(`${IDENTITY_FORMAT} ${nodeId} ${clusterId} ${directoryId}${life}`);
}

function damage(path: string, what: string): DamageError {
  return new DamageError('identity_damaged', path, 0, what, ADVICE);
}
