/** What a rule found: a place and what is wrong there. */
export interface Violation {
  /** Relative to the root of the tree, with forward slashes. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Stable name of the rule, in kebab-case. */
  readonly rule: string;
  readonly text: string;
}
