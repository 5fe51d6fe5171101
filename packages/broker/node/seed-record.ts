/**
 * What a directory remembers of the seed that it began with (standby-link 7): `link.seed`, a small
 * JSON file. It is written before anything is asked of the source.
 *
 *     staging   interrupted, if a start finds it: the seed goes on
 *     staged    the directory is the first node of a standby; it is never seeded again
 */
import { DamageError, type Disk, readFileSync, replaceFileSync } from '@svc/storage';

const NAME = 'link.seed';

export interface SeedRecord {
  readonly state: 'staging' | 'staged';
  /** The configured addresses. */
  readonly source: string;
  /** By the wall clock; when it began. */
  readonly atMs: number;
  /** Drawn once: the id of the standby, of its cluster, and the life of this node in it. */
  readonly id: string;
  readonly clusterId: string;
  readonly incarnation: number;
  /** The source's cluster; null: it was not reached yet. */
  readonly sourceCluster: string | null;
  /** The source entry that the rows stand for, and its term; 0 before there were any. */
  readonly applied: number;
  readonly appliedTerm: number;
}

/** null: the directory was not seeded. */
export function readSeedRecord(disk: Disk, directory: string): SeedRecord | null {
  const path = `${directory}/${NAME}`;
  const record = read(disk, path);
  if (record !== undefined) return record;
  const advice = 'Empty the data directory and seed again';
  throw new DamageError('seed_record_damaged', path, 0, 'it does not parse', advice);
}

/** What stands in the directory is no state of any cluster yet. */
export function isSeedUnfinished(disk: Disk, directory: string): boolean {
  return read(disk, `${directory}/${NAME}`)?.state === 'staging';
}

/** undefined: it is not what was written. */
function read(disk: Disk, path: string): SeedRecord | null | undefined {
  if (!disk.existsSync(path)) return null;
  return parse(Buffer.from(readFileSync(disk, path)).toString('utf8')) ?? undefined;
}

/** Durable when it returns. */
export function writeSeedRecord(disk: Disk, directory: string, record: SeedRecord): void {
  const text = `${JSON.stringify(record, null, 2)}\n`;
  replaceFileSync(disk, directory, NAME, new Uint8Array(Buffer.from(text)));
}

function parse(text: string): SeedRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (typeof value !== 'object' || value === null) return null;
  const record = value as SeedRecord;
  const { state, source, id, clusterId, sourceCluster } = record;
  if (state !== 'staging' && state !== 'staged') return null;
  if (typeof source !== 'string' || typeof id !== 'string') return null;
  if (typeof clusterId !== 'string') return null;
  if (sourceCluster !== null && typeof sourceCluster !== 'string') return null;
  const numbers = [record.atMs, record.incarnation, record.applied, record.appliedTerm];
  return numbers.every((one) => Number.isSafeInteger(one) && one >= 0) ? record : null;
}
