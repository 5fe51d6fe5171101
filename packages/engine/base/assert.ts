/** A broken invariant of the engine itself: the process must not go on with this state. */
export class EngineBug extends Error {
  readonly code = 'engine_bug';
}

/** On in production. The message carries the numbers that contradict each other. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new EngineBug(message);
}

/**
 * For checks on the path of every message, `if (...) bug(...)`: the message of an `assert` is made
 * whenever it is reached, which costs ten times what the check does.
 */
export function bug(message: string): never {
  throw new EngineBug(message);
}
