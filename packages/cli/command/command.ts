/**
 * A command is one record: how it is written, what it says of itself, what it calls and what it
 * shows. The parser, the help, the completion and the reference pages all read these records.
 */
import type { Given } from './given.js';
import type { Run } from './run.js';

/**
 * As the parser writes it: `-n, --limit <n>`, or `--yes` for one that is on or off; what it does;
 * its default. One that is on or off may also be written `--yes=false` and `--no-yes`.
 */
export type Flag = readonly [spelling: string, help: string, fallback?: string | boolean];

/** One call of the API. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** A value, written as JSON. */
  readonly body?: unknown;
  /** A body that is JSON already. */
  readonly text?: string;
  /** What a second application would do; by default nothing. */
  readonly repeat?: 'any' | 'unapplied' | 'never';
  /** A long poll, for so long. */
  readonly waitMs?: number;
  /** How long its answer may take; 30 s, and its wait, when absent. */
  readonly timeoutMs?: number;
  /** Makes `body` of the text of the answer; exact JSON when absent. */
  readonly read?: (text: string) => unknown;
}

export interface Heard {
  readonly status: number;
  readonly body: unknown;
  /** The body as it came. */
  readonly text: string;
  header(name: string): string | null;
}

/** What a command ends with. */
export type Outcome =
  | {
      readonly kind: 'shown';
      readonly value: unknown;
      readonly raw?: string | undefined;
      readonly rows?: readonly unknown[] | undefined;
      readonly columns?: string | undefined;
      readonly instead?: 'json' | 'yaml' | undefined;
      /** When it is shown, and is no success. */
      readonly code?: number;
    }
  /** A line of text; `value` is what forms for machines print instead. */
  | {
      readonly kind: 'said';
      readonly text: string;
      readonly value: unknown;
      readonly code?: number;
    }
  /** It has printed what there is, or there is nothing to print. */
  | { readonly kind: 'ended'; readonly code?: number }
  | { readonly kind: 'nothing' };

interface Head {
  /** With its group: `queue list`. */
  readonly name: string;
  /** `<queue> [partition]`. */
  readonly args?: string;
  readonly help: string;
  readonly flags?: readonly Flag[];
  /** What follows `svcctl`; the first word is mostly that of the name. */
  readonly example: string;
}

export interface Command extends Head {
  readonly run: (run: Run) => Promise<Outcome>;
}

/** A command that is one call, whose answer is shown. */
export interface Reading extends Head {
  readonly call: (given: Given) => Request;
  /** Where the rows of the answer are: a member, or a function of the answer. */
  readonly rows?: string | ((body: unknown, given: Given) => readonly unknown[]);
  readonly columns?: string;
  readonly instead?: 'json' | 'yaml';
}

export function reading({ call, rows, columns, instead, ...head }: Reading): Command {
  return {
    ...head,
    run: async (run) => {
      const { body, text } = await run.call(call(run.given));
      const found = typeof rows === 'string' ? listIn(body, rows) : rows?.(body, run.given);
      return { kind: 'shown', value: body, raw: text, rows: found, columns, instead };
    },
  };
}

/** A command that is one call, of which one line is said. */
export interface Doing extends Head {
  readonly call: (given: Given) => Request;
  readonly said: (given: Given, body: Readonly<Record<string, unknown>>) => string;
  /** What it destroys: the user is asked before. */
  readonly destroys?: (given: Given) => string;
}

export const YES: Flag = ['-y, --yes', 'do it without asking', false];

export function doing({ call, said, destroys, ...head }: Doing): Command {
  return {
    ...head,
    flags: destroys === undefined ? (head.flags ?? []) : [...(head.flags ?? []), YES],
    run: async (run) => {
      const request = call(run.given);
      if (destroys !== undefined) await run.confirm(destroys(run.given));
      const { body } = await run.call(request);
      return { kind: 'said', text: said(run.given, membersOf(body)), value: body };
    },
  };
}

export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

/** The list at a member of an answer; an answer that is a list itself is its own. */
export function listIn(
  value: unknown,
  member: string,
): readonly Readonly<Record<string, unknown>>[] {
  const list = Array.isArray(value) ? value : membersOf(value)[member];
  return Array.isArray(list) ? list.map(membersOf) : [];
}
