/**
 * Functions of at most 70 lines, counted from the line of the parameter list to the closing brace.
 *
 * A body is a brace after `=>`, or after a parameter list and perhaps a return type. A brace after
 * the parentheses of `if`, `for` and the like is none. The suites of a test file are lists of tests
 * and do not count.
 */
import { lineAt, type Source } from './source.js';
import type { Violation } from './violation.js';

const LINES_MAX = 70;
const CONTROL = new Set(['if', 'for', 'while', 'switch', 'catch', 'with', 'await']);
const CLOSING: { readonly [opening: string]: string } = { '(': ')', '[': ']', '{': '}' };

export function functionSizes(source: Source): Violation[] {
  const violations: Violation[] = [];
  const seen = new Set<number>();
  for (const { start, open } of [...arrows(source.code), ...lists(source.code)]) {
    if (seen.has(open)) continue;
    seen.add(open);
    const line = lineAt(source, start);
    const lines = lineAt(source, matching(source.code, open)) - line + 1;
    if (lines <= LINES_MAX || isSuite(source, start)) continue;
    violations.push({
      file: source.path,
      line,
      rule: 'function-size',
      text: `a function of ${lines} lines (at most ${LINES_MAX})`,
    });
  }
  return violations;
}

interface Body {
  /** Where the parameters begin. */
  readonly start: number;
  /** Where the brace stands. */
  readonly open: number;
}

/**
 * Whether the function at `start` is an argument of `describe(...)` or `describe.each(...)(...)`.
 */
function isSuite(source: Source, start: number): boolean {
  if (!source.path.endsWith('.test.ts')) return false;
  let callee = source.code.slice(0, enclosing(source.code, start - 1)).trimEnd();
  if (callee.endsWith(')')) callee = callee.slice(0, opening(callee, callee.length - 1));
  return /\b(describe|suite)(\.\w+)*$/.test(callee);
}

function* arrows(code: string): Generator<Body> {
  for (const match of code.matchAll(/=>\s*\{/g)) {
    const before = code.slice(0, match.index).trimEnd();
    const start = before.endsWith(')') ? opening(code, before.length - 1) : before.length;
    yield { start, open: match.index + match[0].length - 1 };
  }
}

function* lists(code: string): Generator<Body> {
  for (const match of code.matchAll(HEAD)) {
    if (CONTROL.has(match[1] ?? '')) continue;
    const start = match.index + match[0].length - 1;
    const open = bodyAfter(code, matching(code, start) + 1);
    if (open !== null) yield { start, open };
  }
}

/** A name, perhaps type parameters, and the parenthesis that begins the parameters. */
const HEAD = /([\w$]*)\s*(?:<[^<>();]*(?:<[^<>]*>[^<>();]*)*>\s*)?\(/g;

/** The brace that opens a body after a parameter list which ends before `at`. */
function bodyAfter(code: string, at: number): number | null {
  let next = skipSpace(code, at);
  if (code[next] === '{') return next;
  if (code[next] !== ':') return null;
  let typeIsWhole = false;
  for (next = skipSpace(code, next + 1); next < code.length; next = skipSpace(code, next)) {
    const character = code[next] ?? '';
    if (character === '{' && typeIsWhole) return next;
    if (';,)]}?'.includes(character) || character === '=') return null;
    if (character in CLOSING) {
      next = matching(code, next) + 1;
      typeIsWhole = true;
      continue;
    }
    typeIsWhole =
      !'|&<:'.includes(character) && !/\b(is|keyof|readonly)$/.test(code.slice(0, next + 1));
    next++;
  }
  return null;
}

function skipSpace(code: string, at: number): number {
  let next = at;
  while (/\s/.test(code[next] ?? '')) next++;
  return next;
}

/** Where the bracket at `at` is closed; the end of the text when it is not. */
function matching(code: string, at: number): number {
  const open = code[at] ?? '';
  const close = CLOSING[open];
  let depth = 0;
  for (let next = at; next < code.length; next++) {
    if (code[next] === open) depth++;
    else if (code[next] === close && --depth === 0) return next;
  }
  return code.length;
}

/** Where the parenthesis that is closed at `at` was opened; the start of the text when nowhere. */
function opening(code: string, at: number): number {
  return enclosing(code, at - 1);
}

/** The parenthesis that is open at `at`; the start of the text when none is. */
function enclosing(code: string, at: number): number {
  let depth = 1;
  for (let next = at; next >= 0; next--) {
    if (code[next] === ')') depth++;
    else if (code[next] === '(' && --depth === 0) return next;
  }
  return 0;
}
