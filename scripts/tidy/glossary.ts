/**
 * The words of `docs/glossary.md`. The last column of its tables has words that would name a thing
 * a second time; no file name and no exported name may contain one of them. Names are split where
 * their case, a hyphen or an underscore splits them, so `topic` is found in `newTopicRow` and not
 * in `topical`.
 */
import { lineAt, type Source } from './source.js';
import type { Violation } from './violation.js';

/** Relative to the root of the tree. */
export const GLOSSARY = 'docs/glossary.md';

const ROW = /^\| (?<term>[^|]+) \|[^|]*\|(?<not>[^|]*)\|$/gm;
const QUOTED = /`([a-z]+)`/g;
const EXPORT =
  /^export (?:abstract |async )?(?:class|function\*?|const|interface|type) (?<name>\w+)/gm;
const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g;

/** Each word that is not to be used, with the term that stands for it. */
export function wordsOf(glossary: string): Map<string, string> {
  const words = new Map<string, string>();
  for (const { groups } of glossary.matchAll(ROW)) {
    const term = (groups?.term ?? '').trim();
    for (const [, word = ''] of (groups?.not ?? '').matchAll(QUOTED)) words.set(word, term);
  }
  return words;
}

export function glossaryRule(words: ReadonlyMap<string, string>): (source: Source) => Violation[] {
  return (source) => {
    const { path, code } = source;
    const stem = path.replace(/^.*\//, '');
    const names = [{ name: stem, line: 1 }];
    for (const { groups, index } of code.matchAll(EXPORT)) {
      names.push({ name: groups?.name ?? '', line: lineAt(source, index) });
    }
    return names.flatMap(({ name, line }) => {
      const word = (name.match(WORD) ?? []).find((one) => words.has(one.toLowerCase()));
      if (word === undefined) return [];
      const term = words.get(word.toLowerCase());
      const text = `${name}: the word of the glossary is ${term}, not ${word.toLowerCase()}`;
      return [{ file: path, line, rule: 'glossary', text }];
    });
  };
}
