/**
 * A command is one record: how it is written, what it says of itself, what it calls and what it
 * shows. The parser, the help, the completion and the reference pages all read these records.
 */
import type { Call } from '@svc/client';
import type { Given } from './given.js';
import type { Run } from './run.js';

/**
 * As the parser writes it: `-n, --limit <n>`, or `--yes` for one that is on or off; what it does;
 * its default. One that is on or off may also be written `--yes=false` and `--no-yes`.
 */
export type Flag = readonly [spelling: string, help: string, fallback?: string | boolean];

/**
 * One call of the API. `adminCall` of the client has the routes of management; what writes and
 * reads messages, keys, timers and locks is made here, with texts that no number is lost from.
 * Numbers of an answer stay as they are unless `read` says otherwise.
 */
export type Request = Omit<Call<unknown>, 'repeat' | 'signal'> & {
  /** What a second application would do; by default nothing. */
  readonly repeat?: Call<unknown>['repeat'];
};

/** What a command ends with. */
export type Outcome =
  | {
      readonly kind: 'shown';
      readonly value: unknown;
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
      /** What the command was asked for: `-q` does not leave it out. */
      readonly isResult?: boolean;
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
      const { body } = await run.call(call(run.given));
      const found = typeof rows === 'string' ? listIn(body, rows) : rows?.(body, run.given);
      return { kind: 'shown', value: body, rows: found, columns, instead };
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

/** Without the members that the user did not write. */
export function written<T extends object>(
  members: T,
): { readonly [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [Name in keyof T]?: Exclude<T[Name], undefined> };
}
