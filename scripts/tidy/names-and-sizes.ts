/** Names of files, lengths of files and lines. */
import { functionSizes } from './function-sizes.js';
import type { Source } from './source.js';
import type { Violation } from './violation.js';

const FILE_LINES_MAX = 600;
const LINE_COLUMNS_MAX = 100;

const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|fake|config|d))?\.[a-z]+$/;
const NOT_FOR_ONE_THING = new Set([
  'utils',
  'util',
  'helpers',
  'helper',
  'common',
  'types',
  'misc',
]);
/** Also as a part of a name, where they say as little. */
const NOT_A_PART = new Set(['utils', 'util', 'helpers', 'helper', 'misc']);

export function namesAndSizes(source: Source): Violation[] {
  return [...fileName(source), ...fileSize(source), ...longLines(source), ...functionSizes(source)];
}

function fileName({ path }: Source): Violation[] {
  const name = path.replace(/^.*\//, '');
  const stem = name.split('.')[0] ?? '';
  const violations: Violation[] = [];
  if (!KEBAB_CASE.test(name)) {
    violations.push({ file: path, line: 1, rule: 'file-name', text: `${name} is not kebab-case` });
  }
  if (NOT_FOR_ONE_THING.has(stem) || stem.split('-').some((part) => NOT_A_PART.has(part))) {
    const text = `${name} does not say what one thing it holds`;
    violations.push({ file: path, line: 1, rule: 'file-name', text });
  }
  return violations;
}

function fileSize({ path, lines }: Source): Violation[] {
  const count = lines.at(-1) === '' ? lines.length - 1 : lines.length;
  if (count <= FILE_LINES_MAX) return [];
  const text = `${count} lines (at most ${FILE_LINES_MAX})`;
  return [{ file: path, line: FILE_LINES_MAX + 1, rule: 'file-size', text }];
}

/** An address or a table row in a comment may be longer: broken, it would be harder to read. */
function longLines({ path, lines, comments }: Source): Violation[] {
  const commentLines = comments.split('\n');
  return lines.flatMap((line, i) => {
    if ([...line].length <= LINE_COLUMNS_MAX) return [];
    const comment = commentLines[i] ?? '';
    if (/https?:\/\//.test(comment) || /^\s*(\*|\/\/) \|/.test(comment)) return [];
    const text = `${[...line].length} columns (at most ${LINE_COLUMNS_MAX})`;
    return [{ file: path, line: i + 1, rule: 'line-length', text }];
  });
}
