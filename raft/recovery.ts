/**
 * A node that lost entries which it had acknowledged, its term and vote intact, and the leader that
 * may still count those acknowledgements.
 *
 * The danger is an entry e that is committed, now or later, by a quorum in which this node stands
 * with an acknowledgement of before the loss (a ghost). As long as this node does not vote, e is
 * safe: of n nodes with quorums of q, an election without it needs q of the other n - 1, and e is
 * at q - 1 of them or more; q + (q - 1) > n - 1, so every election meets a real copy. The same
 * holds for k recovering nodes: q + (q - k) > n - k. With 3 nodes one may recover at a time, with 5
 * two; if more do, nobody is elected and nothing is lost that was not lost before. While members
 * change, the same count holds over the union of the two configurations. So what must hold is:
 * when this node votes again, it holds every e of which its ghost could be part.
 *
 * Terms before the leader's term T: such an e was or will be committed by acknowledgements given
 * before their senders moved to T. By the argument above (and, for a node of that quorum that
 * itself recovered in between, by induction) T's leader holds e, below its first own entry. It is
 * enough to hold the log of T's leader up to a commit index that lies at an entry of term T.
 *
 * Term T itself: T's leader counted ghosts until it learned of the loss, and commits nothing by
 * them after it took them back. It is enough to hold its log up to a commit index of later than
 * that. "Later" cannot be told from this node's rejection alone. An append of before the loss,
 * delayed, may match what is left here without the leader knowing of anything; a read index asked
 * for then may lie below an entry that the leader's slow disk lets it commit with the ghost a
 * moment later. And an acknowledgement of before the loss, delayed, may arrive after the leader
 * took the match back. Hence the life: drawn when recovery starts, told in the rejection of every
 * append that does not carry it, carried by every append from then on, repeated by every answer.
 * The leader counts answers to appends that carry what it knows, and no others, and takes a
 * rejection for news only if it answers such an append. So an append with this node's own life left
 * after the match was taken back, and its commit index is the read index asked for: given later
 * than that, by the one leader of T.
 *
 * Later terms: this node had acknowledged nothing in them before the loss.
 *
 * The rule: an append with this node's life, of the leader of this term, named a commit index c;
 * the entry at c here is of this same term, so it came from that leader and everything before it is
 * as at that leader; and it is on this node's disk. A c of an earlier term does not count: its
 * leader may know less than is committed. What stands above c may be of a lost leader and does not
 * count.
 */
import { type LogIndex, logIndex, type Term } from './identifiers.js';
import type { RaftLog } from './log.js';
import type { Life } from './messages.js';

const LIVES = 281_474_976_710_655;

export class Recovery {
  /** Never 0, which stands for no loss. Two losses of one node in one term must not share it. */
  readonly life: Life;
  #term = 0;
  /** The commit index to reach; 0 when none was named in this term. */
  #goal: LogIndex = logIndex(0);

  constructor(random: () => number) {
    this.life = 1 + Math.floor(random() * LIVES);
  }

  /** The leader of `ofTerm` named a commit index in an append that carried this life. */
  committed(ofTerm: Term, commit: LogIndex, log: RaftLog): void {
    if (ofTerm !== this.#term) {
      this.#term = ofTerm;
      this.#goal = logIndex(0);
    }
    // A goal ahead of the log is kept: at a busy leader the newest always runs ahead.
    if (this.#goal <= log.last && log.term(this.#goal) !== ofTerm) this.#goal = commit;
  }

  /** Whether this node may vote again. */
  ended(currentTerm: Term, log: RaftLog): boolean {
    const goal = this.#goal;
    return (
      goal > 0 &&
      this.#term === currentTerm &&
      log.term(goal) === currentTerm &&
      goal <= log.durable
    );
  }
}
