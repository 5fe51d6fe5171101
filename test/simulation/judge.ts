/**
 * Watches a cluster from outside, after every event, and says which promise was broken first.
 *
 * What it holds the machines to:
 * - Election safety: one member leads in a term.
 * - State machine safety: what is committed at an index is the same (term, type, bytes) on every
 *   machine and in every life, for ever; commit never goes back within a life.
 * - A machine applies only what its own log holds durably and what is committed; its checkpoint
 *   claims nothing beyond that.
 * - State after entry N is the same on all machines, compared wherever two checkpoints meet.
 *
 * It costs what is new: a machine is looked at after its own events, and an entry once a life.
 */
import { crc32 } from 'node:zlib';
import { Violation } from './violation.js';

/** One machine as the judge sees it, at one moment between two events. */
export interface View {
  /** Unique over all time, as consensus knows this server. */
  readonly member: number;
  readonly term: number;
  /** In the core's eyes, before it has applied an entry of its term. */
  readonly leads: boolean;
  readonly commit: number;
  readonly applied: number;
  readonly durable: number;
  /** A state came from another node, or a tail was lost: the state may be ahead of the log. */
  readonly mending: boolean;
  readonly firstIndex: number;
  /** Index of the newest durable checkpoint, and its digest of all rows that are not local. */
  readonly checkpoint: number;
  readonly digest: string | null;
  /** undefined when it is not in the log any more, or its record is damaged. */
  readonly entry: (index: number) => JudgedEntry | undefined;
}

export interface JudgedEntry {
  readonly term: number;
  readonly type: number;
  readonly data: Uint8Array;
}

/** What the judge remembers of one life of a process. */
interface Life {
  commit: number;
  /** Every committed entry up to here was compared. */
  compared: number;
  checkpoint: number;
  term: number;
  leading: boolean;
}

export interface Committed extends JudgedEntry {
  readonly crc: number;
}

export class Judge {
  readonly #lives = new Map<number, Life>();
  readonly #leaders = new Map<number, { readonly machine: number; readonly member: number }>();
  /** By index; a hole where nobody that lived long enough to be seen had the entry. */
  readonly #committed: (Committed | undefined)[] = [];
  readonly #digests = new Map<number, { readonly machine: number; readonly digest: string }>();
  #commit = 0;
  #term = 0;
  #checked = 0;
  /** Digests of one index that were compared with each other. */
  digestsCompared = 0;

  /** The highest index that any machine knew committed. */
  get commit(): number {
    return this.#commit;
  }

  get term(): number {
    return this.#term;
  }

  /** Terms in which somebody led. */
  get elections(): number {
    return this.#leaders.size;
  }

  /** Comparisons of an entry with what was committed at its index. */
  get checked(): number {
    return this.#checked;
  }

  committed(index: number): Committed | undefined {
    return this.#committed[index];
  }

  /** The process on this machine is gone. The next one goes on from its checkpoint. */
  end(machine: number): void {
    this.#lives.delete(machine);
  }

  /** After an event on this machine. */
  observe(machine: number, view: View): void {
    const life = this.#lives.get(machine) ?? this.#begin(machine, view);
    if (view.term !== life.term) this.#moveTerm(machine, life, view);
    if (view.leads && !life.leading) this.#elect(machine, view);
    life.leading = view.leads;
    if (view.commit !== life.commit) this.#moveCommit(machine, life, view);
    if (view.applied > view.durable && !view.mending) this.#passed(machine, 'applied', view);
    if (view.applied > Math.max(view.commit, view.checkpoint)) {
      throw new Violation(
        'applied_uncommitted',
        `machine ${machine} applied ${view.applied}, committed ${view.commit}`,
      );
    }
    if (view.checkpoint !== life.checkpoint) this.#moveCheckpoint(machine, life, view);
  }

  /** Everything that a log holds of what is committed, as read back from its disk. */
  sweep(machine: number, view: View): void {
    const to = Math.min(view.commit, this.#commit);
    for (let index = view.firstIndex; index <= to; index++) this.#compare(machine, index, view);
  }

  #begin(machine: number, view: View): Life {
    const life = { commit: 0, compared: view.checkpoint, checkpoint: 0, term: 0, leading: false };
    this.#lives.set(machine, life);
    return life;
  }

  #moveTerm(machine: number, life: Life, view: View): void {
    if (view.term < life.term) {
      throw new Violation(
        'term_went_back',
        `machine ${machine} from term ${life.term} to ${view.term}`,
      );
    }
    life.term = view.term;
    life.leading = false;
    this.#term = Math.max(this.#term, view.term);
  }

  #elect(machine: number, { term, member }: View): void {
    const known = this.#leaders.get(term);
    if (known === undefined) {
      this.#leaders.set(term, { machine, member });
      return;
    }
    if (known.member === member) return;
    throw new Violation(
      'two_leaders',
      `in term ${term}: member ${known.member} on machine ${known.machine} ` +
        `and member ${member} on machine ${machine}`,
    );
  }

  #moveCommit(machine: number, life: Life, view: View): void {
    if (view.commit < life.commit) {
      throw new Violation(
        'commit_went_back',
        `machine ${machine} from ${life.commit} to ${view.commit}`,
      );
    }
    life.commit = view.commit;
    for (let index = life.compared + 1; index <= view.commit; index++) {
      this.#compare(machine, index, view);
    }
    life.compared = Math.max(life.compared, view.commit);
    this.#commit = Math.max(this.#commit, view.commit);
  }

  #compare(machine: number, index: number, view: View): void {
    const entry = view.entry(index);
    if (entry === undefined) return;
    this.#checked++;
    const crc = crc32(entry.data);
    const known = this.#committed[index];
    if (known === undefined) {
      const { term, type, data } = entry;
      this.#committed[index] = { term, type, data: data.slice(), crc };
      return;
    }
    if (known.term === entry.term && known.crc === crc && known.type === entry.type) return;
    throw new Violation(
      'committed_changed',
      `entry ${index} was committed in term ${known.term} with CRC ${known.crc}; ` +
        `machine ${machine} has it of term ${entry.term} with CRC ${crc}`,
    );
  }

  #moveCheckpoint(machine: number, life: Life, view: View): void {
    life.checkpoint = view.checkpoint;
    if (view.checkpoint > view.durable && !view.mending) this.#passed(machine, 'checkpoint', view);
    if (view.digest === null || view.checkpoint === 0) return;
    const known = this.#digests.get(view.checkpoint);
    if (known === undefined) {
      this.#digests.set(view.checkpoint, { machine, digest: view.digest });
      return;
    }
    this.digestsCompared++;
    if (known.digest === view.digest) return;
    throw new Violation(
      'state_differs',
      `after entry ${view.checkpoint}: machine ${known.machine} has ${known.digest}, ` +
        `machine ${machine} has ${view.digest}`,
    );
  }

  #passed(machine: number, what: string, view: View): never {
    throw new Violation(
      `${what}_not_durable`,
      `machine ${machine} is durable up to ${view.durable}: ` +
        `applied ${view.applied}, checkpoint ${view.checkpoint}`,
    );
  }
}
