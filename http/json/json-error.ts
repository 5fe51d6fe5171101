/** A body that is not what its route takes. The message says what is wrong and at which byte. */
export class JsonError extends Error {
  readonly code = 'bad_json';
  /** Position in the body, from 0. */
  readonly at: number;

  constructor(what: string, at: number) {
    super(`${what} at byte ${at}`);
    this.name = 'JsonError';
    this.at = at;
  }
}
