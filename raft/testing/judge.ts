/**
 * Watches a whole group from outside and throws as soon as one of the promises of consensus is
 * broken. It knows nothing of how the class works: it sees what is written, applied, answered and
 * on which plate.
 */
import { assert } from '../assert.js';
import { type Configuration, isJoint } from '../configuration.js';
import type { Entry } from '../entry.js';
import { type LogIndex, logIndex, type NodeId, type Term } from '../identifiers.js';
import type { Status } from '../ready.js';
import type { FakeDisk } from './disk.fake.js';

interface Settled {
  readonly term: Term;
  readonly text: string;
  /** The term of the node that applied it first: it was committed in this term or before. */
  readonly committedBy: Term;
  /** Folds every entry up to here; equal logs, and only those, have equal digests. */
  readonly digest: number;
}

export class Judge {
  readonly #leaders: Map<Term, NodeId> = new Map();
  readonly #written: Map<string, string> = new Map();
  /** `#settled[i - 1]` is what the group has applied at index i. */
  readonly #settled: Settled[] = [];

  /** The highest index that any node has applied. */
  get settledIndex(): LogIndex {
    return logIndex(this.#settled.length);
  }

  digestAt(index: LogIndex): number {
    return this.#settled[index - 1]?.digest ?? 0;
  }

  /** Election safety: one leader a term. */
  leads(id: NodeId, ofTerm: Term): void {
    const known = this.#leaders.get(ofTerm) ?? id;
    assert(known === id, `nodes ${known} and ${id} both lead term ${ofTerm}`);
    this.#leaders.set(ofTerm, id);
  }

  /**
   * Leader completeness: a new leader's log contains everything that was committed before its term.
   * A leader may come late: elected in a term that a later one has already overtaken.
   */
  completes(id: NodeId, ofTerm: Term, disk: FakeDisk): void {
    for (let i = disk.acceptedBase() + 1; i <= this.#settled.length; i++) {
      const settled = this.#settled[i - 1];
      if (settled === undefined || settled.committedBy >= ofTerm) return;
      const own = disk.acceptedTerm(logIndex(i));
      assert(
        own === settled.term,
        `leader ${id} of term ${ofTerm} has term ${own} at ${i}, committed was ${settled.term}`,
      );
    }
  }

  /** Log matching: one (index, term), one content and one predecessor, on every node for ever. */
  writes(id: NodeId, entries: readonly Entry[], disk: FakeDisk): void {
    for (const entry of entries) {
      const before = disk.acceptedTerm(logIndex(entry.index - 1));
      const text = `${before}<-${textOf(entry)}`;
      const key = `${entry.index}:${entry.term}`;
      const known = this.#written.get(key) ?? text;
      assert(known === text, `node ${id} writes ${text} at ${key}, elsewhere it is ${known}`);
      this.#written.set(key, text);
    }
  }

  /**
   * State machine safety: every node applies the same entries in the same order, without a gap.
   */
  applies(status: Status, entry: Entry, previous: LogIndex, disks: readonly FakeDisk[]): void {
    const { id } = status;
    assert(entry.index === previous + 1, `node ${id} applies ${entry.index} after ${previous}`);
    const text = textOf(entry);
    const known = this.#settled[entry.index - 1];
    if (known !== undefined) {
      assert(
        known.text === text && known.term === entry.term,
        `node ${id} applies ${text} of term ${entry.term} at ${entry.index}, others ${known.text}`,
      );
      return;
    }
    assert(
      disks.some((disk) => disk.durableTerm(entry.index) === entry.term),
      `entry ${entry.index} is applied and on no disk`,
    );
    const digest = fold(this.digestAt(previous), `${entry.term} ${text}`);
    this.#settled.push({ term: entry.term, text, committedBy: status.term, digest });
  }

  /**
   * The commit index of a leader, counted the slow way: from its own view of its peers, and from
   * the plates of all nodes. Both must have a majority at or above it.
   */
  commits(status: Status, disks: ReadonlyMap<NodeId, FakeDisk>): void {
    const { commit, term, configuration } = status;
    const leaderDisk = disks.get(status.id);
    // An entry of an earlier term may have been committed by its own leader, on another majority.
    if (leaderDisk?.acceptedTerm(commit) !== term) return;
    const matches = new Map(status.peers.map((peer) => [peer.id, peer.match]));
    const views: [string, (id: NodeId) => boolean][] = [
      ['in its own view', (id) => (matches.get(id) ?? 0) >= commit],
      ['on the plates', (id) => holds(disks.get(id), commit, term)],
    ];
    for (const [where, has] of views) {
      assert(
        quorum(configuration, has),
        `leader ${status.id} of term ${term} commits ${commit} without a quorum ${where}`,
      );
    }
  }

  /** A read sees everything that anybody had seen when it began. */
  reads(id: NodeId, begunAt: LogIndex, index: LogIndex): void {
    assert(index >= begunAt, `node ${id} reads at ${index}, ${begunAt} was visible before`);
  }
}

function holds(disk: FakeDisk | undefined, index: LogIndex, ofTerm: Term): boolean {
  return disk?.acknowledged(index, ofTerm) ?? false;
}

function quorum(config: Configuration, has: (id: NodeId) => boolean): boolean {
  const majority = (ids: readonly NodeId[]): boolean => ids.filter(has).length * 2 > ids.length;
  return majority(config.voters) && (!isJoint(config) || majority(config.outgoing));
}

function textOf(entry: Entry): string {
  return `${entry.type}(${entry.data.join(',')})`;
}

function fold(digest: number, text: string): number {
  let folded = digest;
  for (let i = 0; i < text.length; i++) {
    folded = (Math.imul(folded ^ text.charCodeAt(i), 0x01000193) + 1) >>> 0;
  }
  return folded;
}
