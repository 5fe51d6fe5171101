/**
 * What may not stand in code or comments: leftovers, escapes from the type system, impure calls.
 */
import { isTestFile } from './imports.js';
import { lineAt, type Source } from './source.js';
import type { Violation } from './violation.js';

interface Pattern {
  readonly rule: string;
  readonly view: 'code' | 'comments' | 'text';
  readonly pattern: RegExp;
  readonly text: string;
  readonly appliesTo?: (path: string) => boolean;
}

/** Folders whose programs speak to a person at a terminal. */
const SPEAKS = /^(scripts|bench|test|examples)\//;
const PURE = /^(raft|packages\/(schema|wire|engine|ephemeral|standby))\//;
const PURE_ROOMS = /^packages\/gateway\/(base|limits|metering|edge|pipeline)\//;

const isPure = (path: string) => (PURE.test(path) || PURE_ROOMS.test(path)) && !isTestFile(path);
const isSilent = (path: string) => !SPEAKS.test(path) && !isTestFile(path);

function impure(pattern: RegExp, text: string): Pattern {
  return { rule: 'impure', view: 'code', pattern, text, appliesTo: isPure };
}

const PATTERNS: readonly Pattern[] = [
  { rule: 'leftover', view: 'comments', pattern: /\b(TODO|FIXME|XXX|HACK)\b/g, text: 'a leftover' },
  { rule: 'leftover', view: 'comments', pattern: /\bfor\s+now\b/gi, text: 'something left undone' },
  {
    rule: 'leftover',
    view: 'code',
    pattern: /\b(test|it|describe|suite)\.(\w+\.)*(only|skip)\b/g,
    text: 'tests left out',
  },
  { rule: 'leftover', view: 'code', pattern: /\bdebugger\b/g, text: 'a breakpoint' },
  {
    rule: 'leftover',
    view: 'code',
    pattern: /\bconsole\.\w+\s*\(/g,
    text: 'output past the log',
    appliesTo: isSilent,
  },
  { rule: 'typing', view: 'code', pattern: /\bas\s+any\b/g, text: 'any' },
  { rule: 'typing', view: 'code', pattern: /[\w)\]]!(?!=)/g, text: 'a non-null assertion' },
  { rule: 'typing', view: 'code', pattern: /\benum\s+\w+\s*\{/g, text: 'an enum: use a union' },
  {
    rule: 'inheritance',
    view: 'code',
    pattern: /\bclass\s+\w+(<[^{]*>)?\s+extends\s+(?!\w*Error\b)/g,
    text: 'inheritance from something that is not an Error',
  },
  {
    rule: 'swallowed-error',
    view: 'code',
    pattern: /\bcatch\s*(\([^)]*\))?\s*\{\s*\}/g,
    text: 'an empty catch',
  },
  {
    rule: 'spread-into-arguments',
    view: 'code',
    pattern: /\.(push|unshift|splice|fromCharCode|max|min)\((?:[^(){}[\];]|\([^()]*\))*?\.\.\./g,
    text: 'a list as arguments, which stand on the stack',
    appliesTo: isSilent,
  },
  impure(/(?<![.\w#])Date\b/g, 'the wall clock'),
  impure(/\bMath\.random\b/g, 'randomness'),
  impure(/(?<![.\w#])(set(Timeout|Immediate|Interval)|queueMicrotask)\b/g, 'a timer'),
  impure(/(?<![.\w#])process\s*[.[]/g, 'the process'),
  impure(/(?<![.\w#])Buffer\b/g, 'Buffer: bytes are Uint8Array here'),
  impure(/(?<![.\w#])performance\b/g, 'a clock'),
  impure(/(?<![.\w#])(Promise\b|async\s+(function|\())/g, 'a promise'),
];

export function forbiddenCode(source: Source): Violation[] {
  return PATTERNS.filter(({ appliesTo }) => appliesTo?.(source.path) ?? true).flatMap(
    ({ rule, view, pattern, text }) =>
      [...source[view].matchAll(pattern)].map((match) => ({
        file: source.path,
        line: lineAt(source, match.index),
        rule,
        text: `${text} (${match[0].trim()})`,
      })),
  );
}

/** A path of one machine means nothing on another. */
const MACHINE_PATH = /(?<![\w.\-/])\/(work|root|tmp|home)\/[\w.]*/g;
const REGISTRY = /"resolved": *"https?:[^"]*"|registry\.npm\w+\.\w+/g;

/** For every text of the tree, code or not. */
export function machineTraces(path: string, text: string): Violation[] {
  const found: Violation[] = [];
  text.split('\n').forEach((line, i) => {
    const at = { file: path, line: i + 1, rule: 'machine' };
    for (const match of isTestFile(path) ? [] : line.matchAll(MACHINE_PATH)) {
      found.push({ ...at, text: `a path of one machine (${match[0]})` });
    }
    for (const match of line.matchAll(REGISTRY)) {
      found.push({ ...at, text: `a registry host (${match[0]})` });
    }
  });
  return found;
}
