/**
 * The sections of `docs/contract.md`. A comment names what it implements by surface and section,
 * `(message-plane 4.1)`; each such name must be listed there. The last column lists the tables of
 * requests and answers that hold a node to a section; it must be what those tables say.
 */
import { lineAt, type Source } from './source.js';
import type { Violation } from './violation.js';

/** Relative to the root of the tree. */
export const CONTRACT = 'docs/contract.md';

const TABLES = 'test/contract/tables/';
const NUMBER = String.raw`\d+(?:\.\d+)*`;
const ROW = new RegExp(String.raw`^\| (${NUMBER}) \|.*\| (.*) \|$`);

interface Section {
  readonly line: number;
  /** As the page spells them, in order: names of table files without their ending. */
  readonly tables: string;
}

export function contractSections(page: string, sources: readonly Source[]): Violation[] {
  const sections = sectionsOf(page);
  const surfaces = [...new Set([...sections.keys()].map((name) => name.replace(/ .*/, '')))];
  const named = new RegExp(
    String.raw`\b(${surfaces.join('|')}) (${NUMBER}(?:(?:, | and | to )${NUMBER})*)`,
    'g',
  );
  const held = new Map<string, Set<string>>();
  const violations =
    surfaces.length === 0 ? [] : sources.flatMap((source) => unlisted(source, named, sections));
  for (const source of sources) {
    const { path, text } = source;
    if (!path.startsWith(TABLES)) continue;
    for (const { 1: list = '', index } of text.matchAll(/section: '([^']+)'/g)) {
      const [, name] = new RegExp(String.raw`^(\S+ ${NUMBER})`).exec(list) ?? [];
      if (name === undefined) continue;
      if (!sections.has(name)) violations.push(notListed(source, index, name));
      const tables = held.get(name) ?? new Set();
      held.set(name, tables.add(path.slice(TABLES.length).replace('.ts', '')));
    }
  }
  for (const [name, { line, tables }] of sections) {
    const names = [...(held.get(name) ?? [])].sort();
    const found = names.map((table) => `\`${table}\``).join(', ');
    if (tables === found) continue;
    const text = `${name}: its tables are ${found === '' ? 'none' : found}`;
    violations.push({ file: CONTRACT, line, rule: 'contract-section', text });
  }
  return violations;
}

function unlisted(
  source: Source,
  named: RegExp,
  sections: ReadonlyMap<string, Section>,
): Violation[] {
  return [...source.comments.matchAll(named)].flatMap(({ 1: surface, 2: list = '', index }) =>
    list.split(/, | and | to /).flatMap((number) => {
      const name = `${surface} ${number}`;
      return sections.has(name) ? [] : [notListed(source, index, name)];
    }),
  );
}

function notListed(source: Source, position: number, name: string): Violation {
  const text = `${name}: ${CONTRACT} lists no such section`;
  return { file: source.path, line: lineAt(source, position), rule: 'contract-section', text };
}

/** By surface and number. */
function sectionsOf(page: string): Map<string, Section> {
  const sections = new Map<string, Section>();
  let surface = '';
  for (const [index, text] of page.split('\n').entries()) {
    if (text.startsWith('## ')) surface = text.slice(3);
    const [, number, tables = ''] = ROW.exec(text) ?? [];
    if (number === undefined) continue;
    sections.set(`${surface} ${number}`, { line: index + 1, tables: tables.trim() });
  }
  return sections;
}
