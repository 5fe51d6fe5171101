/**
 * The owner of a data directory: a small JSON file that an operator can read, with a checksum
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
/**
 * The format of everything in a data directory: the entries of the log, the rows of the state, the
 * files beside them. Format 1 had rows that could not gain a field; nothing was released with it,
 * and nothing reads it any more. From format 2 on rows grow (packages/engine/base/fields), so this
 * number stays.
 */
const DIRECTORY_FORMAT = 2;
const FORMAT_CODE = 'directory_format';
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
   * 1..2^32 - 1, drawn at random for a directory that joins; 0 in that of a founder.
   * Node id and incarnation together are never used twice.
   */
  readonly incarnation: number;
}

/**
 * null when the directory has none yet. Throws DamageError when neither copy can be read, or the
 * directory is of another format, and DiskError.
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
      if (fault === null || error.code === FORMAT_CODE) fault = error;
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
  const fields = { format: DIRECTORY_FORMAT, ...identity, crc: checksum(identity) };
  return new Uint8Array(Buffer.from(`${JSON.stringify(fields, null, 2)}\n`));
}

function decode(path: string, bytes: Uint8Array): Identity {
  const fields = parse(Buffer.from(bytes).toString('utf8'));
  if (fields === null) throw damage(path, 'it is not the JSON object that was written');
  const { format, nodeId, clusterId, directoryId, incarnation = 0, crc } = fields;
  if (typeof nodeId !== 'number' || typeof clusterId !== 'string') {
    throw damage(path, 'fields are missing');
  }
  if (typeof directoryId !== 'string') throw damage(path, 'fields are missing');
  if (typeof incarnation !== 'number') throw damage(path, 'fields are missing');
  const identity = { nodeId, clusterId, directoryId, incarnation };
  if (typeof format !== 'number' || crc !== checksum(identity, format)) {
    throw damage(path, 'its checksum does not match its fields');
  }
  if (format !== DIRECTORY_FORMAT) throw otherFormat(path, format);
  return identity;
}

/** Only a file whose checksum holds says which format it has: a flipped bit is damage. */
function otherFormat(path: string, format: number): DamageError {
  const what = `the data directory has format ${format}, and this build reads ${DIRECTORY_FORMAT}`;
  const age = format < DIRECTORY_FORMAT ? 'An older' : 'A newer';
  const advice =
    `Nothing was changed. ${age} build wrote it: run that build to use what is in it. There is ` +
    'no conversion: to run this build, give the node an empty directory';
  return new DamageError(FORMAT_CODE, path, 0, what, advice);
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
function checksum(identity: Identity, format = DIRECTORY_FORMAT): number {
  const { nodeId, clusterId, directoryId, incarnation } = identity;
  const life = incarnation === 0 ? '' : ` ${incarnation}`;
  return crc32(`${format} ${nodeId} ${clusterId} ${directoryId}${life}`);
}

function damage(path: string, what: string): DamageError {
  return new DamageError('identity_damaged', path, 0, what, ADVICE);
}
