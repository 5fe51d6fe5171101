/** A source file that nothing imports, names or starts is dead. */
import { dirname, join } from 'node:path/posix';
import { importsOf } from './imports.js';
import type { Source } from './source.js';
import type { Violation } from './violation.js';

/** Started by name: tests by their runner, the index by the workspace's manifest. */
const STARTED = /(\.test\.ts|(^|\/)index\.ts|\.config\.ts|\.d\.ts)$/;

/** `others` are texts that may name a program: manifests, scripts, documents. */
export function deadFiles(sources: readonly Source[], others: readonly string[]): Violation[] {
  const paths = new Set(sources.map(({ path }) => path));
  const imported = new Set<string>();
  for (const source of sources) {
    for (const { specifier } of importsOf(source)) {
      if (!specifier.startsWith('.')) continue;
      const target = join(dirname(source.path), specifier).replace(/\.js$/, '.ts');
      const found = paths.has(target) ? target : `${target}x`;
      if (found !== source.path) imported.add(found);
    }
  }
  return sources
    .filter(({ path }) => /\.tsx?$/.test(path) && !STARTED.test(path) && !imported.has(path))
    .filter((source) => !isNamed(source, sources, others))
    .map(({ path }) => ({ file: path, line: 1, rule: 'dead-file', text: 'nothing uses it' }));
}

/**
 * A program is started by its built name: as a path in a manifest or a script, or by its file name.
 */
function isNamed(file: Source, sources: readonly Source[], others: readonly string[]): boolean {
  const name = file.path.replace(/^.*\//, '').replace(/\.tsx?$/, '.js');
  const built = file.path.replace(/^((?:packages\/)?[^/]+)\/(.*)\.tsx?$/, '$1/dist/$2.js');
  if (others.some((text) => text.includes(built))) return true;
  return sources.some((source) => source !== file && names(source.text, name));
}

/** Whether the file name ends a string of the text. */
function names(text: string, name: string): boolean {
  return ['/', "'", '"', '`'].some((before) =>
    ["'", '"', '`'].some((after) => text.includes(before + name + after)),
  );
}
