/**
 * Holds the tree to the house rules that no other tool checks: sizes, names, the import table,
 * rooms, purity of the inner folders, dead files, dependencies, leftovers, traces of one machine.
 * Part of `npm test`; prints `file:line: rule: text` for each violation and ends with code 1 when
 * there is any.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CONTRACT, contractSections } from './tidy/contract-sections.js';
import { deadFiles } from './tidy/dead-files.js';
import { dependencyRule } from './tidy/dependencies.js';
import { forbiddenCode, machineTraces } from './tidy/forbidden-code.js';
import { GLOSSARY, glossaryRule, wordsOf } from './tidy/glossary.js';
import { importTable } from './tidy/imports.js';
import { namesAndSizes } from './tidy/names-and-sizes.js';
import { roomRules } from './tidy/rooms.js';
import { type Source, sourceOf } from './tidy/source.js';
import type { Violation } from './tidy/violation.js';

interface Exception {
  readonly rule: string;
  readonly file: string;
  readonly reason: string;
}

/** Where a rule makes a file worse; each with its reason. */
const EXCEPTIONS: readonly Exception[] = [
  {
    rule: 'leftover',
    file: 'packages/client/base/log.ts',
    reason: 'programs that use the client ask for its log on the console',
  },
];

const SKIPPED_FOLDERS = new Set(['node_modules', 'dist', '.git', '.setup']);
/** Input and output of programs, not written by hand. */
const SKIPPED_PATHS = new Set(['data', 'bench/data', 'bench/results']);
const CODE = /\.(tsx?|mjs|js|css)$/;
const TEXT = /(\.(tsx?|mjs|js|css|html|json|md|sh|yml)|^LICENSE|^\.ci\/run|^\.\w+)$/;

/** Every violation in the tree below `root`, by file and line. */
export function check(root: string, exceptions: readonly Exception[] = EXCEPTIONS): Violation[] {
  const texts = filesUnder(root, '')
    .filter((path) => TEXT.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
  const sources = texts
    .filter(({ path }) => CODE.test(path))
    .map(({ path, text }) => sourceOf(path, text));
  const others = texts.filter(({ path }) => !/\.tsx?$/.test(path)).map(({ text }) => text);
  const textOf = (page: string): string => texts.find(({ path }) => path === page)?.text ?? '';
  const violations = [
    ...sources.flatMap(checkSource),
    ...sources.flatMap(glossaryRule(wordsOf(textOf(GLOSSARY)))),
    ...contractSections(textOf(CONTRACT), sources),
    ...deadFiles(sources, others),
    ...roomRules(texts, sources),
    ...dependencyRule(texts),
    ...texts.flatMap(({ path, text }) => machineTraces(path, text)),
  ];
  return violations
    .filter(({ file, rule }) => !exceptions.some((one) => one.file === file && one.rule === rule))
    .sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
}

function checkSource(source: Source): Violation[] {
  const script = source.path.endsWith('.css') ? [] : [forbiddenCode, importTable];
  return [namesAndSizes, ...script].flatMap((rule) => rule(source));
}

function filesUnder(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    // In a worktree of git `.git` is a file, which names the repository's place on the machine.
    if (!entry.isDirectory()) return entry.name === '.git' ? [] : [path];
    const skipped = SKIPPED_FOLDERS.has(entry.name) || SKIPPED_PATHS.has(path);
    return skipped ? [] : filesUnder(root, path);
  });
}

function main(): void {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const violations = check(root);
  for (const { file, line, rule, text } of violations) {
    console.log(`${file}:${line}: ${rule}: ${text}`);
  }
  console.log(violations.length === 0 ? 'tidy' : `${violations.length} violations`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  main();
