/** What no fault that was injected can explain. `code` says which promise was broken. */
export class Violation extends Error {
  readonly code: string;

  constructor(code: string, text: string) {
    super(text);
    this.name = 'Violation';
    this.code = code;
  }
}

/** As it stands in a result: the code, a colon, the text; of an unexpected error, its stack. */
export function describeFailure(error: unknown): string {
  if (error instanceof Violation) return `${error.code}: ${error.message}`;
  return error instanceof Error ? `${error.name}: ${error.stack ?? error.message}` : String(error);
}

/** Two failures with the same code are taken for the same one when a trace is shrunk. */
export function codeOf(violation: string): string {
  return violation.slice(0, Math.max(0, violation.indexOf(':')));
}
