/**
 * The first node of a standby begins with a copy of its source (standby-link 7, SVC_LINK_SEED):
 *
 *     record `staging` -> rows received, installed -> entries F..A -> tail -> record `staged`
 *
 * The job. A source that has run for a while has given up the start of its log, so its entries
 * alone make no state. Its rows do, with the entries that the rows name. Both are taken while
 * nothing of this node is open, and what stands in the directory afterwards is a cluster of its
 * own, with one voter, which is at that place of its source.
 *
 * How. The rows of a checkpoint at entry A of the source come exactly as a member receives them
 * (directory/snapshot-install.ts), and the log is reset to where the source's log begins, F - 1.
 * Entries up to A are read as every standby reads, and appended under their own indexes: rows name
 * entries by index, so here they mean what they meant there. What a source's consensus logged in
 * between is an entry without effects here. Behind A stands a tail of three entries:
 *
 *     A + 1, A + 2   a configuration with this node alone, twice: a node that goes on alone says so
 *                    in the same way, with the same reason (forced-recovery.ts)
 *     A + 3          the `seed` entry: this cluster is a standby of that source, at A
 *
 * What must hold:
 * - Until the tail is durable nothing of the directory is used, and every step may be interrupted
 *   and is found again: the record says that it goes on, the directory how far it came. Cluster id,
 *   incarnation and the standby's id are drawn once, before the source is asked.
 * - The node leads nothing and serves nothing before the `seed` entry is applied, for it stands
 *   before the first entry of its first term. So this cluster never takes a write as a primary,
 *   whatever role the rows say.
 * - A directory that holds anything else is left alone, and so is one whose peers are a cluster.
 * - The source's log stays for as long as it is needed: each request leaves a hold.
 * - A source that has given up what is still missing, or another checkpoint, begins the rows anew.
 *
 * Nodes of the source are asked in turn; when none of them brought anything new, the boot fails: a
 * node that is told to seed must not found an empty cluster.
 */
import { randomUUID } from 'node:crypto';
import { readMeta, type SourcePosition, STANDBY_ID_CHARACTERS, seedBody } from '@svc/engine';
import { configuration, encodeConfiguration, NO_NODE } from '@svc/raft';
import type { RowsName, SourceEntry } from '@svc/standby';
import { type LogEntry, readIdentity } from '@svc/storage';
import { hostAndPortText } from '../config/addresses.js';
import type { Config } from '../config/config.js';
import { drawIncarnation } from '../config/member-id.js';
import type { Peer } from '../config/peers.js';
import { CONFIGURATION, NORMAL } from '../consensus/consensus-storage.js';
import { writeForming } from '../consensus/forming-record.js';
import { encodeAddresses } from '../consensus/group-addresses.js';
import {
  closeDirectory,
  type DirectoryOptions,
  type OpenDirectory,
  openDirectory,
} from '../directory/node-directory.js';
import { removeInstall, writeInstall } from '../directory/snapshot-install.js';
import {
  type Incoming,
  SnapshotError,
  type StatePlace,
  StateStore,
} from '../directory/state-store.js';
import { SeedClient, SourceFault } from '../standby/seed-client.js';
import type { SourcePort } from '../standby/source-port.js';
import { BootRefusedError } from '../system/node-refusal.js';
import { entryBytesMaxOf } from './parts.js';
import {
  isSeedUnfinished,
  readSeedRecord,
  type SeedRecord,
  writeSeedRecord,
} from './seed-record.js';

export interface SeedingOptions extends DirectoryOptions {
  readonly place: StatePlace;
  readonly source: SourcePort;
  /** A node of this node's own cluster that is a member of one; null: none says so. */
  readonly askPeers: () => Promise<number | null>;
}

/** After `busy` or `not-ready`. */
const AGAIN_MS = 500;
const AGAIN_MAX = 120;
const REPORT_MS = 5000;
/** Bytes of one read of entries, which are stored at a time. */
const READ_BYTES = 8 * 1024 * 1024;
const TAIL_ENTRIES = 3;
/** Consensus logs an entry without effects for a leader or a member: never as many in a row. */
const BLANK_ENTRIES_MAX = 100_000;
const MIB = 1024 * 1024;

/**
 * Does what SVC_LINK_SEED asks for, or what was begun; nothing otherwise.
 * @throws BootRefusedError
 */
export async function seedFromSource(options: SeedingOptions): Promise<void> {
  const { config, disk, logger } = options;
  const { dataDirectory, seedNode, nodeId } = config;
  if (seedNode !== nodeId) return;
  const known = readSeedRecord(disk, dataDirectory);
  if (known?.state === 'staged') return;
  if (known === null && readIdentity(disk, dataDirectory) !== null) {
    logger.warn('standby', 'SVC_LINK_SEED is set, and this directory holds data: it is not seeded');
    return;
  }
  const peer = known === null ? await options.askPeers() : null;
  if (peer !== null) {
    logger.warn('standby', `SVC_LINK_SEED is set, and node ${peer} has a cluster: not seeded`);
    return;
  }
  await new Seeding(options, known ?? newRecord(options)).run();
}

/**
 * Nothing of a directory whose seed was interrupted may be used: its rows are the source's, and the
 * entry that makes it a standby may be missing. @throws BootRefusedError
 */
export function refuseUnfinishedSeed({
  config,
  disk,
}: Pick<SeedingOptions, 'config' | 'disk'>): void {
  const { dataDirectory, seedNode, nodeId } = config;
  if (seedNode === nodeId || !isSeedUnfinished(disk, dataDirectory)) return;
  throw new BootRefusedError(
    'seed_unfinished',
    `the seed of ${dataDirectory} was interrupted, and SVC_LINK_SEED does not name this node: ` +
      'set it again, or empty the data directory',
  );
}

/** The nodes that a seed is not taken by wait to be added to it: they never found. */
export function waitsForSeed({ seedNode, nodeId }: Config): boolean {
  return seedNode !== null && seedNode !== nodeId;
}

function newRecord({ config, clock, random }: SeedingOptions): SeedRecord {
  const wallUs = clock.wallUs();
  return {
    state: 'staging',
    source: config.sourceAddresses.map(hostAndPortText).join(','),
    atMs: Math.floor(wallUs / 1000),
    id: random.newUuid(wallUs).slice(-STANDBY_ID_CHARACTERS),
    clusterId: randomUUID(),
    incarnation: drawIncarnation(() => random.fraction()),
    sourceCluster: null,
    applied: 0,
    appliedTerm: 0,
  };
}

/** What came from the source until now, of any kind: progress keeps a seeding going. */
interface Progress {
  bytes: number;
  toldMs: number;
}

class Seeding {
  readonly #options: SeedingOptions;
  readonly #client: SeedClient;
  readonly #addresses: readonly string[];
  readonly #reader: string;
  readonly #progress: Progress;
  #record: SeedRecord;

  constructor(options: SeedingOptions, record: SeedRecord) {
    const { config, source, clock } = options;
    this.#options = options;
    this.#record = record;
    this.#client = new SeedClient(source, clock, entryBytesMaxOf(config));
    this.#addresses = config.sourceAddresses.map(hostAndPortText);
    this.#reader = config.standbyName ?? `standby-${record.id}`;
    this.#progress = { bytes: 0, toldMs: clock.nowMs() };
  }

  async run(): Promise<void> {
    const { config, disk, logger } = this.#options;
    const { node, incarnation, clusterId } = { node: config.nodeId, ...this.#record };
    this.#note({});
    const outcome = { clusterId, founding: null };
    writeForming(disk, config.dataDirectory, { node, incarnation, pledge: null, outcome });
    logger.info('standby', `this node takes its first state from ${this.#record.source}`);
    try {
      await this.#fromAnySource();
    } finally {
      this.#client.close();
    }
    this.#note({ state: 'staged' });
    const { applied, id } = this.#record;
    logger.info('standby', `this node is the first of standby ${id}, at source entry ${applied}`);
  }

  /** In turn, as long as one of them brings something. */
  async #fromAnySource(): Promise<void> {
    for (;;) {
      const before = this.#progress.bytes;
      let last = '';
      for (const address of this.#addresses) {
        try {
          while (!(await this.#step(address)));
          return;
        } catch (error) {
          if (!(error instanceof SourceFault || error instanceof SnapshotError)) throw error;
          last = error.message;
          this.#options.logger.warn('standby', `the seed is interrupted: ${last}`);
        }
      }
      if (this.#progress.bytes > before) continue;
      const what = `this node could not be seeded from its source: ${last}`;
      throw new BootRefusedError('not_seeded', what);
    }
  }

  /**
   * What the directory lacks next, from this node of the source. True: nothing.
   * @throws SourceFault, SnapshotError
   */
  async #step(address: string): Promise<boolean> {
    const parts = await openParts(this.#options);
    const { install, disk, directory } = parts;
    try {
      // Whose tail is whole has no marker any more, and was interrupted before the record.
      if (install === null && this.#isTailWhole(parts)) return true;
      if (install === null) {
        await this.#takeRows(address, parts);
        return false;
      }
      if (!(await this.#takeEntries(address, parts))) {
        this.#options.logger.warn('standby', 'the source gave up entries: the rows come anew');
        removeInstall(disk, directory);
        return false;
      }
      await this.#finish(parts);
      return true;
    } finally {
      await closeDirectory(parts);
    }
  }

  #isTailWhole({ log, state }: OpenDirectory): boolean {
    const { applied } = this.#record;
    return (
      applied > 0 && state.appliedIndex === applied && log.lastIndex === applied + TAIL_ENTRIES
    );
  }

  // --- rows --------------------------------------------------------------------------------------

  /** Receives all rows, and decides durably that they are installed at the next opening. */
  async #takeRows(address: string, parts: OpenDirectory): Promise<void> {
    const { store, disk, directory } = parts;
    const attempt = Math.floor(this.#options.random.fraction() * 2 ** 32);
    let incoming = store.received();
    for (let refusals = 0; ; ) {
      const name = incoming === null ? null : rowsNameOf(incoming);
      const after = incoming?.lastKey ?? null;
      const asked = { reader: this.#reader, attempt, name, after };
      const { head, content } = await this.#client.rows(address, asked);
      this.#meet(address, head.clusterId);
      if (content.kind === 'snapshot-refused') {
        if (content.reason === 'gone') incoming = null;
        if (++refusals > AGAIN_MAX)
          throw new SourceFault(`${address}: no rows (${content.reason})`);
        await this.#pause(AGAIN_MS);
        continue;
      }
      if (incoming === null || !isSame(rowsNameOf(incoming), content.name)) {
        incoming = await begin(store, content.name);
        // What came stands behind the key that was asked for.
        if (after !== null) continue;
      }
      const { rows, isLast } = content;
      try {
        await write(incoming, rows);
        if (isLast) await finish(incoming);
      } catch (error) {
        // The rows that came are of no use, at any node.
        if (error instanceof SnapshotError) await begin(store, content.name);
        throw error;
      }
      this.#count(
        rows.reduce((sum, { value }) => sum + value.length, 0),
        'rows',
      );
      if (!isLast) continue;
      const { index: applied, term: appliedTerm } = content.name;
      this.#note({ applied, appliedTerm });
      // A log that begins behind entries belongs to a node that has been in their terms.
      await this.#saveTerm(parts);
      writeInstall(disk, directory, {
        phase: 'installing',
        resetsLog: true,
        logIndex: head.logIndex,
        logTerm: head.logTerm,
        appliedIndex: applied,
        offeredBy: NO_NODE,
      });
      return;
    }
  }

  /** Another cluster than the first time is no source of this seed. */
  #meet(address: string, clusterId: string): void {
    const { sourceCluster } = this.#record;
    if (sourceCluster === null) this.#note({ sourceCluster: clusterId });
    else if (sourceCluster !== clusterId) {
      const what = `source is cluster ${clusterId}, this standby follows ${sourceCluster}`;
      throw new SourceFault(`${address}: ${what}`);
    }
  }

  // --- entries -----------------------------------------------------------------------------------

  /**
   * False: the source does not have them any more. While one read is stored the next one is on its
   * way, so 16 MiB of entries, and two of the largest, are in memory.
   */
  async #takeEntries(address: string, parts: OpenDirectory): Promise<boolean> {
    const { log, install } = parts;
    const { applied, appliedTerm } = this.#record;
    let { index: after, term: afterTerm } = lastWithEffects(parts);
    let stored = Promise.resolve();
    // Without an entry between the start of the log and A nothing is asked.
    while (log.lastIndex < applied && after < applied) {
      const entries: SourceEntry[] = [];
      const hold = install?.logIndex ?? after;
      const { head, end } = await this.#client.entries(
        address,
        {
          after,
          afterTerm,
          maxBytes: READ_BYTES,
          waitMs: 0,
          reader: this.#reader,
          holdOnly: false,
          holdAfter: hold,
        },
        (entry) => void entries.push(entry),
      );
      await stored;
      this.#meet(address, head.clusterId);
      if (head.kind !== 'entries') return false;
      const upto = Math.min(end.upto, applied);
      const wanted = entries.filter(({ index }) => index <= applied);
      const last = wanted.at(-1);
      // An entry without effects gets the term of the next one with some, or of the last.
      if (last === undefined && upto < applied) {
        throw new SourceFault(`${address}: it has applied entry ${head.applied}`);
      }
      stored = append(log, filled(log.lastIndex + 1, wanted, upto, appliedTerm));
      // It is thrown where it is waited for.
      stored.catch(() => {});
      this.#count(
        wanted.reduce((sum, { body }) => sum + body.length, 0),
        'entries',
      );
      if (last !== undefined) ({ index: after, term: afterTerm } = last);
      if (upto === applied) break;
    }
    await stored;
    return true;
  }

  async #saveTerm({ hardState }: OpenDirectory): Promise<void> {
    const term = this.#record.appliedTerm + 1;
    if ((hardState.state?.term ?? 0) >= term) return;
    await new Promise<void>((resolve) => hardState.save({ term, vote: 0 }, resolve));
  }

  async #finish(parts: OpenDirectory): Promise<void> {
    const { log, state, disk, directory, self } = parts;
    const { applied, appliedTerm } = this.#record;
    if (state.appliedIndex !== applied) {
      throw new BootRefusedError(
        'seed_not_installed',
        `link.seed names a seed at source entry ${applied}, and this node's store is at ` +
          `${state.appliedIndex}: the seed was not installed. Empty the data directory and ` +
          'seed again',
      );
    }
    const { stampUs } = readMeta(state);
    const position = { index: applied, term: appliedTerm, stampUs };
    const own = this.#options.config.self;
    const tail = this.#tail(self, own === null ? [] : [own], position);
    await append(
      log,
      tail.filter(({ index }) => index > log.lastIndex),
    );
    removeInstall(disk, directory);
  }

  #tail(self: OpenDirectory['self'], peers: readonly Peer[], position: SourcePosition): LogEntry[] {
    const { applied, appliedTerm, id, source, sourceCluster, atMs } = this.#record;
    const term = appliedTerm + 1;
    const alone = encodeConfiguration(configuration([self]), encodeAddresses(peers));
    const seed = seedBody(position, {
      role: 'standby',
      id,
      source,
      sourceCluster,
      atUs: position.stampUs,
      wallUs: atMs * 1000,
      position: null,
    });
    return [
      { index: applied + 1, term, type: CONFIGURATION, data: alone },
      { index: applied + 2, term, type: CONFIGURATION, data: alone },
      { index: applied + TAIL_ENTRIES, term, type: NORMAL, data: seed },
    ];
  }

  // --- the record and the log --------------------------------------------------------------------

  #note(change: Partial<SeedRecord>): void {
    const { disk, config } = this.#options;
    disk.makeDirectorySync(config.dataDirectory);
    this.#record = { ...this.#record, ...change };
    writeSeedRecord(disk, config.dataDirectory, this.#record);
  }

  #count(bytes: number, what: string): void {
    const { clock, logger } = this.#options;
    this.#progress.bytes += bytes + 1;
    const nowMs = clock.nowMs();
    if (nowMs - this.#progress.toldMs < REPORT_MS) return;
    this.#progress.toldMs = nowMs;
    const mib = Math.floor(this.#progress.bytes / MIB);
    logger.info('standby', `the seed goes on: ${mib} MiB until now, ${what} are coming`);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(ms, resolve));
  }
}

function openParts(options: SeedingOptions): Promise<OpenDirectory> {
  const store = new StateStore(options.place);
  // With peers, a log that ends before the rows is one that is still coming.
  return new Promise((resolve) => openDirectory({ ...options, peers: {} }, store, resolve));
}

/** The last entry of the source in the log, or the one before its first. */
function lastWithEffects({ log, install }: OpenDirectory): { index: number; term: number } {
  for (let index = log.lastIndex; index >= log.firstIndex; index--) {
    const [entry] = log.entries(index, index + 1, 0);
    if (entry !== undefined && entry.data.length > 0) return { index, term: entry.term };
  }
  return { index: log.firstIndex - 1, term: install?.logTerm ?? 0 };
}

/**
 * Entries from `from` up to `upto`: those of the source, and entries without effects between.
 * @throws SourceFault
 */
function filled(
  from: number,
  entries: readonly SourceEntry[],
  upto: number,
  lastTerm: number,
): LogEntry[] {
  const all: LogEntry[] = [];
  const fillTo = (end: number, term: number) => {
    if (end - from - all.length > BLANK_ENTRIES_MAX) {
      throw new SourceFault(`the source has no entries from ${from + all.length} to ${end}`);
    }
    for (let index = from + all.length; index < end; index = from + all.length) {
      all.push({ index, term, type: NORMAL, data: new Uint8Array(0) });
    }
  };
  for (const { index, term, body } of entries) {
    if (index < from) continue;
    fillTo(index, term);
    all.push({ index, term, type: NORMAL, data: body });
  }
  if (upto > from + all.length - 1) fillTo(upto + 1, entries.at(-1)?.term ?? lastTerm);
  return all;
}

function append(log: OpenDirectory['log'], entries: readonly LogEntry[]): Promise<void> {
  if (entries.length === 0) return Promise.resolve();
  return new Promise((resolve) => log.append(entries, resolve, true));
}

function begin(store: StateStore, name: RowsName): Promise<Incoming> {
  return new Promise((resolve) => store.receive(name, resolve));
}

function write(incoming: Incoming, rows: Parameters<Incoming['write']>[0]): Promise<void> {
  return settled((done) => incoming.write(rows, done));
}

function finish(incoming: Incoming): Promise<void> {
  return settled((done) => incoming.finish(done));
}

function settled(work: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    work((error) => (error === null ? resolve() : reject(error)));
  });
}

function rowsNameOf({ name: { index, term, digest, localDigest } }: Incoming): RowsName {
  return { index, term, digest, localDigest };
}

function isSame(one: RowsName, other: RowsName): boolean {
  const { index, term, digest, localDigest } = one;
  return (
    index === other.index &&
    term === other.term &&
    digest === other.digest &&
    localDigest === other.localDigest
  );
}
