/**
 * Reports that members give of themselves: the newest effect catalogue that a node reads, how far
 * it knows the log to be committed, and whether its volume is full.
 *
 * A report may be lost: a node sends one every second, and at once when something changes that
 * others act upon. A report older than REPORT_VALID_MS counts no more, so a node that is down
 * neither holds back writes because its volume was full nor counts as able to read a new version.
 */
import type { NodeId } from '@svc/raft';
import { nodeNumber } from '../config/member-id.js';
import type { FrameContent, NodeReport } from '../peers/frames.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';

const REPORT_EVERY_MS = 1000;
/** Two lost reports and their delay. */
const REPORT_VALID_MS = 3500;

export interface HeardReport {
  readonly readVersion: number;
  readonly commit: number;
  readonly storageFull: boolean;
  readonly ageMs: number;
}

export interface NodeReportsOptions {
  readonly self: NodeId;
  readonly clock: Clock;
  /** The newest effect catalogue that this node reads. */
  readonly readVersion: number;
  readonly consensus: { status(): { readonly commit: number } | null };
  readonly group: { members(): readonly NodeId[] };
  /** null: there are no others. */
  readonly link: { sendContent(to: NodeId, content: FrameContent): boolean } | null;
  readonly logger: Pick<Logger, 'warn'>;
}

interface Heard {
  readonly report: NodeReport;
  readonly atMs: number;
}

export class NodeReports {
  readonly #options: NodeReportsOptions;
  readonly #heard = new Map<NodeId, Heard>();
  #storageFull = false;
  #stopTelling: Cancel | null = null;

  constructor(options: NodeReportsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stopTelling = this.#options.clock.every(REPORT_EVERY_MS, () => this.#tell());
    this.#tell();
  }

  stop(): void {
    this.#stopTelling?.();
    this.#stopTelling = null;
  }

  /** This node's own volume. */
  setStorageFull(full: boolean): void {
    if (full === this.#storageFull) return;
    this.#storageFull = full;
    if (this.#stopTelling !== null) this.#tell();
  }

  hear(from: NodeId, report: NodeReport): void {
    const { group, clock, logger } = this.#options;
    if (!group.members().includes(from)) return;
    const wasFull = this.#heard.get(from)?.report.storageFull ?? false;
    this.#heard.set(from, { report, atMs: clock.nowMs() });
    const full = report.storageFull;
    if (full === wasFull) return;
    const node = nodeNumber(from);
    const cause = `node ${node} says so of its volume`;
    logger.warn('raft', 'storage pressure of a member changed', { node, full, cause });
  }

  /** The newest report of a member, however old; null: none was heard. */
  of(member: NodeId): HeardReport | null {
    const heard = this.#heard.get(member);
    if (heard === undefined) return null;
    const { readVersion, commit, storageFull } = heard.report;
    return { readVersion, commit, storageFull, ageMs: this.#options.clock.nowMs() - heard.atMs };
  }

  /** Another member says that its volume is full. Asked for every write: it looks nothing up. */
  anyMemberFull(): boolean {
    for (const heard of this.#heard.values()) {
      if (heard.report.storageFull && this.#isValid(heard)) return true;
    }
    return false;
  }

  /** The newest catalogue that every member reads; null while one of them has not said so. */
  versionReadByAll(): number | null {
    let lowest = this.#options.readVersion;
    for (const member of this.#others()) {
      const heard = this.#heard.get(member);
      if (heard === undefined || !this.#isValid(heard)) return null;
      lowest = Math.min(lowest, heard.report.readVersion);
    }
    return lowest;
  }

  #others(): readonly NodeId[] {
    const { group, self } = this.#options;
    return group.members().filter((member) => member !== self);
  }

  #isValid({ atMs }: Heard): boolean {
    return this.#options.clock.nowMs() - atMs <= REPORT_VALID_MS;
  }

  #tell(): void {
    const { readVersion, consensus, link } = this.#options;
    const report: NodeReport = {
      kind: 'node-report',
      readVersion,
      commit: consensus.status()?.commit ?? 0,
      storageFull: this.#storageFull,
    };
    const others = this.#others();
    for (const member of this.#heard.keys()) {
      if (!others.includes(member)) this.#heard.delete(member);
    }
    for (const member of others) link?.sendContent(member, report);
  }
}
