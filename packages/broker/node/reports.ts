/**
 * What every node tells all members of itself, and what it has heard of them: the newest effect
 * catalogue that it reads, how far it knows the log to be committed, whether its volume is full.
 *
 * A report may be lost: it is told again every second, and at once when what others act upon has
 * changed. One that is older than REPORT_VALID_MS says nothing any more, so a node that is down
 * neither holds back writes because its volume was full nor counts as able to read a new version.
 */
import type { NodeId } from '@svc/raft';
import type { NodeReport } from '../peers/frames.js';
import type { Cancel, Clock } from '../system/clock.js';

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
  readonly commit: () => number;
  /** Learners too. */
  readonly members: () => readonly NodeId[];
  readonly send: (to: NodeId, report: NodeReport) => void;
  /** Another member's volume has become too full for writes that grow it, or is no more. */
  readonly onFullElsewhere?: (member: NodeId, full: boolean) => void;
}

interface Heard {
  readonly report: NodeReport;
  readonly atMs: number;
}

export class NodeReports {
  readonly #options: NodeReportsOptions;
  /** Of the members only. */
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
    if (!this.#options.members().includes(from)) return;
    const wasFull = this.#heard.get(from)?.report.storageFull ?? false;
    this.#heard.set(from, { report, atMs: this.#options.clock.nowMs() });
    const { storageFull } = report;
    if (storageFull !== wasFull) this.#options.onFullElsewhere?.(from, storageFull);
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
    return this.#options.members().filter((member) => member !== this.#options.self);
  }

  #isValid({ atMs }: Heard): boolean {
    return this.#options.clock.nowMs() - atMs <= REPORT_VALID_MS;
  }

  #tell(): void {
    const { readVersion, commit, send } = this.#options;
    const report: NodeReport = {
      kind: 'node-report',
      readVersion,
      commit: commit(),
      storageFull: this.#storageFull,
    };
    const others = this.#others();
    for (const member of this.#heard.keys()) {
      if (!others.includes(member)) this.#heard.delete(member);
    }
    for (const member of others) send(member, report);
  }
}
