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

/** Where every request passes, a message with numbers is given as a function, for the failure. */
export function assert(condition: boolean, message: string | (() => string)): asserts condition {
  if (condition) return;
  throw new AssertionError(typeof message === 'string' ? message : message());
}
