/**
 * A broken invariant is a bug: here it fails the one request that met it, with a 500 and a log
 * line.
 */
export class AssertionError extends Error {
  readonly code = 'assertion_failed';

  constructor(message: string) {
    super(message);
    this.name = 'AssertionError';
  }
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}
