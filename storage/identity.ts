/**
 * Who a data directory belongs to: a small JSON file that an operator can read, with a checksum
 * over its fields. The directory id is minted once and stands in every other file, so that files of
 * two directories cannot be mixed unnoticed.
 */
import { crc32 } from 'node:zlib';
import { type Disk, readFileSync, replaceFileSync } from './disk.js';
import { assert, DamageError } from './faults.js';

const IDENTITY_NAME = 'identity.json';
const IDENTITY_FORMAT = 1;
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
}

/** null when the directory has none yet. Throws DamageError. */
export function readIdentity(disk: Disk, directory: string): Identity | null {
  const path = `${directory}/${IDENTITY_NAME}`;
  if (!disk.existsSync(path)) return null;
  const fields = parse(Buffer.from(readFileSync(disk, path)).toString('utf8'));
  if (fields === null) throw damage(path, 'it is not the JSON object that was written');
  const { format, nodeId, clusterId, directoryId, crc } = fields;
  if (typeof format === 'number' && format !== IDENTITY_FORMAT) {
    throw damage(path, `format ${format} is not one this program reads`);
  }
  if (typeof nodeId !== 'number' || typeof clusterId !== 'string') {
    throw damage(path, 'fields are missing');
  }
  if (typeof directoryId !== 'string') throw damage(path, 'fields are missing');
  const identity = { nodeId, clusterId, directoryId };
  if (crc !== checksum(identity)) throw damage(path, 'its checksum does not match its fields');
  return identity;
}

/** Stores it so that a crash leaves the old one or the new one. */
export function writeIdentity(disk: Disk, directory: string, identity: Identity): void {
  assert(UUID.test(identity.directoryId), `${identity.directoryId} is no lower-case UUID`);
  disk.makeDirectorySync(directory);
  const fields = { format: IDENTITY_FORMAT, ...identity, crc: checksum(identity) };
  const bytes = new Uint8Array(Buffer.from(`${JSON.stringify(fields, null, 2)}\n`));
  replaceFileSync(disk, directory, IDENTITY_NAME, bytes);
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

function checksum({ nodeId, clusterId, directoryId }: Identity): number {
  return crc32(`${IDENTITY_FORMAT} ${nodeId} ${clusterId} ${directoryId}`);
}

function damage(path: string, what: string): DamageError {
  return new DamageError('identity_damaged', path, 0, what, ADVICE);
}
