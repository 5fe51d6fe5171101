/** A broken invariant of the engine itself: the process must not go on with this state. */
export class EngineBug extends Error {
  readonly code = 'engine_bug';
}

/** On in production. The message carries the numbers that contradict each other. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new EngineBug(message);
}
