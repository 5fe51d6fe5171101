/** A broken invariant of consensus: this process must not go on with this state. */
export class RaftBug extends Error {
  readonly code = 'raft_bug';
}

/** On in production. The message carries the numbers that contradict each other. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new RaftBug(message);
}
