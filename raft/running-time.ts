/**
 * The time in which the host ran, for every judgement of the form "nothing was heard for so long":
 * the check of the quorum, the election timeout, a hung disk, a transfer, a lost question, a peer
 * that counts as dead.
 *
 * A host is one loop. While it works on something large, or is stopped, what arrives stays unread:
 * the answers to a leader's heartbeats, a follower's own heartbeats, the word of the disk. By the
 * clock everybody was silent for all that time, and a leader that judged so would step down, a
 * follower would campaign, although nobody failed. The next leader gets the same work and falls in
 * turn: one large request moved the leadership from node to node.
 *
 * So a tick counts one heartbeat at most, which is the longest that a host promises between two
 * ticks. And the time of a late tick counts at the next tick only. A host reads its sockets between
 * two ticks, therefore whatever had arrived by the late tick was heard by then.
 *
 * What must hold:
 * - Whoever is really cut off learns it in a bounded number of ticks, even if every tick is late:
 *   a timeout of T with heartbeats of H takes T / H + 1 ticks at most. A host whose ticks are on
 *   time notices no difference.
 * - No promise rests on this time. It runs slower than the clock, so whoever counted a lease by it
 *   would answer stale reads. Leases go by the times at which heartbeats were sent and by the
 *   clock as it is, and so do the promises of those who answered them (`Core.nowMs`).
 *
 * Rejected: to step down whenever the clock has jumped by an election timeout (a lease is over by
 * the clock anyway, and every other answer of a leader asks a quorum); to skip the judgement at a
 * late tick but to count its time in full (the leader sends no heartbeat while it stands, so one
 * more tick may be too early for the answers); to let a reading of the clock between two ticks
 * count, as `readIndex` brings it (many long requests, each of which reads, are one long stand).
 */
export class RunningTime {
  readonly #tickMsMax: number;
  #ms = 0;
  /** Time of the last tick, which was late: it counts at the next. */
  #owedMs = 0;
  #tickedAtMs = 0;

  constructor(tickMsMax: number) {
    this.#tickMsMax = tickMsMax;
  }

  get ms(): number {
    return this.#ms;
  }

  tick(nowMs: number): void {
    const passedMs = nowMs - this.#tickedAtMs;
    this.#tickedAtMs = nowMs;
    this.#ms += this.#owedMs;
    this.#owedMs = 0;
    if (passedMs > this.#tickMsMax) this.#owedMs = this.#tickMsMax;
    else this.#ms += passedMs;
  }
}
