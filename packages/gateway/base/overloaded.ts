/** Too much waits for something that is bounded. Nothing was done, and it may be tried again. */
export class OverloadedError extends Error {
  readonly code = 'overloaded';
}
